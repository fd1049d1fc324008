package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	start := func(k int) { followers[k].start(k%3, (k+1)%3) }
	for k := range count {
		name := fmt.Sprint("f", k)
		f := &followerOf{clusterTrial: c, host: strings.TrimSuffix(first.host, ".9") + fmt.Sprint(".", 20+k), args: []string{"--name", name, "--data", filepath.Join(c.dir, name)}}
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
	for _, f := range followers {
		f.waitEqual(0)
	}
	for k, f := range followers {
		f.kill()
		if out, err := c.try("verify", filepath.Join(c.dir, fmt.Sprint("f", k))); err != nil || !strings.HasPrefix(out, "whole: ") {
			t.Errorf("dx verify of follower %d: %v\n%s", k, err, out)
		}
	}
	l.finish()
}
