package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/schemas"
)

// newClusterTrial prepares certificates and addresses for n nodes, and starts none.
func newClusterTrial(t *testing.T, n int) *clusterTrial {
	t.Helper()
	c := prepareCluster(t)
	for range n {
		c.members = append(c.members, &memberProcess{})
	}
	return c
}

// startSingle starts a venue of a single machine on the address and the data of a node.
func (c *clusterTrial) startSingle(i int, more ...string) {
	c.Helper()
	path := dxPath(c)
	cmd := exec.Command(path, append([]string{
		"serve", "--api", c.address(i, 8080), "--portal", c.address(i, 8081), "--admin", c.address(i, 8082),
		"--data", c.data(i), "--oracle", "manual", "--mirror", "off",
	}, more...)...)
	c.members[i] = c.run(cmd, cmd.Start)
}

func (c *clusterTrial) data(i int) string { return filepath.Join(c.dir, memberNames[i]) }

// list is --cluster for the first n nodes.
func (c *clusterTrial) list(n int) string {
	var list []string
	for i := range n {
		list = append(list, memberNames[i]+"="+c.address(i, 7000))
	}
	return strings.Join(list, ",")
}

// sum returns the deposits that a node knows, in cents, once it answers.
func (c *clusterTrial) sum(i int) uint64 {
	c.Helper()
	var s schemas.AdminState
	var err error
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		var status int
		if status, err = c.admin(c.Context(), i, "GET", "/admin/state", nil, &s); err == nil && status == 200 {
			return uint64(s.Deposits) / 100
		}
		select {
		case err := <-c.members[i].done:
			c.members[i].cmd = nil
			c.Fatalf("%s ended: %v\n%s", memberNames[i], err, c.members[i].logs)
		case <-time.After(20 * time.Millisecond):
		}
	}
	c.Fatalf("%s does not answer: %v\n%s", memberNames[i], err, c.members[i].logs)
	return 0
}

// pay makes n deposits of a dollar on a node, each with an id of its own.
func (c *clusterTrial) pay(i int, user uint32, name string, n int) {
	c.Helper()
	for k := range n {
		status, err := c.admin(c.Context(), i, "POST", fmt.Sprintf("/admin/users/%d/deposits", user), map[string]string{"amount": "10000", "deposit_id": fmt.Sprintf("%s-%d", name, k)}, nil)
		if err != nil || status != 201 {
			c.Fatalf("deposit %s-%d: %d %v", name, k, status, err)
		}
	}
}

// TestClusterFromASingleMachine turns a single machine, killed with -9, into a cluster, and a member of
// it into a single machine again. Nothing that was answered is missing, and no data can be started as
// what they are not.
func TestClusterFromASingleMachine(t *testing.T) {
	skipUnlessLong(t)
	c := newClusterTrial(t, 3)
	c.startSingle(0)
	c.sum(0)
	user := c.createUser("trader")
	c.pay(0, user, "single", 20)
	c.kill(0)
	if out, err := c.try("cluster", "detach", "--data", c.data(0)); err == nil || !strings.Contains(out, "not the data of a member") {
		t.Errorf("detach of a single machine: %v\n%s", err, out)
	}
	if out := c.dx("cluster", "init", "--data", c.data(0), "--node", "a", "--cluster", c.list(3)); !strings.Contains(out, "whole: ") {
		t.Error(out)
	}
	if out, err := c.try("cluster", "init", "--data", c.data(0), "--node", "a", "--cluster", c.list(3)); err == nil || !strings.Contains(out, "already") {
		t.Errorf("a second init: %v\n%s", err, out)
	}
	c.start(0)
	c.start(1, "--join")
	c.start(2, "--join")
	for i := range 3 {
		c.waitServing(i)
		if sum := c.sum(i); sum != 20*100 {
			t.Errorf("%s has deposits of %d cents", memberNames[i], sum)
		}
	}
	c.pay(1, user, "cluster", 20)
	c.kill(2)
	c.pay(1, user, "two", 20)
	if out, err := c.try("cluster", "init", "--data", c.data(1), "--node", "b", "--cluster", c.list(3)); err == nil || !strings.Contains(out, "locked") && !strings.Contains(out, "in use") {
		t.Errorf("init while the member runs: %v\n%s", err, out)
	}
	c.kill(0)
	c.kill(1)
	c.startSingle(1)
	c.endsWith(1, 2, "dx cluster detach")
	c.dx("cluster", "detach", "--data", c.data(1))
	c.startSingle(1)
	if sum := c.sum(1); sum != 60*100 {
		t.Errorf("after detach: deposits of %d cents", sum)
	}
	c.pay(1, user, "again", 5)
	c.terminate(1)
	c.dx("verify", c.data(1))
}

