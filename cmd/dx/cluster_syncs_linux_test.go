package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/internal/logbuffer"
)

// TestClusterSyncs lets syncs of a member fail, and those of the leader take two seconds. The member whose
// sync fails ends with exit code 1 and does not sync again; the leader with slow syncs gives the lead
// away, and has no part in what the others answer. Nothing that was answered is lost.
func TestClusterSyncs(t *testing.T) {
	skipUnlessLong(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace, which makes system calls fail: ", err)
	}
	c := startCluster(t, loadRates...)
	l := c.load()
	for round := range fewRounds() {
		l.answered(50)
		victim := round % 3
		l.useOthers(victim)
		detach := c.injectSyncs(victim, "error=EIO")
		m := c.members[victim]
		select {
		case err := <-m.done:
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(m.logs.String(), "input/output error") {
				t.Errorf("%s after a sync that failed: %v\n%s", memberNames[victim], err, withoutActions(m.logs.String()))
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s goes on after a sync that failed\n%s", memberNames[victim], withoutActions(m.logs.String()))
		}
		detach()
		m.cmd = nil
		l.answered(50)
		c.start(victim)
		c.waitServing(victim)

		leader := c.leader()
		l.useOthers(leader)
		detach = c.injectSyncs(leader, "delay_exit=2000000") // µs
		if !within(2*time.Minute, func() bool { return c.leader() != leader }) {
			t.Fatalf("%s still leads\n%s", memberNames[leader], withoutActions(c.members[leader].logs.String()))
		}
		l.answered(100) // by the others, whose disks are quick
		detach()
		c.waitServing(leader)
		l.use(0, 1, 2)
	}
	l.finish()
}

// injectSyncs makes the syncs of a member fail or wait. It returns a function that ends this.
func (c *clusterTrial) injectSyncs(i int, how string) (detach func()) {
	c.Helper()
	out := &logbuffer.Buffer{}
	cmd := exec.Command("strace", "-f", "-o", "/dev/null", "-p", fmt.Sprint(c.members[i].cmd.Process.Pid), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:"+how)
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is stopped by a signal, or ends with the member
		close(done)
	}()
	for !strings.Contains(out.String(), "attached") {
		select {
		case <-done:
			c.Skip("strace may not trace a process here: ", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
		<-done
	}
}
