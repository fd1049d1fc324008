package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"duplex/schemas"
)

// TestClusterMembership replaces a dead member with the commands of the operator, add, remove and promote, and
// checks that no change is accepted while a running voter lags.
func TestClusterMembership(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, loadRates...)
	c.refusedWhileLagging(2)
	c.kill(2)
	if s := c.accepted(0, "cluster", "add", "d="+c.address(3, 7000)); memberOf(s, "d").Role != "learner" || memberOf(s, "d").State != "down" {
		t.Errorf("after add: %+v", s)
	}
	c.refused(0, "one change at a time", "cluster", "add", "e="+c.address(4, 7000))
	c.refused(0, "d is not up", "cluster", "promote", "d")
	c.members = append(c.members, &memberProcess{})
	c.start(3, "--join")
	c.waitStatus(0, "d as a member that has every group and no vote", func(s schemas.ClusterStatus, _ error) bool {
		d := memberOf(s, "d")
		return d.Role == "learner" && d.State == "joining" && d.Number > 0 && d.Number >= memberOf(s, "a").Number
	})
	if s := c.accepted(0, "cluster", "remove", "c"); memberOf(s, "c").Node != "" {
		t.Errorf("after remove: %+v", s)
	}
	c.members[2].removed = true
	// The leader gives d its vote by itself too, now that no voter is down.
	if out, err := c.tryAt(1, "cluster", "promote", "d"); err != nil && !strings.Contains(out, "has a vote already") {
		t.Errorf("dx cluster promote: %v\n%s", err, out)
	}
	c.waitStatus(3, "three members that serve", func(s schemas.ClusterStatus, err error) bool {
		return err == nil && len(s.Members) == 3 && memberOf(s, "d").Role != "learner"
	})
	c.accepted(0, "cluster", "move-leader", "d")
	c.waitStatus(1, "d as the leader", func(s schemas.ClusterStatus, err error) bool { return err == nil && s.Leader == "d" })
}

// refusedWhileLagging stops the process of a member while the others apply many groups, and lets it go
// on just until it has answered: it runs, and lags.
func (c *clusterTrial) refusedWhileLagging(i int) {
	c.Helper()
	user := c.createUser("lagging")
	asked, sent := (i+1)%3, 0
	add := []string{"cluster", "add", memberNames[asked] + "=" + c.address(asked, 7000)} // changes nothing if it is accepted by mistake
	for range 10 {
		c.signal(i, syscall.SIGSTOP)
		s, err := c.clusterStatus(asked)
		if err == nil {
			c.Fatal("a process that was stopped answers")
		}
		for want := memberOf(s, memberNames[asked]).Number + 3000; memberOf(s, memberNames[asked]).Number < want; s, _ = c.clusterStatus(asked) {
			sent = c.deposits(user, asked, sent, 500)
		}
		c.signal(i, syscall.SIGCONT)
		_, _ = c.clusterStatus(asked) // asks every member
		c.signal(i, syscall.SIGSTOP)
		out, err := c.tryAt(asked, add...)
		c.signal(i, syscall.SIGCONT)
		c.waitStatus(asked, "all members", func(_ schemas.ClusterStatus, err error) bool { return err == nil })
		if err != nil && strings.Contains(out, memberNames[i]+" is ") && strings.Contains(out, "groups behind") {
			return
		}
		if err == nil || !strings.Contains(out, "is a member already") { // it had caught up, or counted as down
			c.Fatalf("dx %s: %v\n%s", strings.Join(add, " "), err, out)
		}
	}
	c.Fatal("no change was refused while a running voter lags")
}

// deposits makes n deposits on a member, several at a time, and returns how many were made in all.
func (c *clusterTrial) deposits(user uint32, i, sent, n int) int {
	c.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				k := int(next.Add(1))
				if k > n {
					return
				}
				status, err := c.admin(c.Context(), i, "POST", fmt.Sprintf("/admin/users/%d/deposits", user), map[string]string{"amount": "10000", "deposit_id": fmt.Sprint("lag-", sent+k)}, nil)
				if err != nil || status != 201 {
					c.Errorf("deposit: %d, %v", status, err)
					return
				}
			}
		})
	}
	workers.Wait()
	if c.Failed() {
		c.FailNow()
	}
	return sent + n
}

// TestClusterRemovedMember removes a member that runs, and one that is dead. The process ends with 3, which no supervisor
// restarts, and says that it was removed; so does each later start.
func TestClusterRemovedMember(t *testing.T) {
	skipUnlessLong(t)
	for _, dead := range []bool{false, true} {
		c := startCluster(t)
		c.createUser("somebody")
		const gone = 2
		if dead {
			c.kill(gone)
		}
		c.accepted(0, "cluster", "remove", memberNames[gone])
		for start := range 2 {
			if dead || start > 0 {
				c.start(gone)
			}
			m := c.members[gone]
			select {
			case err := <-m.done:
				m.cmd = nil
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || !strings.Contains(m.logs.String(), "it was removed") {
					t.Errorf("dead %v, start %d: %v\n%s", dead, start, err, withoutActions(m.logs.String()))
				}
			case <-time.After(3 * time.Minute):
				t.Fatalf("dead %v, start %d: a removed member does not end\n%s", dead, start, m.logs)
			}
		}
		c.end()
	}
}

