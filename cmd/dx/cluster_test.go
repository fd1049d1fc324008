package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/internal/logbuffer"
	"duplex/schemas"
)

// clusterRounds is how often each fault is tried: 10 is the short form, 100 that of a release. These tests
// start real processes with elections and disks in real time, on the default ports of loopback addresses of
// their own, so `go test ./...` leaves them out.
var clusterRounds = flag.Int("clusterrounds", 0, "rounds of each fault in the tests of a cluster; 0 leaves these tests out")

// skipUnlessLong skips a test of several processes unless there is a number of rounds.
func skipUnlessLong(t *testing.T) {
	t.Helper()
	if *clusterRounds < 1 {
		t.Skip("several processes in real time: go test ./cmd/dx -run Cluster -clusterrounds 10 -v -timeout 60m")
	}
}

// fewRounds is how often a fault is tried whose rounds are long: once in the short form, up to 20 times
// in the long one.
func fewRounds() int {
	if *clusterRounds < 20 {
		return 1
	}
	return min(20, *clusterRounds/5)
}

// clusterTrial is a cluster of real processes. Each member has a loopback address of its own, so
// that the ports are the default ones.
type clusterTrial struct {
	*testing.T
	dir      string
	hosts    []string
	members  []*memberProcess
	env      []string // of a member that is started, beside the usual variables
	args     []string // of every member
	http     *http.Client
	founders bool                             // --cluster names the first three members too, whatever became of them
	local    bool                             // members listen for callers on 127.0.0.1
	launch   func(i int, cmd *exec.Cmd) error // starts the process of a member; nil: as usual
	program  string                           // of the members that are started; "": this one
}

type memberProcess struct {
	cmd     *exec.Cmd // nil: not running
	logs    *logbuffer.Buffer
	done    chan error
	removed bool // no member any more
}

var memberNames = []string{"a", "b", "c", "d", "e"}

const (
	clusterMasterKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	clusterOperator  = "the-operator-of-the-cluster-0123456789"
)

// prepareCluster makes the certificates of a cluster whose members have addresses of their own.
func prepareCluster(t *testing.T) *clusterTrial {
	t.Helper()
	if err := secondLoopback(); err != nil {
		t.Skip("addresses of 127.0.0.0/8 besides 127.0.0.1 are not available: ", err)
	}
	var hosts []string
	run := rand.IntN(1 << 14)
	for i := range memberNames {
		hosts = append(hosts, fmt.Sprintf("127.%d.%d.%d", 128|run>>8, run&255, i+1))
	}
	return prepareClusterAt(t, hosts)
}

func prepareClusterAt(t *testing.T, hosts []string) *clusterTrial {
	t.Helper()
	c := &clusterTrial{T: t, dir: t.TempDir(), http: newTrialHTTP(nil), hosts: hosts}
	args := []string{"cluster", "certs", filepath.Join(c.dir, "certs")}
	for i, name := range memberNames {
		args = append(args, name+"="+hosts[i])
	}
	c.dx(args...)
	t.Cleanup(c.end)
	return c
}

// startCluster starts three members with certificates and waits until all serve.
func startCluster(t *testing.T, args ...string) *clusterTrial {
	t.Helper()
	c := newClusterTrial(t, 3)
	c.args = args
	c.startAll()
	return c
}

// startAll starts the members and waits until all serve.
func (c *clusterTrial) startAll() {
	c.Helper()
	for i := range c.members {
		c.start(i)
	}
	for i := range c.members {
		c.waitServing(i)
	}
}

// secondLoopback checks that a second loopback address can be used.
func secondLoopback() error {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err == nil {
		err = l.Close()
	}
	return err
}

// newTrialHTTP returns a client that keeps many connections and follows no redirects, as a signature
// covers one target. Its calls have a deadline of their own.
func newTrialHTTP(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, DialContext: dial},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (c *clusterTrial) address(i, port int) string { return fmt.Sprintf("%s:%d", c.hosts[i], port) }

// listener is where a member listens for callers.
func (c *clusterTrial) listener(i, port int) string {
	if c.local {
		return fmt.Sprintf("127.0.0.1:%d", port)
	}
	return c.address(i, port)
}

func (c *clusterTrial) url(i, port int) string { return "http://" + c.address(i, port) }

