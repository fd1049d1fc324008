package main

import (
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
	r := startCluster(t, loadRates...).underLoad()
	var detach func()
	fail := func(r *faultRun) {
		victim := r.hit[0]
		r.l.useOthers(victim)
		detach = r.injectSyncs(victim, "error=EIO")
		r.endsWith(victim, 1, "input/output error")
		detach()
	}
	delay := func(r *faultRun) {
		r.l.useOthers(r.hit[0])
		detach = r.injectSyncs(r.hit[0], "delay_exit=2000000") // µs
		r.losesLead(r.hit[0])
	}
	r.run(fewRounds(),
		fault{kind: "a sync fails", hits: byRound, begin: fail, end: startHit},
		fault{kind: "syncs of 2 s", hits: theLeader, begin: delay, end: func(*faultRun) { detach() }},
	)
	r.finish()
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
