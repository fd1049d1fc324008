package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/schemas"
)

// fault is what goes wrong with a cluster of three members under load, as steps of a faultRun.
type fault struct {
	kind    string
	most    int                     // rounds; 0: every round of the run
	hits    func(r *faultRun) []int // the members that it hits, which serve again at its end; nil: none
	begin   func(r *faultRun)
	lasts   func(r *faultRun) // what must hold while it lasts
	answers int               // requests that the other members answer while it lasts; default 200
	end     func(r *faultRun) // nil: it has ended by itself
}

// faultRun is a cluster under load that has one fault after the other.
type faultRun struct {
	*clusterTrial
	l     *workload
	gaps  gaps
	round int
	hit   []int // the members that the current fault hits
}

// underLoad starts a load.
func (c *clusterTrial) underLoad() *faultRun {
	c.Helper()
	r := &faultRun{clusterTrial: c, l: c.load(), gaps: gaps{}}
	r.l.answered(200)
	return r
}

// run runs the faults in rounds.
func (r *faultRun) run(rounds int, faults ...fault) {
	r.Helper()
	for r.round = range rounds {
		for _, f := range faults {
			if f.most == 0 || r.round < f.most {
				r.runOne(f)
			}
		}
	}
}

func (r *faultRun) runOne(f fault) {
	r.Helper()
	step := "load before it"
	defer func() {
		if r.Failed() {
			r.Logf("failed in round %d of %q, members hit: %v, step: %s", r.round, f.kind, r.hit, step)
		}
	}()
	r.l.answered(50)
	if r.hit = nil; f.hits != nil {
		r.hit = f.hits(r)
	}
	r.l.resetLongest()
	step = "begin"
	f.begin(r)
	step = "while it lasts"
	if f.lasts != nil {
		f.lasts(r)
	}
	if len(r.hit) < 3 {
		r.l.answered(max(f.answers, 200))
	}
	step = "end"
	if f.end != nil {
		f.end(r)
	}
	for _, i := range r.hit {
		r.waitServing(i)
	}
	step = "load after it"
	r.l.use(0, 1, 2)
	r.l.answered(50)
	r.gaps.add(f.kind, r.l.resetLongest())
	if r.Failed() {
		r.FailNow()
	}
}

// finish checks that nothing that was answered is missing and that nothing happened twice.
func (r *faultRun) finish() {
	r.Helper()
	r.l.finish()
	r.gaps.log(r.T)
}

// The members that a fault hits.

func theLeader(r *faultRun) []int     { return []int{r.leader()} }
func anotherMember(r *faultRun) []int { return []int{(r.leader() + 1 + r.round%2) % 3} }
func byRound(r *faultRun) []int       { return []int{r.round % 3} }
func all(*faultRun) []int             { return []int{0, 1, 2} }

// allButOne leaves the leader or another member.
func allButOne(r *faultRun) []int {
	left := (r.leader() + r.round%2) % 3
	return []int{(left + 1) % 3, (left + 2) % 3}
}

// The steps of a fault.

func (r *faultRun) signalHit(s syscall.Signal) {
	r.Helper()
	for _, i := range r.hit {
		r.signal(i, s)
	}
}

func killHit(r *faultRun) {
	r.Helper()
	r.signalHit(syscall.SIGKILL) // all of them before one is waited for
	for _, i := range r.hit {
		r.kill(i)
	}
}

func startHit(r *faultRun) {
	r.Helper()
	for _, i := range r.hit {
		if r.members[i].cmd == nil {
			r.start(i)
		}
	}
}

// pauseHit stops the process of a member, so that requests that it has are not answered.
func pauseHit(r *faultRun) {
	r.Helper()
	r.signalHit(syscall.SIGSTOP)
	r.l.useOthers(r.hit[0])
}

func resumeHit(r *faultRun) {
	r.Helper()
	r.signalHit(syscall.SIGCONT)
}

// forTime is the length of a fault.
func forTime(d time.Duration) func(*faultRun) { return func(*faultRun) { time.Sleep(d) } }

// stopHit stops a member as an operator does.
func stopHit(r *faultRun) {
	r.Helper()
	r.signalHit(syscall.SIGTERM)
	r.l.useOthers(r.hit[0])
	r.waitStopped(r.hit[0])
}

func moveLead(r *faultRun) {
	r.Helper()
	leader := r.leader()
	r.change(leader, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[(leader+1)%3]})
}

// losesLead checks that a member gives the lead away.
func (r *faultRun) losesLead(i int) {
	r.Helper()
	if !within(3*time.Minute, func() bool { return r.leader() != i }) {
		r.Fatalf("%s still leads\n%s", memberNames[i], withoutActions(r.members[i].logs.String()))
	}
}