// dx runs a command of dx that ends by itself.
func (c *clusterTrial) dx(args ...string) string {
	c.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.Fatalf("dx %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (c *clusterTrial) try(args ...string) (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	return string(out), err
}

func (c *clusterTrial) start(i int, more ...string) {
	c.Helper()
	path, err := c.program, error(nil)
	if path == "" {
		path, err = binary()
	}
	if err != nil {
		c.Fatal(err)
	}
	var list []string
	for k := range c.members {
		if k == i || c.founders && k < 3 || !c.members[k].removed {
			list = append(list, memberNames[k]+"="+c.address(k, 7000))
		}
	}
	name := memberNames[i]
	certs := filepath.Join(c.dir, "certs")
	args := append([]string{
		"serve", "--node", name, "--cluster", strings.Join(list, ","), "--peer", c.address(i, 7000), "--follow", c.address(i, 7001),
		"--api", c.listener(i, 8080), "--portal", c.listener(i, 8081), "--admin", c.listener(i, 8082), "--data", filepath.Join(c.dir, name),
		"--cluster-cert", filepath.Join(certs, name+".crt"), "--cluster-key", filepath.Join(certs, name+".key"), "--cluster-ca", filepath.Join(certs, "ca.crt"),
		"--oracle", "manual", "--mirror", "off",
	}, append(slices.Clone(c.args), more...)...)
	cmd := exec.Command(path, args...)
	launch := cmd.Start
	if c.launch != nil {
		launch = func() error { return c.launch(i, cmd) }
	}
	c.members[i] = c.run(cmd, launch, c.env...)
}

// run starts a process with the secrets of the cluster and further variables, and keeps what it prints.
func (c *clusterTrial) run(cmd *exec.Cmd, start func() error, env ...string) *memberProcess {
	c.Helper()
	m := &memberProcess{cmd: cmd, logs: &logbuffer.Buffer{}, done: make(chan error, 1)}
	cmd.Env = append(append(os.Environ(), "DX_MASTER_KEY="+clusterMasterKey, "DX_OPERATOR_TOKEN="+clusterOperator), env...)
	cmd.Stderr, cmd.Stdout = m.logs, m.logs
	if err := start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		m.done <- cmd.Wait()
		close(m.done) // so that a later receive does not block
	}()
	return m
}

// waitServing waits until a member serves.
func (c *clusterTrial) waitServing(i int) {
	c.Helper()
	c.waitState(i, "serving")
}

// waitState waits until a member is in a state.
func (c *clusterTrial) waitState(i int, want string) {
	c.Helper()
	m, deadline, last := c.members[i], time.Now().Add(3*time.Minute), ""
	for time.Now().Before(deadline) {
		state, err := c.stateOf(i)
		if state == want {
			return
		}
		last = fmt.Sprint(state, " ", err)
		select {
		case err := <-m.done:
			m.cmd = nil
			c.Fatalf("member %s ended: %v\n%s", memberNames[i], err, m.logs)
		case <-time.After(20 * time.Millisecond):
		}
	}
	c.Fatalf("member %s is not %s: %s\n%s", memberNames[i], want, last, m.logs)
}

