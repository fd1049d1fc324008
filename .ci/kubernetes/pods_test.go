package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

// The folders below are in the mount namespace of this test, and are gone with it.
const (
	image   = "/var/lib/image" // with the program
	storage = "/var/lib/pods"  // a folder of a volume for each pod
	bridge  = "10.88.0.1"
)

// cluster plays the kubelets, the names and the network of a Kubernetes cluster. Each pod is a process in a network
// namespace of its own, with the environment, volumes and user of the manifest.
type cluster struct {
	*testing.T
	m         manifests
	secrets   map[string]map[string]string
	pods      []*pod
	addresses int // given so far: each start of a pod has another one, as in Kubernetes
}

// pod is a pod of the StatefulSet. It is started again whenever its process ends, as restartPolicy Always says.
type pod struct {
	c       *cluster
	name    string
	address string
	stop    context.CancelFunc
	ended   chan struct{} // closed when it has been deleted

	mu    sync.Mutex
	cmd   *exec.Cmd
	codes []int // exit codes
	logs  bytes.Buffer
}

// TestPods runs the pods of the StatefulSet: they found a cluster once a majority is there, one that has lost its volume returns from
// the same template once the operator has removed and added it, a rolling restart keeps two members ready, and kill -9
// of all loses nothing. Needs root and iproute2, and mount and network namespaces of its own:
//
//	cd .ci/kubernetes && go test -c -o pods.test && unshare --net --mount ./pods.test -test.run Pods -test.v
func TestPods(t *testing.T) {
	c := newCluster(t)
	c.create(0)
	c.await("a member alone is alive and waits", func() error {
		if err := c.probe(0, c.m.container(t).LivenessProbe); err != nil {
			return err
		}
		if err := c.probe(0, c.m.container(t).ReadinessProbe); err == nil || !strings.Contains(err.Error(), `"waiting for a majority"`) {
			return fmt.Errorf("its readiness: %w", err)
		}
		return nil
	})
	c.create(1)
	c.create(2)
	c.awaitReady(0, 1, 2)
	c.dx(0, "admin", "create-user", "alice")
	c.status(0)

	c.delete(1)
	c.run("rm", "-rf", c.volume(1))
	before := c.create(1)
	c.await("a member without its volume is refused", func() error {
		if codes := c.pods[1].exits(); len(codes) == before || codes[len(codes)-1] != 2 {
			return fmt.Errorf("exit codes %v", codes)
		}
		return nil
	})
	c.dx(0, "cluster", "remove", "duplex-1")
	c.dx(0, "cluster", "add", "duplex-1=duplex-1.duplex:7000")
	c.awaitReady(0, 1, 2)
	c.status(1)

	for i := len(c.pods) - 1; i >= 0; i-- { // the order of a rolling update
		c.delete(i)
		for k := range c.pods {
			if k != i && c.ready(k) != nil {
				t.Errorf("%s is not ready while %s is restarted: %v", c.pods[k].name, c.pods[i].name, c.ready(k))
			}
		}
		c.create(i)
		c.awaitReady(0, 1, 2)
	}
	for _, p := range c.pods {
		p.signal(syscall.SIGKILL)
	}
	for i, p := range c.pods {
		c.await(p.name+" is started again", func() error {
			if codes := p.exits(); len(codes) == 0 || codes[len(codes)-1] != -1 {
				return fmt.Errorf("exit codes %v", codes)
			}
			return c.ready(i)
		})
		if users := c.dx(i, "admin", "users"); !strings.Contains(users, "alice") {
			t.Errorf("%s does not know the account: %s", p.name, users)
		}
	}
}

