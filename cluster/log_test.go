package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/logbuffer"
)

// TestDeliveredProposalIsNotPutAgain checks that a proposal whose confirmation was lost, and which was
// delivered before it is proposed again, is in the log once: put again it would have another stamp.
func TestDeliveredProposalIsNotPutAgain(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 1)
	l := r.open(0)
	defer l.Close()
	first := journal.Group{Node: 1, Proposal: 1 << 32, Body: []byte("once")}
	p, record := l.expect(&first) // as Propose does that ends without a reply
	if _, err := r.clusters[0].client.Put(t.Context(), logKey, record); err != nil {
		t.Fatal(err)
	}
	<-p.delivered
	propose(t, l, first)
	fill(t, l, 1, 1<<32+1, 3)
	next := first.Proposal
	for g, err := range l.Deliver(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if g.Proposal > next || g.Proposal == first.Proposal && g.Number > 1 { // a later one that waited long is put twice
			t.Fatalf("group %d is proposal %d, want %d", g.Number, g.Proposal, next)
		}
		if next = max(next, g.Proposal+1); next > first.Proposal+3 {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.proposals) > 1 {
		t.Errorf("%d proposals are kept", len(l.proposals))
	}
}

// TestUnsynced checks that what arrives during a sync stays counted, with a time.
func TestUnsynced(t *testing.T) {
	t.Parallel()
	u, began := &unsynced{}, time.Now()
	u.add(10)
	bytes, since := u.now()
	u.add(5)
	u.synced(bytes, began)
	if left, at := u.now(); bytes != 10 || left != 5 || !at.Equal(began) || since.Before(began) {
		t.Errorf("%d bytes since %v, then %d since %v", bytes, since, left, at)
	}
	u.synced(5, time.Now())
	if left, at := u.now(); left != 0 || !at.IsZero() {
		t.Errorf("%d bytes since %v", left, at)
	}
	u.synced(0, time.Now())
	if _, at := u.now(); !at.IsZero() {
		t.Error("a sync of nothing leaves a time")
	}
}

// TestDeliveredRecordIsChecked checks that a value of etcd with a flipped bit, of another cluster, cut, or
// after a gap is an error, and that one before the position is left out.
func TestDeliveredRecordIsChecked(t *testing.T) {
	t.Parallel()
	c, last := &Cluster{id: ID{1}, base: 100}, journal.Position{Number: 106}
	record := encodeRecord(c.id, &journal.Group{Node: 2, Proposal: 1<<32 | 1, Stamp: 5, Body: []byte("body")})
	at := func(version int64, record []byte) (*journal.Group, error) {
		return c.groupOf(&mvccpb.KeyValue{Version: version, Value: record}, last)
	}
	if g, err := at(7, record); err != nil || g.Number != 107 || g.Node != 2 || g.Proposal != 1<<32|1 || string(g.Body) != "body" {
		t.Errorf("%+v %v", g, err)
	}
	if g, err := at(6, record); g != nil || err != nil {
		t.Errorf("one before the position: %+v %v", g, err)
	}
	if _, err := at(8, record); err == nil {
		t.Error("a gap is accepted")
	}
	if _, err := at(7, encodeRecord(ID{2}, &journal.Group{})); !errors.Is(err, errForeign) {
		t.Errorf("a record of another cluster: %v", err)
	}
	for n := range record {
		if _, err := at(7, record[:n]); err == nil {
			t.Errorf("%d bytes are accepted", n)
		}
		for bit := range 8 {
			flipped := slices.Clone(record)
			flipped[n] ^= 1 << bit
			if _, err := at(7, flipped); err == nil {
				t.Errorf("byte %d, bit %d: accepted", n, bit)
			}
		}
	}
}

// TestPumpFailures checks that an error is logged once while it repeats, and that the pauses grow.
func TestPumpFailures(t *testing.T) {
	t.Parallel()
	out := &logbuffer.Buffer{}
	f := pumpFailures{log: slog.New(slog.NewTextHandler(out, nil))}
	longest := time.Duration(0)
	for range 20 {
		longest = max(longest, f.pause(errors.New("first"), false))
	}
	if longest < retryAtMost/2 || longest > retryAtMost {
		t.Errorf("the longest pause is %v", longest)
	}
	if pause := f.pause(errors.New("second"), true); pause > retryAfter {
		t.Errorf("after a group the pause is %v", pause)
	}
	f.pause(errors.New("first"), false)
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

// silent starts a server that answers a request with the given bytes, or not at all, and then is silent
// like a process that was stopped.
func silent(t *testing.T, sent string) (address string) {
	t.Helper()
	address = newHost() + ":7001"
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if sent != "" {
			w.Write([]byte(sent))
			w.(http.Flusher).Flush()
		}
		<-end
	})}
	go server.Serve(l)
	t.Cleanup(func() {
		close(end)
		server.Close()
	})
	return address
}