// TestClusterChangesUnderKills replaces one member after the other under load: a new one is added and gets
// its vote by itself, and the old one is killed and removed. Another one is killed with -9 while the new one
// joins, and the leader right after the old one was removed. Nothing that was answered is missing, and every
// archive is whole.
//
//	go test ./cmd/dx -run ClusterChangesUnderKills -clusterrounds 20 -v -timeout 60m
func TestClusterChangesUnderKills(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, loadRates...)
	l := c.load()
	l.answered(200)
	c.members = append(c.members, &memberProcess{removed: true})
	present, spare := []int{0, 1, 2}, 3
	for range *clusterRounds / 2 {
		asked := present[0]
		c.change(asked, "POST", "/admin/cluster/members", schemas.AddMember{Name: memberNames[spare], Peer: c.address(spare, 7000)})
		c.members[spare].removed = false
		c.start(spare, "--join")
		victim := present[1+rand.IntN(2)]
		c.kill(victim)
		c.start(victim)
		for _, i := range append(present, spare) {
			c.waitServing(i)
		}
		if role := c.roleOf(spare, memberNames[spare]); role != "voter" && role != "leader" {
			t.Errorf("%s is %q", memberNames[spare], role)
		}
		l.use(append(present, spare)...)
		l.answered(50)
		gone := present[rand.IntN(3)]
		var left []int
		for _, i := range append(present, spare) {
			if i != gone {
				left = append(left, i)
			}
		}
		l.use(left...)
		c.kill(gone)
		c.change(left[0], "DELETE", "/admin/cluster/members/"+memberNames[gone], nil)
		c.members[gone] = &memberProcess{removed: true}
		leader := c.leader()
		c.kill(leader)
		c.start(leader)
		for _, i := range left {
			c.waitServing(i)
		}
		l.answered(50)
		if err := os.RemoveAll(c.data(gone)); err != nil {
			t.Fatal(err)
		}
		present, spare = left, gone
	}
	l.finish()
}

// upgradeFrom is an older program that TestClusterUpgrade begins with.
var upgradeFrom = flag.String("upgradefrom", "", "path of the program of an older version, for TestClusterUpgrade")

// TestClusterUpgrade upgrades a cluster from an older program to this one under load: one member at a
// time, the leader last, each once the one before serves.
//
//	go test ./cmd/dx -run ClusterUpgrade -upgradefrom /path/to/older/dx -v
func TestClusterUpgrade(t *testing.T) {
	if *upgradeFrom == "" {
		t.Skip("needs the program of an older version: go test ./cmd/dx -run ClusterUpgrade -upgradefrom /path/to/older/dx -v")
	}
	c := newClusterTrial(t, 3)
	c.args, c.program = loadRates, *upgradeFrom
	c.startAll()
	l, g := c.load(), gaps{}
	l.answered(200)
	c.program = ""
	leader := c.leader()
	for _, i := range []int{(leader + 1) % 3, (leader + 2) % 3, leader} {
		l.answered(50)
		l.resetLongest()
		c.signal(i, syscall.SIGTERM)
		l.useOthers(i)
		c.waitStopped(i)
		l.answered(50)
		c.start(i)
		c.waitServing(i)
		l.use(0, 1, 2)
		l.answered(50)
		g.add("upgrade of a member", l.resetLongest())
	}
	l.finish()
	for i := range c.members {
		t.Log(c.dx("verify", "--rules", c.data(i)))
	}
	g.log(t)
}

// TestClusterChangedRule runs a member whose program has another rule than that of the others: a dead-man
// switch fires 1 ns later. Once it is armed, the states differ, and at the next checkpoint this member
// stops alone, with the exit code after which it must not be restarted. The others go on.
//
//	go test ./cmd/dx -run ClusterChangedRule -clusterrounds 100 -v
func TestClusterChangedRule(t *testing.T) {
	if *clusterRounds < 100 {
		t.Skip("builds a second program, and waits for the next checkpoint: go test ./cmd/dx -run ClusterChangedRule -clusterrounds 100 -v")
	}
	other := otherRule(t)
	c := newClusterTrial(t, 3)
	for i := range c.members {
		if c.program = ""; i == 2 {
			c.program = other
		}
		c.start(i)
	}
	for i := range c.members {
		c.waitServing(i)
	}
	user := c.createUser("armed")
	key := c.createKey(0, user)
	if _, err := c.client(0, key).ArmDeadman(t.Context(), 60_000); err != nil {
		t.Fatal(err)
	}
	m := c.members[2]
	var err error
	select {
	case err = <-m.done:
	case <-time.After(3 * time.Minute): // checkpoints are a minute apart
		t.Fatal("the member with another rule does not stop")
	}
	m.cmd = nil
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(m.logs.String(), "diverged") {
		t.Errorf("%v\n%s", err, m.logs)
	}
	for i := range 2 {
		c.pay(i, user, fmt.Sprint("after-", i, "-"), 20)
		if state, err := c.stateOf(i); state != "serving" {
			t.Errorf("member %s is %s: %v", memberNames[i], state, err)
		}
	}
}

// otherRule builds dx with another rule, and returns its path.
func otherRule(t *testing.T) string {
	t.Helper()
	const rule, other = "v.now.Ts + int64(ms)*core.NsPerMs", "v.now.Ts + int64(ms)*core.NsPerMs + 1"
	source, err := filepath.Abs("../../core/venue/deadman.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), rule) != 1 {
		t.Fatalf("%s does not have the rule %s once", source, rule)
	}
	dir := t.TempDir()
	changed, overlay, program := filepath.Join(dir, "deadman.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "dx")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err == nil {
		err = errors.Join(os.WriteFile(changed, []byte(strings.Replace(string(text), rule, other, 1)), 0o600), os.WriteFile(overlay, list, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