// exitedWith reports whether err is that of a process that ended with a code.
func exitedWith(err error, code int) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == code
}

// TestClusterRecover loses two of three members for good, under load, and begins a new cluster with the
// third: once with what its own etcd has, where nothing that it answered is missing, and once with
// nothing but archives, where what was answered in the last moments may be. Then the cluster grows to
// three again. What only the lost members answered may always be missing, so the first load is on the third
// alone.
func TestClusterRecover(t *testing.T) {
	skipUnlessLong(t)
	for round := range fewRounds() {
		for _, etcdLost := range []bool{false, true} {
			t.Run(fmt.Sprintf("etcd lost %v %d", etcdLost, round), func(t *testing.T) { recoverCluster(t, etcdLost) })
		}
	}
}

func recoverCluster(t *testing.T, etcdLost bool) {
	c := startCluster(t, loadRates...)
	var members []int
	if !etcdLost {
		members = []int{0}
	}
	l := c.load(members...)
	l.answered(300)
	args := []string{"cluster", "recover", "--data", c.data(0)}
	if etcdLost { // the archives of b and c go on without a
		c.kill(0)
		l.answered(300)
		args = append(args, "--also", c.data(1), "--also", c.data(2))
	}
	for _, m := range c.members {
		if m.cmd != nil {
			_ = m.cmd.Process.Signal(syscall.SIGKILL)
		}
	}
	for i := range c.members {
		c.kill(i)
	}
	l.halt()
	if etcdLost {
		for i := range c.members {
			if err := os.RemoveAll(filepath.Join(c.data(i), "etcd")); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := c.dx(args...)
	t.Log(out)
	if known := !strings.Contains(out, "not readable"); known == etcdLost {
		t.Error("recover does not say what it could not read")
	}
	c.members[1].removed, c.members[2].removed = true, true
	c.start(0)
	c.waitServing(0)
	if !etcdLost {
		l.compare()
	} else if sum, least := c.sum(0)*100, l.initial; sum < least {
		t.Errorf("the deposits are %d pips; before the load began they were %d", sum, least)
	} else {
		// A kill of the processes alone loses nothing that an archive was given; a machine's would
		// lose up to 200 ms.
		missing := int64(l.initial+uint64(l.deposits)*loadDeposit-min(sum, l.initial+uint64(l.deposits)*loadDeposit)) / loadDeposit
		t.Logf("%d of %d acknowledged deposits are missing after the loss of all etcd data", missing, l.deposits)
	}
	c.pay(0, l.user, "after", 5)
	for i := 1; i < 3; i++ {
		if err := os.RemoveAll(c.data(i)); err != nil {
			t.Fatal(err)
		}
		c.change(0, "POST", "/admin/cluster/members", schemas.AddMember{Name: memberNames[i], Peer: c.address(i, 7000)})
		c.members[i].removed = false
		c.start(i, "--join")
		c.waitServing(i)
	}
	if a, b, d := c.sum(0), c.sum(1), c.sum(2); a != b || a != d {
		t.Errorf("deposits of %d, %d and %d cents", a, b, d)
	}
	c.kill(0)
	c.pay(1, l.user, "without a", 5)
	c.stopAll()
	for i := range c.members {
		c.verifyArchive(i)
	}
}
