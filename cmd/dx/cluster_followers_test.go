package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/internal/logbuffer"
	"duplex/schemas"
)

// TestClusterFollowers runs eight followers of three members under load. One follower stands still, a
// member that others follow is killed, and one follower is killed. In the end all nodes have the same
// state.
func TestClusterFollowers(t *testing.T) {
	skipUnlessLong(t)
	const count = 8
	c := startCluster(t, loadRates...)
	first := c.follow() // makes the certificate that all of them use
	followers := []*followerOf{}
	start := func(k int) {
		f := followers[k]
		name := fmt.Sprint("f", k)
		from := c.address(k%3, 7001) + "," + c.address((k+1)%3, 7001)
		p := memberProcess{cmd: f.command(from, "--name", name, "--data", filepath.Join(c.dir, name)), logs: &logbuffer.Buffer{}, done: make(chan error, 1)}
		p.cmd.Stdout, p.cmd.Stderr = p.logs, p.logs
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { p.done <- p.cmd.Wait() }()
		f.process = p
	}
	for k := range count {
		f := &followerOf{clusterTrial: c, host: strings.TrimSuffix(first.host, ".9") + fmt.Sprint(".", 20+k)}
		followers = append(followers, f)
		t.Cleanup(func() {
			if t.Failed() && f.process.logs != nil {
				t.Logf("follower %d:\n%s", k, f.process.logs)
			}
			f.kill()
		})
		start(k)
	}
	for _, f := range followers {
		f.waitState("serving")
	}
	l := c.load()
	l.answered(300)
	for round := range max(1, *clusterRounds/10) {
		stalled, member := round%count, round%3
		if err := followers[stalled].process.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		l.answered(300)
		c.kill(member)
		l.answered(300)
		c.start(member)
		c.waitServing(member)
		killed := (stalled + 1) % count
		followers[killed].kill()
		l.answered(300)
		start(killed)
		if err := followers[stalled].process.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for _, f := range followers {
			f.waitState("serving")
		}
	}
	l.stop()
	l.compare()
	for k, f := range followers {
		var state, want schemas.AdminState
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			_, text := c.send("GET", f.url(8082)+"/admin/state", "", clusterOperator)
			if err := json.Unmarshal([]byte(text), &state); err != nil {
				t.Fatal(text, err)
			}
			if _, err := c.admin(t.Context(), 0, "GET", "/admin/state", nil, &want); err != nil {
				t.Fatal(err)
			}
			if state.Seq == want.Seq {
				break
			}
		}
		if state.Seq != want.Seq || state.StateHash != want.StateHash {
			t.Errorf("follower %d has %s at seq %d, a member %s at seq %d", k, state.StateHash, state.Seq, want.StateHash, want.Seq)
		}
	}
	for k, f := range followers {
		f.kill()
		if out, err := c.try("verify", filepath.Join(c.dir, fmt.Sprint("f", k))); err != nil || !strings.HasPrefix(out, "whole: ") {
			t.Errorf("dx verify of follower %d: %v\n%s", k, err, out)
		}
	}
	l.finish()
}