// stateOf is the state of a member by its /readyz, which may be unready for other reasons too: the feeds
// of this venue have no price.
func (c *clusterTrial) stateOf(i int) (string, error) {
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", c.url(i, 8082)+"/readyz", nil)
	if err != nil {
		return "", err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var ready struct{ State string }
	return ready.State, json.NewDecoder(resp.Body).Decode(&ready)
}

func (c *clusterTrial) kill(i int) {
	m := c.members[i]
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Signal(syscall.SIGKILL) // fails if it has ended
	<-m.done
	m.cmd = nil
}

func (c *clusterTrial) end() {
	for i, m := range c.members {
		if c.Failed() && m.logs != nil {
			c.Logf("member %s:\n%s", memberNames[i], withoutActions(m.logs.String()))
		}
		c.kill(i)
	}
}

// withoutActions leaves the operator's actions out of a log.
func withoutActions(log string) (out string) {
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"operator action"`) {
			out += line
		}
	}
	return out
}

// admin sends a request of the operator to a member.
func (c *clusterTrial) admin(ctx context.Context, i int, method, path string, body any, into any) (status int, err error) {
	return adminBy(c.http, ctx, c.url(i, 8082), method, path, body, into)
}

// adminAt sends a request of the operator to an admin listener.
func adminAt(ctx context.Context, url, method, path string, body any, into any) (status int, err error) {
	return adminBy(http.DefaultClient, ctx, url, method, path, body, into)
}

func adminBy(h *http.Client, ctx context.Context, url, method, path string, body any, into any) (status int, err error) {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, url+path, sent)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+clusterOperator)
	resp, err := h.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if raw, ok := into.(*json.RawMessage); ok { // of an error, too
		*raw = text
		return resp.StatusCode, err
	}
	if err == nil && resp.StatusCode < 300 && into != nil {
		err = json.Unmarshal(text, into)
	}
	return resp.StatusCode, err
}

// leader returns the index of the leader.
func (c *clusterTrial) leader() int {
	c.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		for i, m := range c.members {
			var s schemas.ClusterStatus
			if m.cmd == nil {
				continue
			}
			if _, err := c.admin(c.Context(), i, "GET", "/admin/cluster", nil, &s); err == nil && s.Leader != "" {
				return slices.Index(memberNames, s.Leader)
			}
		}
	}
	c.Fatal("no leader")
	return 0
}

// change sends a change of the members until the member has made it. One that is pending may still happen, and is sent
// again.
func (c *clusterTrial) change(i int, method, path string, body any) {
	c.Helper()
	var status int
	var pending bool
	var answer json.RawMessage
	var err error
	if !within(3*time.Minute, func() bool {
		status, err = c.admin(c.Context(), i, method, path, body, &answer)
		if status == http.StatusAccepted {
			c.Logf("%s %s is pending", method, path)
			pending = true
			return false
		}
		made := pending && bytes.Contains(answer, []byte("is not a member")) || pending && bytes.Contains(answer, []byte("is a member already"))
		return err == nil && (status < 300 || made)
	}) {
		c.Fatalf("%s %s: %d %s %v", method, path, status, answer, err)
	}
}

// roleOf is the role of a member, "" if it is none.
func (c *clusterTrial) roleOf(asked int, name string) string {
	var s schemas.ClusterStatus
	if _, err := c.admin(c.Context(), asked, "GET", "/admin/cluster", nil, &s); err != nil {
		return ""
	}
	for _, m := range s.Members {
		if m.Node == name {
			return m.Role
		}
	}
	return ""
}

// tryAt runs a command of the operator on a member.
func (c *clusterTrial) tryAt(i int, args ...string) (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "DX_ADMIN_URL="+c.url(i, 8082), "DX_OPERATOR_TOKEN="+clusterOperator)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// terminate ends a member as an operator does.
func (c *clusterTrial) terminate(i int) {
	c.Helper()
	c.signal(i, syscall.SIGTERM)
	c.waitStopped(i)
}

// waitStopped waits until a member that got SIGTERM has ended, which must be with 0.
func (c *clusterTrial) waitStopped(i int) {
	c.Helper()
	m := c.members[i]
	select {
	case err := <-m.done:
		if err != nil {
			c.Errorf("the stop of %s: %v\n%s", memberNames[i], err, m.logs)
		}
		m.cmd = nil
	case <-time.After(3 * time.Minute):
		c.Errorf("%s does not stop", memberNames[i])
		c.kill(i)
	}
}

// endsWith waits until a member ends by itself, which must be with a code and with a text in its log.
func (c *clusterTrial) endsWith(i, code int, text string) {
	c.Helper()
	m := c.members[i]
	select {
	case err := <-m.done:
		m.cmd = nil
		if !exitedWith(err, code) || !strings.Contains(m.logs.String(), text) {
			c.Errorf("%s ended with %v, want code %d and %q in its log\n%s", memberNames[i], err, code, text, withoutActions(m.logs.String()))
		}
	case <-time.After(3 * time.Minute):
		c.Fatalf("%s does not end, want code %d and %q in its log\n%s", memberNames[i], code, text, withoutActions(m.logs.String()))
	}
}

// signal sends a signal to the process of a member.
func (c *clusterTrial) signal(i int, s syscall.Signal) {
	c.Helper()
	if err := c.members[i].cmd.Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}
