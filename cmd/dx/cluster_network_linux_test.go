package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// trialNet is an Ethernet of a test: each port is a TAP device in a network namespace of its own, and
// this process carries the frames, so it can lose or delay them. The namespaces have no names: each is
// held open by a descriptor and by the processes in it, and is gone with them, however the test ends.
type trialNet struct {
	ports []*netPort // by member

	mu    sync.Mutex
	at    map[[6]byte]int // ports by MAC address
	cut   map[[2]int]bool // frames from port to port that are lost
	loss  float64         // share of the frames that are lost
	delay time.Duration
}

type netPort struct {
	namespace int // descriptor
	tap       *os.File
	out       chan delayedFrame
}

type delayedFrame struct {
	due   time.Time
	frame []byte
}

// newTrialNet makes a network with n ports. It skips the test where it cannot: that takes root.
func newTrialNet(t *testing.T, n int) *trialNet {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip, of iproute2: ", err)
	}
	w := &trialNet{at: map[[6]byte]int{}, cut: map[[2]int]bool{}}
	var workers sync.WaitGroup
	t.Cleanup(func() {
		for _, p := range w.ports {
			p.tap.Close()
			close(p.out)
			unix.Close(p.namespace)
		}
		workers.Wait()
	})
	for i := range n {
		p, err := newNetPort(w.host(i))
		if err != nil {
			t.Skip("network namespaces or TAP devices are not available: ", err)
		}
		w.ports = append(w.ports, p)
	}
	for i := range w.ports {
		go w.carry(i) // ends when the device is closed
		workers.Go(func() { w.ports[i].deliver() })
	}
	return w
}

func (w *trialNet) host(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

func newNetPort(host string) (p *netPort, err error) {
	p = &netPort{out: make(chan delayedFrame, 10_000)}
	if err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			p.namespace, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return err
	}); err != nil {
		return nil, err
	}
	return p, p.inside(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq("net0")
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		p.tap = os.NewFile(uintptr(fd), "net0")
		for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "add", host + "/24", "dev", "net0"}, {"link", "set", "net0", "up"}} {
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %v: %w: %s", args, err, out)
			}
		}
		return nil
	})
}

// onThread calls f on a thread that ends afterwards, because f changes it.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// inside calls f in the namespace of the port.
func (p *netPort) inside(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(p.namespace, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// carry takes the frames that leave a port to the ports of their receivers.
func (w *trialNet) carry(from int) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := w.ports[from].tap.Read(buffer)
		if err != nil {
			return // closed
		}
		if n < 14 {
			continue
		}
		frame := append([]byte(nil), buffer[:n]...)
		w.mu.Lock()
		w.at[[6]byte(frame[6:12])] = from
		to, known := w.at[[6]byte(frame[:6])]
		for i := range w.ports {
			if i == from || known && i != to || w.cut[[2]int{from, i}] {
				continue
			}
			due := time.Time{}
			if rand.Float64() < w.loss {
				continue
			}
			if w.delay > 0 {
				due = time.Now().Add(w.delay)
			}
			select {
			case w.ports[i].out <- delayedFrame{due, frame}:
			default: // as a queue that is full
			}
		}
		w.mu.Unlock()
	}
}

// deliver writes frames to the device when they are due.
func (p *netPort) deliver() {
	for f := range p.out {
		if !f.due.IsZero() {
			time.Sleep(time.Until(f.due))
		}
		_, _ = p.tap.Write(f.frame) // a device that is closed loses it
	}
}

// dial connects to a listener of a member, by the member's address, over the loopback device of its
// namespace. So no fault of the network comes between the callers and the members.
func (w *trialNet) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	for i, p := range w.ports {
		if w.host(i) == host {
			err = p.inside(func() (err error) {
				var d net.Dialer
				conn, err = d.DialContext(ctx, network, "127.0.0.1:"+port)
				return err
			})
			return conn, err
		}
	}
	return nil, fmt.Errorf("no member has the address %s", address)
}

