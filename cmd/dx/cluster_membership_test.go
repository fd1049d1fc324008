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
	"slices"
	"strings"
	"testing"

	"duplex/schemas"
)

// TestClusterMembership runs the commands of the operator of a cluster: status, the lead, defragmentation, what is
// refused while two of three members run, and the replacement of a dead member with add, remove and promote. A process
// whose member was removed ends with 3, which no supervisor restarts, and says why; so does each later start.
func TestClusterMembership(t *testing.T) {
	skipUnlessLong(t)
	c := newClusterTrial(t, 3)
	c.start(0)
	c.start(1)
	c.waitServing(0)
	c.waitServing(1)
	s := c.waitStatus(0, "c as the only member that is down", func(s schemas.ClusterStatus, err error) bool {
		return err != nil && strings.Contains(err.Error(), "c is down") && !strings.Contains(err.Error(), ";")
	})
	if a := memberOf(s, "a"); s.ClusterID == "" || s.Leader == "" || len(s.Members) != 3 || a.Seq == 0 || a.Number == 0 || a.Version == "" || a.DiskFree == 0 || a.Peer != c.address(0, 7000) || a.Follow != c.address(0, 7001) {
		t.Errorf("the status of two of three members: %+v", s)
	}
	if out, err := c.tryAt(0, "cluster", "status"); err == nil || !strings.Contains(out, "leader "+s.Leader) || !strings.Contains(out, c.address(2, 7000)) {
		t.Errorf("dx cluster status with c down: %v, want an error, the leader %s and the address of c\n%s", err, s.Leader, out)
	}
	if _, text := c.send("GET", c.url(0, 8082)+"/admin/cluster", "", "another token"); !strings.Contains(text, "unauthorized") {
		t.Errorf("the status with another token: %s, want unauthorized", text)
	}
	for _, refused := range []struct{ reason, command string }{
		{"only 1 of 2 voters would be up", "remove b"}, {"ask another member", "remove a"}, {"not a member", "remove zoe"},
		{"is a member already", "add c=" + c.address(3, 7000)}, {"has a vote already", "promote c"}, {"not a member", "move-leader c"},
	} {
		c.refused(0, refused.reason, append([]string{"cluster"}, strings.Fields(refused.command)...)...)
	}

	c.start(2)
	c.waitServing(2)
	s = c.waitStatus(2, "three members that serve", func(_ schemas.ClusterStatus, err error) bool { return err == nil })
	next := memberNames[(slices.Index(memberNames, s.Leader)+1)%3]
	c.moveLead(0, next)
	var d schemas.DefragResult
	out, err := c.tryAt(0, "cluster", "defrag")
	if err == nil {
		err = json.Unmarshal([]byte(out), &d)
	}
	if err != nil || len(d.Members) != 3 || d.Members[2].Node != next {
		t.Errorf("dx cluster defrag: %v, want three members, the leader %s last\n%s", err, next, out)
	}

	c.kill(2)
	if s := c.accepted(0, "cluster", "add", "d="+c.address(3, 7000)); memberOf(s, "d").Role != "learner" || memberOf(s, "d").State != "down" {
		t.Errorf("after add: %+v, want d as a learner that is down", s)
	}
	c.members = append(c.members, &memberProcess{})
	c.start(3, "--join")
	c.waitStatus(0, "d as a member that has every group and no vote", func(s schemas.ClusterStatus, _ error) bool {
		d := memberOf(s, "d")
		return d.Role == "learner" && d.State == "joining" && d.Number > 0 && d.Number >= memberOf(s, "a").Number
	})
	if s := c.accepted(0, "cluster", "remove", "c"); memberOf(s, "c").Node != "" {
		t.Errorf("after remove: %+v, want no c", s)
	}
	// The leader gives d its vote by itself too, now that no voter is down.
	if out, err := c.tryAt(1, "cluster", "promote", "d"); err != nil && !strings.Contains(out, "has a vote already") {
		t.Errorf("dx cluster promote: %v\n%s", err, out)
	}
	c.waitStatus(3, "three members that serve", func(s schemas.ClusterStatus, err error) bool {
		return err == nil && len(s.Members) == 3 && memberOf(s, "d").Role != "learner"
	})
	c.moveLead(0, "d")

	const removed = "it was removed"
	c.accepted(0, "cluster", "remove", "d")
	c.endsWith(3, 3, removed)
	c.members[2].removed, c.members[3].removed = true, true
	for _, gone := range []int{2, 3} { // c was dead when it was removed, d ran
		for range 2 {
			c.start(gone)
			c.endsWith(gone, 3, removed)
		}
	}
}

// moveLead moves the lead with the command of the operator.
func (c *clusterTrial) moveLead(asked int, to string) {
	c.Helper()
	c.accepted(asked, "cluster", "move-leader", to)
	c.waitStatus(1, "the new leader "+to, func(s schemas.ClusterStatus, err error) bool {
		return err == nil && s.Leader == to && memberOf(s, to).Role == "leader"
	})
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
	c.program = ""
	r, last := c.underLoad(), c.leader()
	next := func(r *faultRun) []int { return []int{(last + 1 + r.round) % 3} }
	r.run(3, fault{kind: "upgrade of a member", hits: next, begin: stopHit, end: startHit})
	r.finish()
	for i := range c.members {
		t.Log(c.dx("verify", "--rules", c.data(i)))
	}
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
	c.endsWith(2, 3, "diverged") // checkpoints are a minute apart
	c.start(2)                   // as a supervisor does that heeds no exit code
	c.endsWith(2, 3, "not started again")
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