// newCluster makes the network, the program, the volumes and the secrets.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, m: read(t)}
	if os.Getenv("DX_PODS_INSIDE") == "" {
		t.Fatal("this test mounts over /var/lib and makes network interfaces: run it as .ci/full kubernetes does")
	}
	built := filepath.Join(t.TempDir(), "dx")
	build := exec.Command("go", "build", "-o", built, "./cmd/dx")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, over := range []string{"/run/netns", "/etc/netns"} {
		if err := os.MkdirAll(over, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, over := range []string{"/run/netns", "/etc/netns", "/var/lib", "/etc/dx"} {
		if err := os.MkdirAll(over, 0o755); err != nil {
			t.Fatal(err)
		}
		c.run("mount", "-t", "tmpfs", "tmpfs", over)
	}
	for _, dir := range []string{image, storage, "/var/lib/dx"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.run("install", "-m", "755", built, image+"/dx")
	c.run("ip", "link", "set", "lo", "up")
	c.run("ip", "link", "add", "pods", "type", "bridge")
	c.run("ip", "address", "add", bridge+"/24", "dev", "pods")
	c.run("ip", "link", "set", "pods", "up")

	set := &c.m.members
	certs := []string{"cluster", "certs", image + "/certs"}
	for i := range int(*set.Spec.Replicas) {
		p := &pod{c: c, name: fmt.Sprintf("%s-%d", set.Name, i)}
		c.pods = append(c.pods, p)
		certs = append(certs, p.name+"="+p.name+"."+set.Spec.ServiceName)
		c.run("ip", "netns", "add", p.name)
		c.run("ip", "link", "add", "p"+strconv.Itoa(i), "type", "veth", "peer", "name", "eth0", "netns", p.name)
		c.run("ip", "link", "set", "p"+strconv.Itoa(i), "master", "pods", "up")
		c.run("ip", "-n", p.name, "link", "set", "lo", "up")
		c.run("ip", "-n", p.name, "link", "set", "eth0", "up")
		if err := os.MkdirAll("/etc/netns/"+p.name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.run(image+"/dx", certs...)
	c.secrets = map[string]map[string]string{"duplex-keys": {"master-key": strings.Repeat("0123456789abcdef", 4), "operator-token": "an-operator-of-the-cluster-0123456789"}}
	for _, v := range set.Spec.Template.Spec.Volumes { // a secret is a folder; defaultMode with the group of the pod
		if v.Secret != nil {
			c.run("sh", "-c", fmt.Sprintf("rm %[1]s/certs/ca.key; chown -R 0:%[2]d %[1]s/certs; chmod 750 %[1]s/certs; chmod %[3]o %[1]s/certs/*", image, *set.Spec.Template.Spec.SecurityContext.FSGroup, *v.Secret.DefaultMode))
		}
	}
	c.m.settings.Data["DX_ORACLE"] = "manual" // nothing is reached from here
	t.Cleanup(func() {
		for _, p := range c.pods {
			if p.stop != nil {
				p.stop()
				p.signal(syscall.SIGKILL)
				<-p.ended
			}
			if t.Failed() {
				p.mu.Lock()
				t.Logf("%s, exit codes %v:\n%s", p.name, p.codes, p.logs.String())
				p.mu.Unlock()
			}
		}
	})
	return c
}

// run runs a command that must succeed.
func (c *cluster) run(name string, args ...string) {
	c.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		c.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

func (c *cluster) volume(i int) string { return storage + "/" + c.pods[i].name }

// create creates a pod with an address that it never had, and its volume if there is none. It returns how often its
// process has ended before.
func (c *cluster) create(i int) (exits int) {
	c.Helper()
	p := c.pods[i]
	c.addresses++
	p.address = fmt.Sprintf("10.88.0.%d", 9+c.addresses)
	c.run("ip", "-n", p.name, "address", "flush", "dev", "eth0")
	c.run("ip", "-n", p.name, "address", "add", p.address+"/24", "dev", "eth0")
	c.publish()
	security := c.m.members.Spec.Template.Spec.SecurityContext
	if err := os.MkdirAll(c.volume(i), 0o770); err != nil {
		c.Fatal(err)
	}
	c.run("chown", fmt.Sprintf("0:%d", *security.FSGroup), c.volume(i))
	c.run("chmod", "2770", c.volume(i))

	exits = len(p.exits())
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		for ctx.Err() == nil {
			code := p.once(c.command(p, c.m.container(c.T).Args))
			p.mu.Lock()
			p.codes = append(p.codes, code)
			p.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond): // a kubelet waits longer, from the second time on
			}
		}
	}()
	return exits
}

// publish writes the names of the headless service, in place: a mount of the file sees it.
func (c *cluster) publish() {
	c.Helper()
	hosts := "127.0.0.1 localhost\n"
	for _, p := range c.pods {
		if p.address != "" {
			hosts += p.address + " " + p.name + "." + c.m.members.Spec.ServiceName + "\n"
		}
	}
	for _, p := range c.pods {
		if err := os.WriteFile("/etc/netns/"+p.name+"/hosts", []byte(hosts), 0o644); err != nil {
			c.Fatal(err)
		}
	}
}

// command is the program in the container of a pod.
func (c *cluster) command(p *pod, args []string) *exec.Cmd {
	spec, container := &c.m.members.Spec.Template.Spec, c.m.container(c.T)
	mounts := ""
	for _, v := range container.VolumeMounts {
		switch v.Name {
		case "certs":
			mounts += fmt.Sprintf("mount --bind -o ro %s/certs %s && ", image, v.MountPath)
		case "data":
			mounts += fmt.Sprintf("mount --bind %s/%s %s && ", storage, p.name, v.MountPath)
		case "tmp":
			mounts += "mount -t tmpfs tmpfs " + v.MountPath + " && "
		default:
			c.Errorf("no volume for %s", v.MountPath)
		}
	}
	user := fmt.Sprintf("exec setpriv --reuid=%d --regid=%d --groups=%d --bounding-set=-all --no-new-privs %s/dx", *spec.SecurityContext.RunAsUser, *spec.SecurityContext.RunAsGroup, *spec.SecurityContext.FSGroup, image)
	cmd := exec.Command("ip", append([]string{"netns", "exec", p.name, "sh", "-c", mounts + user + ` "$@"`, "dx"}, args...)...)
	cmd.Env = c.environment(p)
	return cmd
}

// environment is that of the container: of the image, of the settings, of the pod, and references to what is before.
func (c *cluster) environment(p *pod) (list []string) {
	values := map[string]string{}
	set := func(name, value string) {
		values[name] = value
		list = append(list, name+"="+value)
	}
	dockerfile, err := os.ReadFile("../../packaging/Dockerfile")
	if err != nil {
		c.Error(err)
	}
	for line := range strings.Lines(string(dockerfile)) {
		if variables, is := strings.CutPrefix(line, "ENV "); is {
			for _, v := range strings.Fields(variables) {
				name, value, _ := strings.Cut(v, "=")
				set(name, value)
			}
		}
	}
	for _, from := range c.m.container(c.T).EnvFrom {
		if from.ConfigMapRef == nil || from.ConfigMapRef.Name != c.m.settings.Name {
			c.Errorf("no source of variables: %v", from)
		}
		for name, value := range c.m.settings.Data {
			set(name, value)
		}
	}
	for _, e := range c.m.container(c.T).Env {
		switch from := e.ValueFrom; {
		case from == nil:
			value := e.Value
			for name, v := range values {
				value = strings.ReplaceAll(value, "$("+name+")", v)
			}
			set(e.Name, value)
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			set(e.Name, p.name)
		case from.SecretKeyRef != nil && c.secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key] != "":
			set(e.Name, c.secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key])
		default:
			c.Errorf("no value for %s", e.Name)
		}
	}
	return list
}