// catchingUp is a member that reads the archives of others at these addresses; its own continues base.
func catchingUp(t *testing.T, base journal.Position, addresses ...string) (*Cluster, *Log) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	archive, err := journal.Open(t.TempDir(), journal.Options{Archive: true, Start: base, Base: base})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { archive.Close() })
	c := &Cluster{node: 1, opt: Options{Log: log}}
	c.toPeers = c.opt.peerClient(roleMember)
	c.toPeers.timeout = time.Minute // nobody is silent, however slow the machine is
	cfg := &config{Members: []member{{Node: 1, Name: "a", Follow: "unused"}}}
	for i, a := range addresses {
		cfg.Members = append(cfg.Members, member{Node: uint32(i + 2), Name: fmt.Sprint("other", i), Follow: a})
	}
	c.config.Store(cfg)
	return c, &Log{c: c, archive: archive, proposals: map[uint64]*proposal{}}
}

// TestCatchUpLeavesASilentMember checks that a member that is silent, before its reply or in the middle
// of a group, does not keep another one from catching up from the next.
func TestCatchUpLeavesASilentMember(t *testing.T) {
	t.Parallel()
	s := newSource(t, journal.Position{})
	s.write(100, "x")
	c, l := catchingUp(t, journal.Position{}, silent(t, ""), silent(t, "G"), s.address)
	c.toPeers.timeout = 100 * time.Millisecond
	await(t, "it has what the one has that is not silent", func() bool {
		return c.catchUp(t.Context(), l) == nil && l.archive.Last() == s.archive.Last()
	})
	if bytes, _ := l.unsynced.now(); bytes == 0 {
		t.Error("what was caught up does not count as unsynced")
	}
	if _, err := c.toPeers.fetchSnapshot(t.Context(), silent(t, "half of a snapshot"), t.TempDir(), true); err == nil {
		t.Error("a snapshot of a silent member ends")
	}
}

// TestNewMembersDoNotWaitForOneAnother checks that a member takes from another one what that one has, and
// not what it only knows of: two members whose data is new would wait for one another.
func TestNewMembersDoNotWaitForOneAnother(t *testing.T) {
	t.Parallel()
	s, empty, half := newSource(t, journal.Position{}), newSource(t, journal.Position{}), newSource(t, journal.Position{})
	s.write(100, "x")
	half.write(50, "x")
	half.knows.Store(100)
	empty.knows.Store(100)
	c, l := catchingUp(t, journal.Position{}, empty.address, half.address, s.address)
	c.toPeers.timeout = time.Minute // longer than between two beats, so that waiting never ends
	for _, want := range []uint64{50, 100} {
		if err := c.catchUp(t.Context(), l); err != nil || l.archive.Head() != want {
			t.Fatalf("%v; it has group %d, want %d", err, l.archive.Head(), want)
		}
	}
	if err := c.catchUp(t.Context(), l); err == nil {
		t.Error("it catches up although no other member has more")
	}

	// A snapshot is looked for in the same way: that a new member has none says nothing. Neither does one
	// that is silent hold it up.
	start := s.archive.Last()
	writeSnapshot(t, s.snapshotDir(), 1000, start)
	paused, err := net.Listen("tcp", newHost()+":7001") // as a process that was stopped: it takes the connection and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer paused.Close()
	c, _ = catchingUp(t, journal.Position{}, paused.Addr().String(), empty.address, s.address)
	c.toPeers.timeout = 100 * time.Millisecond
	c.archive, c.ctx = t.TempDir(), t.Context()
	await(t, "it has the snapshot", func() bool { return c.fetchSnapshot(t.Context()) == nil })
	path, err := journal.LatestSnapshot(c.snapshotDir())
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := journal.SnapshotNumber(path); n != start.Number {
		t.Errorf("its snapshot is of group %d", n)
	}
}