// minority checks the one member of three that is left: it confirms no write, its reads are served until it
// has had no contact with a leader for --stale-after, and then none is. Trading goes on with one of the others.
func minority(r *faultRun) {
	r.Helper()
	left, first := 3-r.hit[0]-r.hit[1], r.hit[0]
	r.l.use(left)
	r.waitState(left, "isolated")
	reader := r.client(left, r.l.traders[0].key)
	_, err := reader.Balance(r.Context())
	if err != nil {
		r.Errorf("a read of %s, which has just become isolated: %v, want none", memberNames[left], err)
	}
	within(3*time.Minute, func() bool { _, err = reader.Balance(r.Context()); return err != nil })
	if codeOf(err) != "node_behind" {
		r.Fatalf("a read of %s, which is isolated: %v, want node_behind", memberNames[left], err)
	}
	before, tried := r.l.confirmed()
	if !within(3*time.Minute, func() bool { _, again := r.l.confirmed(); return again >= tried+100 }) {
		r.Fatal("the load sends nothing")
	}
	if now, _ := r.l.confirmed(); now != before {
		r.Errorf("%d writes were confirmed by one member of three, want 0", now-before)
	}
	if _, err := reader.CancelAll(r.Context(), schemas.CancelAll{}); codeOf(err) != "shed" {
		r.Errorf("a write to one member of three: %v, want shed", err)
	}
	if _, err := reader.Balance(r.Context()); codeOf(err) != "node_behind" {
		r.Errorf("a later read of one member of three: %v, want node_behind", err)
	}
	deposit := []string{"admin", "deposit", fmt.Sprint(r.l.user), "10000pips", "--id", fmt.Sprint("without-a-leader-", r.round)}
	refused := func(want string) func() bool {
		return func() bool {
			out, err := r.tryAt(left, deposit...)
			return err != nil && strings.Contains(out, want)
		}
	}
	if want := "no leader: 1 of 3 members is up"; !within(3*time.Minute, refused(want)) { // once it knows that both are dead
		r.Errorf("a deposit on one member of three never fails with %q", want)
	}
	r.kill(left)
	r.start(left)
	if want := "this member is joining: it waits until a majority"; !within(3*time.Minute, refused(want)) {
		r.Errorf("a deposit on a member that waits for the others never fails with %q", want)
	}
	r.l.resetLongest()
	r.start(first)
	r.waitServing(first)
	r.waitServing(left)
	r.l.use(left, first)
}

// lateProposals pauses the leader with proposals that another member has forwarded to it, kills that member, and
// starts it again, so that it proposes in a new life while those of the old one may still arrive: the leader
// wakes up before there is another one, or after.
func lateProposals(r *faultRun) {
	r.Helper()
	leader := r.leader()
	proposer := (leader + 1 + r.round%2) % 3
	r.signal(leader, syscall.SIGSTOP)
	r.l.use(proposer)                                            // all of them wait for the leader
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // the kill may meet a proposal anywhere on its way
	r.kill(proposer)
	r.start(proposer)
	if r.round%2 == 0 {
		r.waitServing(proposer) // with the third member
	}
	r.signal(leader, syscall.SIGCONT)
}

// TestClusterFaults runs faults of members under load, and checks that nothing that was answered is missing and
// that nothing happened twice.
//
//	go test ./cmd/dx -run ClusterFaults/kills -clusterrounds 100 -v -timeout 60m
func TestClusterFaults(t *testing.T) {
	skipUnlessLong(t)
	for _, test := range []struct {
		name   string
		rounds int
		args   []string
		faults []fault
	}{
		{"kills", *clusterRounds, nil, []fault{
			{kind: "kill -9 of the leader", hits: theLeader, begin: killHit, end: startHit},
			{kind: "kill -9 of another member", hits: anotherMember, begin: killHit, end: startHit},
			{kind: "kill -9 of all", most: max(1, min(5, *clusterRounds/2), *clusterRounds/5), hits: all, begin: killHit, end: startHit},
		}},
		// Its reads surely come before they are refused.
		{"majority", 2 * fewRounds(), []string{"--stale-after", "5s"}, []fault{
			{kind: "one of two dead members back", hits: allButOne, begin: killHit, lasts: minority, end: startHit},
		}},
		// The leader wakes up in a venue that has gone on without it. It answers nothing from before but repeats.
		{"pauses", max(1, fewRounds()/3), nil, []fault{
			{kind: "leader paused for 1 s", hits: theLeader, begin: pauseHit, lasts: forTime(time.Second), end: resumeHit},
			{kind: "leader paused for 5 s", hits: theLeader, begin: pauseHit, lasts: forTime(5 * time.Second), end: resumeHit},
			{kind: "leader paused for 30 s", hits: theLeader, begin: pauseHit, lasts: forTime(30 * time.Second), end: resumeHit},
		}},
		{"late_proposals", max(1, *clusterRounds/2), nil, []fault{
			{kind: "proposals of an earlier life", hits: all, begin: lateProposals},
		}},
		{"handover", *clusterRounds, nil, []fault{
			{kind: "leader moved on request", begin: moveLead},
			{kind: "planned stop of the leader", hits: theLeader, begin: stopHit, end: startHit},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := startCluster(t, slices.Concat(loadRates, test.args)...).underLoad()
			r.run(test.rounds, test.faults...)
			r.finish()
		})
	}
}