// once runs a process to its end, and returns its exit code; -1 after a signal.
func (p *pod) once(cmd *exec.Cmd) int {
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buffer := make([]byte, 4096)
		for {
			n, err := read.Read(buffer)
			p.mu.Lock()
			p.logs.Write(buffer[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	err := cmd.Start()
	if err == nil {
		p.mu.Lock()
		p.cmd = cmd
		p.mu.Unlock()
		err = cmd.Wait()
	}
	_ = write.Close() // always nil
	<-copied
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		p.c.Errorf("%s: %v", p.name, err)
	}
	return cmd.ProcessState.ExitCode()
}

// signal signals the process of a pod; one that has ended hears nothing.
func (p *pod) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

func (p *pod) exits() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int(nil), p.codes...)
}

// delete ends a pod as a rolling update does, and checks that it ends by itself within its grace period.
func (c *cluster) delete(i int) {
	c.Helper()
	p := c.pods[i]
	p.stop()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(time.Duration(*c.m.members.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second):
		c.Fatalf("%s has not ended within its grace period", p.name)
	}
	if codes := p.exits(); codes[len(codes)-1] != 0 {
		c.Errorf("%s ended with %v", p.name, codes)
	}
}

// ready asks the readiness probe of a pod, and the one that it is alive.
func (c *cluster) ready(i int) error {
	container := c.m.container(c.T)
	return errors.Join(c.probe(i, container.LivenessProbe), c.probe(i, container.ReadinessProbe))
}

func (c *cluster) probe(i int, probe *core.Probe) error {
	port := int32(0)
	for _, p := range c.m.container(c.T).Ports {
		if p.Name == probe.HTTPGet.Port.StrVal {
			port = p.ContainerPort
		}
	}
	h := http.Client{Timeout: time.Duration(probe.TimeoutSeconds) * time.Second}
	resp, err := h.Get(fmt.Sprintf("http://%s:%d%s", c.pods[i].address, port, probe.HTTPGet.Path))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		return errors.Join(fmt.Errorf("%s: %s %s", probe.HTTPGet.Path, resp.Status, text), err)
	}
	return nil
}

// await waits until a check passes.
func (c *cluster) await(what string, check func() error) {
	c.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	c.Fatalf("it never happens: %s: %v", what, err)
}

func (c *cluster) awaitReady(pods ...int) {
	c.Helper()
	for _, i := range pods {
		c.await(c.pods[i].name+" is ready", func() error { return c.ready(i) })
	}
}

// dx runs a command in the container of a pod, as kubectl exec does.
func (c *cluster) dx(i int, args ...string) string {
	c.Helper()
	out, err := c.command(c.pods[i], args).CombinedOutput()
	if err != nil {
		c.Fatalf("dx %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// status waits until dx cluster status finds nothing wrong.
func (c *cluster) status(i int) {
	c.Helper()
	c.await("dx cluster status finds nothing wrong", func() error {
		out, err := c.command(c.pods[i], []string{"cluster", "status"}).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %s", err, out)
		}
		return nil
	})
}