// TestCatchUpThatCannotSucceed checks that a member stops as damaged when every other one has answered
// that its archive does not continue what this one has, or there is no other, and tries again when one has
// not answered so.
func TestCatchUpThatCannotSucceed(t *testing.T) {
	t.Parallel()
	old := newSource(t, journal.Position{})
	old.write(3, "x")
	base := old.archive.Last()
	other := newSource(t, journal.Position{})
	other.write(10, "another history")
	later := newSource(t, journal.Position{Number: 7})
	later.write(1, "y")
	down := newHost() + ":7001"
	for name, test := range map[string]struct {
		addresses []string
		damaged   bool
	}{
		"another history":              {[]string{other.address, other.address}, true},
		"the groups are gone":          {[]string{later.address, later.address}, true},
		"one of each":                  {[]string{other.address, later.address}, true},
		"another history, one is down": {[]string{other.address, down}, false},
		"gone, one has no follow port": {[]string{later.address, ""}, false},
		"gone, and one ends before":    {[]string{later.address, newSource(t, journal.Position{}).address}, false},
		"there is no other member":     {nil, true},
	} {
		c, l := catchingUp(t, base, test.addresses...)
		err := c.catchUp(t.Context(), l)
		if damage := (*journal.Damage)(nil); err == nil || errors.As(err, &damage) != test.damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMoveLeaderRefused checks that the lead cannot be moved to a name that is none, or is not up. While a running
// voter lags, it cannot be moved by name and no member is added; a leader that stops gives the lead away all the same.
func TestMoveLeaderRefused(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	leader := r.leaderOf() // at first: the members of a busy machine may elect another one at any time
	down, other := (leader+1)%3, (leader+2)%3
	r.stop(down)
	c := r.clusters[leader]
	c.peers.mu.Lock()
	delete(c.peers.heard, uint32(down+1)) // it counts as up for a while
	c.peers.mu.Unlock()
	for _, name := range []string{"nobody", r.options[down].Name} {
		if err := c.MoveLeader(t.Context(), name); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("to %s: %v", name, err)
		}
	}
	l := r.open(leader)
	defer l.Close()
	fill(t, l, c.node, 1<<32, lagMax+1)
	await(t, "every group is here", func() bool { return l.archive.Head() > lagMax })
	for what, change := range map[string]func() error{
		"the lead goes to one that lags":    func() error { return c.MoveLeader(t.Context(), r.options[other].Name) },
		"one is added beside one that lags": func() error { return c.add(t.Context(), Address{Name: "d", Peer: newHost() + ":7000"}) },
	} {
		await(t, "it is refused that "+what, func() bool { // for another reason while it is not heard
			err := change()
			if err == nil {
				t.Fatal(what)
			}
			return errors.Is(err, engine.ErrRefused) && strings.Contains(err.Error(), "groups behind")
		})
	}
	await(t, "the lead moves", func() bool { return c.MoveLeader(t.Context(), "") == nil })
}

// TestUpCountsVoters checks that a member without a vote does not stand in for a voter that is down.
func TestUpCountsVoters(t *testing.T) {
	t.Parallel()
	cfg := &config{}
	var list []*membership.Member
	for i, name := range []string{"c", "b", "a", "d"} {
		cfg.Members = append(cfg.Members, member{Node: uint32(i + 1), Name: name})
		list = append(list, &membership.Member{ID: types.ID(100 + i), RaftAttributes: membership.RaftAttributes{IsLearner: name == "d"}, Attributes: membership.Attributes{Name: name}})
	}
	v := viewOf(cfg, list, 102, func(node uint32) bool { return node != 1 })
	if fmt.Sprint(v.voters, v.up, v.learners, v.leader) != "[3 2 1] [2 3] 1 3" {
		t.Errorf("%+v", v)
	}
}

// TestMayChange checks that the members do not change while a running voter lags or if fewer than a
// majority would be up afterwards, and that one change ends before the next.
func TestMayChange(t *testing.T) {
	t.Parallel()
	const head = 5000
	c, l := catchingUp(t, journal.Position{Number: head})
	c.log.Store(l)
	for name, test := range map[string]struct {
		voters, up []uint32
		behind     uint64 // of voter 2
		learners   int
		change     change
		missed     bool   // voter 2 has not answered the last poll
		want       string // in the refusal; "": none
	}{
		"all up":                        {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, 0, 0, change{}, false, ""},
		"a voter is down":               {[]uint32{1, 2, 3}, []uint32{1, 2}, 0, 0, change{}, false, ""},
		"two of three are down":         {[]uint32{1, 2, 3}, []uint32{1}, 0, 0, change{}, false, "only 1 of 3 voters would be up"},
		"one of two would be left":      {[]uint32{1, 2, 3}, []uint32{1, 2}, 0, 0, change{leaves: 2}, false, "only 1 of 2 voters would be up"},
		"the one that is down leaves":   {[]uint32{1, 2, 3}, []uint32{1, 2}, 0, 0, change{leaves: 3}, false, ""},
		"a running voter lags":          {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, lagMax + 1, 0, change{}, false, "b is 1001 groups behind"},
		"the one that leaves lags":      {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, lagMax + 1, 0, change{leaves: 2}, false, ""},
		"it lags by what is allowed":    {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, lagMax, 0, change{}, false, ""},
		"the one that lags is down":     {[]uint32{1, 2, 3}, []uint32{1, 3}, lagMax + 1, 0, change{}, false, ""},
		"a second addition":             {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, 0, 1, change{}, false, "one change at a time"},
		"the removal of what was added": {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, 0, 1, change{leaves: 4}, false, ""},
		"a voter has just died":         {[]uint32{1, 2, 3}, []uint32{1, 2, 3}, 0, 0, change{leaves: 3}, true, "only 1 of 2 voters would be up"},
		"a vote beside a dead voter":    {[]uint32{1, 2, 3}, []uint32{1, 3}, 0, 1, change{votes: 4}, false, ""},
		"a vote that two lack":          {[]uint32{1, 2, 3}, []uint32{1}, 0, 1, change{votes: 4}, false, "only 2 of 4 voters would be up"},
	} {
		c.view.Store(&membersView{voters: test.voters, up: test.up, learners: test.learners, leader: 1})
		c.peers.hear(heard{Status: Status{Node: 2, Name: "b", Number: head - test.behind}, at: time.Now(), missed: test.missed})
		err := c.mayChange(test.change)
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