// set changes the faults of the network.
func (w *trialNet) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// part cuts the links from and to a member.
func (w *trialNet) part(member int, from, to bool) {
	w.set(func() {
		for other := range 3 {
			if other != member {
				w.cut[[2]int{member, other}] = from
				w.cut[[2]int{other, member}] = to
			}
		}
	})
}

func (w *trialNet) heal() {
	w.set(func() {
		clear(w.cut)
		w.loss, w.delay = 0, 0
	})
}

// TestClusterNetwork runs three members in network namespaces. A member that is cut off from the others,
// in both directions or in one, becomes isolated and takes no write, and the others go on; it returns by
// itself. Lost and late frames and links that come and go lose nothing.
func TestClusterNetwork(t *testing.T) {
	skipUnlessLong(t)
	w := newTrialNet(t, 3)
	var hosts []string
	for i := range memberNames {
		hosts = append(hosts, w.host(i))
	}
	c := prepareClusterAt(t, hosts)
	c.http = newTrialHTTP(w.dial)
	c.launch = func(i int, cmd *exec.Cmd) error { return w.ports[i].inside(cmd.Start) }
	c.local = true
	c.args = loadRates
	c.members = []*memberProcess{{}, {}, {}}
	c.startAll()
	r := c.underLoad()
	cut := func(from, to bool) func(*faultRun) {
		return func(r *faultRun) {
			w.part(r.hit[0], from, to)
			r.l.useOthers(r.hit[0])
			c.waitState(r.hit[0], "isolated")
		}
	}
	heal := func(*faultRun) { w.heal() }
	flap := func(r *faultRun) {
		for n := range 5 {
			w.part((c.leader()+n)%3, true, true)
			time.Sleep(time.Second) // the length of the fault
			w.heal()
			time.Sleep(time.Second)
		}
		r.hit = []int{0, 1, 2} // each may have been cut off
	}
	r.run(fewRounds(),
		fault{kind: "leader cut off", hits: theLeader, begin: cut(true, true), lasts: isolated, end: heal},
		fault{kind: "another member cut off", hits: anotherMember, begin: cut(true, true), lasts: isolated, end: heal},
		fault{kind: "leader is not heard", hits: theLeader, begin: cut(true, false), lasts: isolated, end: heal},
		fault{kind: "leader does not hear", hits: theLeader, begin: cut(false, true), lasts: isolated, end: heal},
		fault{kind: "another member is not heard", hits: anotherMember, begin: cut(true, false), lasts: isolated, end: heal},
		fault{kind: "another member does not hear", hits: anotherMember, begin: cut(false, true), lasts: isolated, end: heal},
		fault{kind: "1 % loss", begin: func(*faultRun) { w.set(func() { w.loss = 0.01 }) }, answers: 1000, end: heal},
		fault{kind: "50 ms delay", begin: func(*faultRun) { w.set(func() { w.delay = 50 * time.Millisecond }) }, answers: 300, end: heal},
		fault{kind: "flapping every second", begin: flap},
	)
	r.finish()
}

// isolated checks that a member that is cut off takes no write and soon serves no read.
func isolated(r *faultRun) {
	r.Helper()
	member := r.hit[0]
	// What reaches a member that is not heard comes in bursts, and one of them may find it serving for a
	// moment: then it takes the write and learns nothing of it (504).
	var status int
	var err error
	decided := within(3*time.Minute, func() bool {
		ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
		defer cancel()
		status, err = r.admin(ctx, member, "DELETE", fmt.Sprintf("/admin/users/%d/orders", r.l.user), nil, nil)
		return err == nil && status != 504
	})
	if !decided || status != 503 {
		r.Errorf("a write to the isolated member %s: status %d, %v; want 503", memberNames[member], status, err)
	}
	if !within(3*time.Minute, func() bool {
		_, err = r.client(member, r.l.traders[0].key).Balance(r.Context())
		return codeOf(err) == "node_behind"
	}) {
		r.Errorf("a read of the isolated member %s: %v, want node_behind", memberNames[member], err)
	}
}
