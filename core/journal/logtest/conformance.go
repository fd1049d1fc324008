package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core/journal"
)

// Storage is what an implementation keeps while its logs are closed: a folder, or a cluster.
type Storage struct {
	// Nodes are the nodes whose logs can be open at the same time; at least one.
	Nodes []uint32
	// Open opens the log of a node. start is the position that a snapshot covers.
	Open func(node uint32, start journal.Position) (journal.Log, error)
	// BodyMax is the longest body that the log takes, in bytes.
	BodyMax int
	// Now is read by the log as the time; a case may replace it before it opens the log.
	Now func() int64
}

// Run runs every case over an implementation. within runs one case with a new Storage, perhaps in
// a bubble of testing/synctest.
func Run(t *testing.T, within func(t *testing.T, test func(t *testing.T, s *Storage))) {
	for name, test := range Cases() {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T, s *Storage) {
				v := &venue{T: t, s: s, node: s.Nodes[0]}
				defer v.closeAll()
				test(v)
			})
		})
	}
}

// venue is what a case works with.
type venue struct {
	*testing.T
	s    *Storage
	node uint32 // the node of open
	all  []*log
}

// log is an open log of one node, and the next proposal of its caller.
type log struct {
	v    *venue
	node uint32
	journal.Log
	next  uint64
	first uint64
}

func (v *venue) open() *log { return v.openAs(v.node, journal.Position{}) }

func (v *venue) openAs(node uint32, start journal.Position) *log {
	v.Helper()
	l, err := v.s.Open(node, start)
	if err != nil {
		v.Fatal(err)
	}
	o := &log{v: v, node: node, Log: l}
	v.all = append(v.all, o)
	life, err := l.NewLife(context.Background())
	if err != nil {
		v.Fatal(err)
	}
	o.next = uint64(life)<<32 + 1
	if life == 0 {
		for _, g := range o.read(1, l.Head()) {
			if g.Node == node {
				o.next = max(o.next, g.Proposal+1)
			}
		}
	}
	o.first = o.next
	return o
}

func (v *venue) closeAll() {
	for _, l := range v.all {
		if err := l.Close(); err != nil {
			v.Error(err)
		}
	}
}

// reopen closes the log and opens it again.
func (l *log) reopen() *log {
	l.v.Helper()
	if err := l.Close(); err != nil {
		l.v.Fatal(err)
	}
	return l.v.openAs(l.node, journal.Position{})
}

// propose proposes a group under the next number until it is confirmed, and returns the number.
func (l *log) propose(body []byte) uint64 {
	l.v.Helper()
	p := l.next
	l.next++
	l.proposeAs(p, body)
	return p
}

func (l *log) proposeAs(p uint64, body []byte) {
	l.v.Helper()
	for {
		err := l.Propose(context.Background(), journal.Group{Node: l.node, Proposal: p, Body: body})
		if err == nil {
			return
		}
		if !errors.Is(err, journal.ErrUnconfirmed) {
			l.v.Errorf("proposal %d: %v", p, err)
			return
		}
	}
}

// fill proposes n groups with different bodies.
func (l *log) fill(n int) {
	l.v.Helper()
	for range n {
		l.propose(fmt.Appendf(nil, "node %d, proposal %d", l.node, l.next))
	}
}

// longest bounds the time for which a case waits; no case that passes takes so long.
const longest = 3 * time.Minute

// read returns the groups from one number up to another.
func (l *log) read(from, upto uint64) (list []journal.Group) {
	l.v.Helper()
	if from > upto {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	for g, err := range l.Deliver(ctx, from) {
		if err != nil {
			l.v.Fatalf("group %d: %v", from+uint64(len(list)), err)
		}
		if list = append(list, g); g.Number >= upto {
			return list
		}
	}
	l.v.Fatalf("only %d groups from %d came, not those up to %d", len(list), from, upto)
	return nil
}

// until reads from the start until every proposal of this log's caller is delivered.
func (l *log) until(last uint64) (list []journal.Group) {
	l.v.Helper()
	return l.untilFrom(1, l.node, last)
}

func (l *log) untilFrom(from uint64, node uint32, last uint64) (list []journal.Group) {
	l.v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	for g, err := range l.Deliver(ctx, from) {
		if err != nil {
			l.v.Fatal(err)
		}
		list = append(list, g)
		if g.Node == node && g.Proposal == last {
			return list
		}
	}
	l.v.Fatalf("proposal %d of node %d was not delivered", last, node)
	return nil
}

// background returns what read returns, or nothing if read ends the test.
func background(read func() []journal.Group) <-chan []journal.Group {
	got := make(chan []journal.Group, 1)
	go func() {
		defer close(got)
		got <- read()
	}()
	return got
}

// proven fails unless the groups follow each other after a position.
func (v *venue) proven(after journal.Position, list []journal.Group) {
	v.Helper()
	for _, g := range list {
		want := after.Next(g)
		if g.Number != want.Number || g.Stamp != want.Stamp || g.Chain != want.Chain {
			v.Fatalf("group %d (stamp %d) does not follow group %d (stamp %d)", g.Number, g.Stamp, after.Number, after.Stamp)
		}
		after = g.After()
	}
}

// firsts returns the first delivery of each proposal of a node, and fails if a later one has
// another body.
func (v *venue) firsts(node uint32, list []journal.Group) (out []journal.Group) {
	v.Helper()
	seen := map[uint64][]byte{}
	for _, g := range list {
		if g.Node != node {
			continue
		}
		body, again := seen[g.Proposal]
		if again && !bytes.Equal(body, g.Body) {
			v.Errorf("proposal %d of node %d was delivered with two bodies", g.Proposal, g.Node)
		}
		if !again {
			seen[g.Proposal] = g.Body
			out = append(out, g)
		}
	}
	return out
}

// inOrder fails unless the first deliveries of a node are its proposals from first to last.
func (v *venue) inOrder(node uint32, list []journal.Group, first, last uint64) {
	v.Helper()
	got := v.firsts(node, list)
	got = slices.DeleteFunc(got, func(g journal.Group) bool { return g.Proposal < first })
	for i, g := range got {
		if g.Proposal != first+uint64(i) {
			v.Fatalf("node %d: proposal %d came where %d belongs", node, g.Proposal, first+uint64(i))
		}
	}
	if n := uint64(len(got)); n != last-first+1 {
		v.Errorf("node %d: %d proposals were delivered, want %d", node, n, last-first+1)
	}
}

func (v *venue) same(a, b []journal.Group) {
	v.Helper()
	if n := min(len(a), len(b)); !slices.EqualFunc(a[:n], b[:n], func(a, b journal.Group) bool {
		return a.Number == b.Number && a.Node == b.Node && a.Proposal == b.Proposal && a.Stamp == b.Stamp && a.Chain == b.Chain && bytes.Equal(a.Body, b.Body)
	}) {
		v.Error("two readings differ")
	}
}

// lastError returns the error that ends a Deliver; nil if it ended without one.
func (l *log) lastError(ctx context.Context, from uint64) (n int, err error) {
	for _, err = range l.Deliver(ctx, from) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Cases yields the cases by name.
func Cases() iter.Seq2[string, func(v *venue)] {
	return func(yield func(string, func(v *venue)) bool) {
		for _, part := range []struct {
			name  string
			cases []testCase
		}{
			{"deliver", deliverCases}, {"body", bodyCases()}, {"propose", proposeCases}, {"stamp", stampCases},
			{"open", openCases}, {"life", lifeCases}, {"close", closeCases}, {"trim", trimCases}, {"nodes", nodesCases},
		} {
			for _, c := range part.cases {
				if !yield(part.name+"/"+c.name, c.test) {
					return
				}
			}
		}
	}
}

type testCase struct {
	name string
	test func(v *venue)
}

var deliverCases = []testCase{
	{"an empty log yields nothing", func(v *venue) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if n, err := v.open().lastError(ctx, 0); n != 0 || err != nil {
			v.Errorf("%d groups, %v", n, err)
		}
	}},
	{"one group with what its caller set", func(v *venue) {
		l := v.open()
		p := l.propose([]byte("body"))
		g := l.until(p)[0]
		if g.Number != 1 || g.Node != l.node || g.Proposal != p || string(g.Body) != "body" {
			v.Errorf("%+v", g)
		}
	}},
	{"0 means 1", func(v *venue) {
		l := v.open()
		l.fill(3)
		l.until(l.next - 1)
		v.same(l.read(0, 3), l.read(1, 3))
	}},
	{"from each number", func(v *venue) {
		l := v.open()
		l.fill(12)
		all := l.until(l.next - 1)
		for i := range all {
			v.same(all[i:], l.read(uint64(i+1), uint64(len(all))))
		}
	}},
	{"the next number waits for the next group", func(v *venue) {
		l := v.open()
		l.fill(3)
		upto := uint64(len(l.until(l.next - 1)))
		p := l.next
		got := background(func() []journal.Group { return l.untilFrom(upto+1, l.node, p) })
		l.fill(1)
		if list := <-got; len(list) == 0 || list[0].Number != upto+1 || list[len(list)-1].Proposal != p {
			v.Errorf("%+v", list)
		}
	}},
	{"beyond the next number", func(v *venue) {
		l := v.open()
		l.fill(2)
		if n, err := l.lastError(context.Background(), 1000); n != 0 || !errors.Is(err, journal.ErrTrimmed) {
			v.Errorf("%d groups, %v", n, err)
		}
	}},
	{"a reader from before the first group", func(v *venue) {
		l := v.open()
		last := l.next + 9
		got := background(func() []journal.Group { return l.until(last) })
		l.fill(10)
		list := <-got
		v.proven(journal.Position{}, list)
		v.inOrder(l.node, list, l.first, last)
	}},
	{"a reader stops and another goes on", func(v *venue) {
		l := v.open()
		l.fill(10)
		a := l.read(1, 4)
		v.proven(a[3].After(), l.untilFrom(5, l.node, l.next-1))
	}},
	{"a second reader is busy", func(v *venue) {
		l := v.open()
		l.fill(2)
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		defer cancel()
		n := uint64(0)
		for _, err := range l.Deliver(ctx, 1) {
			if err != nil {
				v.Fatal(err)
			}
			if n++; n == 1 {
				if _, err := l.lastError(ctx, 1); !errors.Is(err, journal.ErrBusy) {
					v.Errorf("a second reader: %v", err)
				}
			}
			if n == 2 {
				return // the first one goes on
			}
		}
		v.Errorf("%d groups", n)
	}},
	{"a context that has ended", func(v *venue) {
		l := v.open()
		l.fill(2)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if n, err := l.lastError(ctx, 1); n != 0 || err != nil {
			v.Errorf("%d groups, %v", n, err)
		}
	}},
	{"a context that ends while it waits", func(v *venue) {
		l := v.open()
		l.fill(1)
		upto := uint64(len(l.until(l.next - 1)))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if _, err := l.lastError(ctx, upto+1); err != nil {
			v.Error(err)
		}
	}},
	{"a context that ends between two groups", func(v *venue) {
		l := v.open()
		l.fill(5)
		l.until(l.next - 1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		for _, err := range l.Deliver(ctx, 1) {
			if n++; err != nil || n > 2 {
				v.Fatalf("group %d after the context ended; %v", n, err)
			}
			if n == 2 {
				cancel()
			}
		}
	}},
	{"a slow reader", func(v *venue) {
		l := v.open()
		for range 1500 { // more than a log keeps in memory
			l.propose([]byte("x"))
		}
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		v.inOrder(l.node, list, l.first, l.next-1)
	}},
	{"one goroutine proposes and reads", func(v *venue) {
		l := v.open()
		for range 40 {
			p := l.propose([]byte("x"))
			l.until(p)
		}
	}},
}

// bodyCases are bodies that come back as they were.
func bodyCases() (list []testCase) {
	add := func(name string, body []byte) {
		list = append(list, testCase{name, func(v *venue) {
			l := v.open()
			was := bytes.Clone(body)
			l.fill(1)
			p := l.propose(body)
			l.fill(1)
			for range 2 { // from memory, then from what is stored
				got := v.firsts(l.node, l.until(l.next-1))
				if i := slices.IndexFunc(got, func(g journal.Group) bool { return g.Proposal == p }); i < 0 || !bytes.Equal(got[i].Body, was) {
					v.Error("the body came back changed")
				}
				if !bytes.Equal(body, was) {
					v.Error("the log changed the body of its caller")
				}
				next := l.next
				l = l.reopen()
				l.next = next
			}
		}})
	}
	for _, n := range []int{0, 1, 2, 7, 8, 31, 32, 63, 64, 71, 72, 73, 127, 128, 511, 512, 513, 4095, 4096, 4097, 65536, 1 << 20} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i*7 + i>>8)
		}
		add(fmt.Sprintf("of %d bytes", n), b)
	}
	add("of zeros", make([]byte, 5000))
	add("of ones", bytes.Repeat([]byte{0xFF}, 5000))
	add("that ends with zeros", append([]byte("x"), make([]byte, 1000)...))
	add("that looks like a record", append([]byte("DXG\x02"), make([]byte, 200)...))
	return append(list, testCase{"too big", func(v *venue) {
		l := v.open()
		l.fill(1)
		err := l.Propose(context.Background(), journal.Group{Node: l.node, Proposal: l.next, Body: make([]byte, v.s.BodyMax+1)})
		if !errors.Is(err, journal.ErrTooBig) {
			v.Errorf("%v", err)
		}
		l.fill(1) // under the same number
		v.inOrder(l.node, l.until(l.next-1), l.first, l.next-1)
	}}, testCase{"as big as possible", func(v *venue) {
		l := v.open()
		p := l.propose(make([]byte, v.s.BodyMax))
		if list := l.until(p); len(list[len(list)-1].Body) != v.s.BodyMax {
			v.Error("the body came back shorter")
		}
	}})
}

var proposeCases = []testCase{
	{"the greatest proposal", func(v *venue) {
		l := v.open()
		l.proposeAs(math.MaxUint64, []byte("x"))
		l.until(math.MaxUint64)
	}},
	{"numbers with gaps", func(v *venue) {
		l := v.open()
		for i := range uint64(5) {
			l.proposeAs(l.first+i*i*1000, []byte("x"))
		}
		l.until(l.first + 16_000)
	}},
	{"the same group again", func(v *venue) {
		l := v.open()
		p := l.propose([]byte("same"))
		for range 5 {
			l.proposeAs(p, []byte("same"))
		}
		l.fill(1)
		v.inOrder(l.node, l.until(l.next-1), l.first, l.next-1)
	}},
	{"the same group again after later ones", func(v *venue) {
		l := v.open()
		p := l.propose([]byte("same"))
		l.fill(10)
		l.proposeAs(p, []byte("same"))
		l.fill(1)
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		v.inOrder(l.node, list, l.first, l.next-1)
	}},
	{"errors of a running log are ErrUnconfirmed", func(v *venue) {
		l := v.open()
		for range 200 {
			if err := l.Propose(context.Background(), journal.Group{Node: l.node, Proposal: l.next, Body: []byte("x")}); err == nil {
				l.next++
			} else if !errors.Is(err, journal.ErrUnconfirmed) {
				v.Fatal(err)
			}
		}
	}},
	{"nil means delivered", func(v *venue) {
		l := v.open()
		var confirmed []uint64
		for range 100 {
			if l.Propose(context.Background(), journal.Group{Node: l.node, Proposal: l.next, Body: []byte("x")}) == nil {
				confirmed = append(confirmed, l.next)
				l.next++
			}
		}
		for _, p := range confirmed {
			l.until(p)
		}
	}},
	{"a context that has ended", func(v *venue) {
		l := v.open()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := l.Propose(ctx, journal.Group{Node: l.node, Proposal: l.next, Body: []byte("x")}); err != nil && !errors.Is(err, journal.ErrUnconfirmed) {
			v.Error(err)
		}
		l.propose([]byte("x")) // the same
		l.fill(3)
		v.inOrder(l.node, l.until(l.next-1), l.first, l.next-1)
	}},
	{"a context that ends meanwhile", func(v *venue) {
		l := v.open()
		for range 20 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			if err := l.Propose(ctx, journal.Group{Node: l.node, Proposal: l.next, Body: []byte("x")}); err != nil && !errors.Is(err, journal.ErrUnconfirmed) {
				v.Error(err)
			}
			cancel()
			l.propose([]byte("x")) // the same
		}
		v.inOrder(l.node, l.until(l.next-1), l.first, l.next-1)
	}},
	{"several goroutines", func(v *venue) {
		l := v.open()
		var all sync.WaitGroup
		for w := range uint64(8) {
			all.Go(func() {
				for i := range uint64(20) {
					l.proposeAs(l.first+w*20+i, []byte("x"))
				}
			})
		}
		all.Wait()
		l.next = l.first + 160
		l.fill(1)
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		if got := v.firsts(l.node, list); len(got) != 161 {
			v.Errorf("%d proposals were delivered, want 161", len(got))
		}
	}},
}

var stampCases = []testCase{
	{"from the clock of the proposer", func(v *venue) {
		v.s.Now = func() int64 { return 1_000_000 }
		l := v.open()
		l.fill(3)
		for _, g := range l.until(l.next - 1) {
			if g.Stamp != 1_000_000 {
				v.Errorf("stamp %d", g.Stamp)
			}
		}
	}},
	{"never falls", func(v *venue) {
		var now atomic.Int64
		now.Store(1_000_000)
		v.s.Now = func() int64 { return now.Add(-1000) }
		l := v.open()
		l.fill(30)
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		if list[0].Stamp < 0 || list[len(list)-1].Stamp != list[0].Stamp {
			v.Errorf("stamps %d to %d", list[0].Stamp, list[len(list)-1].Stamp)
		}
	}},
	{"never falls over a restart", func(v *venue) {
		var now atomic.Int64
		now.Store(1_000_000)
		v.s.Now = now.Load
		l := v.open()
		l.fill(2)
		l.until(l.next - 1)
		now.Store(5)
		l = l.reopen()
		l.fill(2)
		list := l.until(l.next - 1)
		if last := list[len(list)-1]; last.Stamp != 1_000_000 {
			v.Errorf("stamp %d", last.Stamp)
		}
	}},
	{"rises with the clock", func(v *venue) {
		var now atomic.Int64
		v.s.Now = func() int64 { return now.Add(1) }
		l := v.open()
		l.fill(10)
		list := v.firsts(l.node, l.until(l.next-1))
		if list[0].Stamp == list[9].Stamp {
			v.Error("all stamps are equal")
		}
	}},
	{"before 1970", func(v *venue) {
		v.s.Now = func() int64 { return -7 }
		l := v.open()
		l.fill(2)
		v.proven(journal.Position{}, l.until(l.next-1))
	}},
}

var openCases = []testCase{
	{"an empty log", func(v *venue) {
		if n := v.open().Head(); n != 0 {
			v.Errorf("head %d", n)
		}
	}},
	{"an empty log twice", func(v *venue) {
		if n := v.open().reopen().Head(); n != 0 {
			v.Errorf("head %d", n)
		}
	}},
	{"the groups stay", func(v *venue) {
		l := v.open()
		l.fill(25)
		before := l.until(l.next - 1)
		after := l.reopen().read(1, uint64(len(before)))
		v.same(before, after)
	}},
	{"the head covers what was confirmed", func(v *venue) {
		l := v.open()
		l.fill(10)
		n := uint64(len(l.until(l.next - 1)))
		if head := l.reopen().Head(); head < n {
			v.Errorf("head %d, %d groups were delivered", head, n)
		}
	}},
	{"the log goes on", func(v *venue) {
		l := v.open()
		l.fill(5)
		l = l.reopen()
		l.fill(5)
		v.proven(journal.Position{}, l.until(l.next-1))
	}},
	{"ten times", func(v *venue) {
		l := v.open()
		for range 10 {
			l.fill(1)
			l = l.reopen()
		}
		l.fill(1)
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		if n := len(v.firsts(l.node, list)); n != 11 {
			v.Errorf("%d proposals, want 11", n)
		}
	}},
	{"from the middle", func(v *venue) {
		l := v.open()
		l.fill(20)
		before := l.until(l.next - 1)
		v.same(before[10:], l.reopen().read(11, uint64(len(before))))
	}},
	{"from the position of a snapshot", func(v *venue) {
		l := v.open()
		l.fill(20)
		before := l.until(l.next - 1)
		if err := l.Close(); err != nil {
			v.Fatal(err)
		}
		l = v.openAs(l.node, before[9].After())
		v.same(before[10:], l.read(11, uint64(len(before))))
	}},
	{"after the end of a snapshot", func(v *venue) {
		l := v.open()
		l.fill(5)
		before := l.until(l.next - 1)
		if err := l.Close(); err != nil {
			v.Fatal(err)
		}
		at := before[len(before)-1].After()
		l = v.openAs(l.node, at)
		l.fill(1)
		v.proven(at, l.untilFrom(at.Number+1, l.node, l.next-1))
	}},
	{"groups that were not confirmed", func(v *venue) {
		l := v.open()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l.Propose(ctx, journal.Group{Node: l.node, Proposal: l.next, Body: []byte("perhaps")})
		l.next++
		l = l.reopen()
		l.fill(3)
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		for _, g := range v.firsts(l.node, list) {
			if g.Proposal < l.first && string(g.Body) != "perhaps" {
				v.Errorf("%+v", g)
			}
		}
	}},
}

// lives returns the lives of a node, over several openings and two in each.
func (v *venue) lives() (list []uint32) {
	for range 3 {
		l, err := v.s.Open(v.node, journal.Position{})
		if err != nil {
			v.Fatal(err)
		}
		for range 2 {
			n, err := l.NewLife(context.Background())
			if err != nil {
				v.Fatal(err)
			}
			list = append(list, n)
		}
		if err := l.Close(); err != nil {
			v.Fatal(err)
		}
	}
	return list
}

var lifeCases = []testCase{
	{"each is greater, or all are 0", func(v *venue) {
		lives := v.lives()
		for i := range lives[1:] {
			if lives[i+1] <= lives[i] && (lives[i] != 0 || lives[i+1] != 0) {
				v.Errorf("lives %d", lives)
			}
		}
	}},
	{"0 means that nothing comes late", func(v *venue) {
		if v.lives()[0] != 0 {
			return
		}
		l := v.open()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l.Propose(ctx, journal.Group{Node: l.node, Proposal: l.next, Body: []byte("x")})
		l.fill(3)
		l = l.reopen()
		head := l.Head()
		ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if n, err := l.lastError(ctx, head+1); n != 0 || err != nil {
			v.Errorf("%d groups after the head, %v", n, err)
		}
	}},
	{"a proposal keeps the number of its life", func(v *venue) {
		l := v.open()
		l.fill(3)
		l = l.reopen()
		first := l.first
		l.fill(3)
		v.inOrder(l.node, l.until(l.next-1), first, l.next-1)
	}},
	{"a repeat of an earlier life keeps its number", func(v *venue) {
		l := v.open()
		p := l.propose([]byte("old"))
		l = l.reopen()
		l.fill(1)
		l.proposeAs(p, []byte("old"))
		l.fill(1)
		list := l.until(l.next - 1)
		v.proven(journal.Position{}, list)
		v.inOrder(l.node, list, l.first, l.next-1)
	}},
}

var closeCases = []testCase{
	{"twice", func(v *venue) {
		l := v.open()
		l.Close()
		if err := l.Close(); err != nil {
			v.Error(err)
		}
	}},
	{"then propose", func(v *venue) {
		l := v.open()
		l.fill(1)
		l.Close()
		err := l.Propose(context.Background(), journal.Group{Node: l.node, Proposal: l.next, Body: []byte("x")})
		if !errors.Is(err, journal.ErrClosed) || errors.Is(err, journal.ErrUnconfirmed) {
			v.Errorf("%v", err)
		}
	}},
	{"then deliver", func(v *venue) {
		l := v.open()
		l.fill(2)
		n := uint64(len(l.until(l.next - 1)))
		l.Close()
		if _, err := l.lastError(context.Background(), n+1); !errors.Is(err, journal.ErrClosed) {
			v.Errorf("%v", err)
		}
	}},
	{"while a reader waits", func(v *venue) {
		l := v.open()
		l.fill(1)
		ended := make(chan error)
		started := make(chan struct{})
		go func() {
			first := true
			for _, err := range l.Deliver(context.Background(), 1) {
				if err != nil {
					ended <- err
					return
				}
				if first {
					first = false
					close(started)
				}
			}
			ended <- nil
		}()
		<-started
		l.Close()
		if err := <-ended; !errors.Is(err, journal.ErrClosed) {
			v.Errorf("%v", err)
		}
	}},
	{"while others propose", func(v *venue) {
		l := v.open()
		var all sync.WaitGroup
		var began sync.Once
		begun := make(chan struct{})
		confirmed := make([]bool, 4*1000)
		for w := range 4 {
			all.Go(func() {
				for i := range 1000 {
					p := w*1000 + i
					err := l.Propose(context.Background(), journal.Group{Node: l.node, Proposal: l.first + uint64(p), Body: []byte("x")})
					began.Do(func() { close(begun) })
					switch {
					case err == nil:
						confirmed[p] = true
					case errors.Is(err, journal.ErrClosed):
						return
					case !errors.Is(err, journal.ErrUnconfirmed):
						v.Error(err)
					}
				}
			})
		}
		<-begun
		l.Close()
		all.Wait()
		first := l.first
		l = v.open()
		got := map[uint64]bool{}
		for _, g := range l.read(1, l.Head()) {
			got[g.Proposal] = true
		}
		for p, is := range confirmed {
			if is && !got[first+uint64(p)] {
				v.Errorf("proposal %d was confirmed and is missing", p)
			}
		}
	}},
}

// trimmed returns a log without its first 40 groups, and its groups before it was trimmed.
func (v *venue) trimmed() (l *log, before []journal.Group) {
	l = v.open()
	big := make([]byte, 3000)
	for range 60 {
		l.propose(big)
	}
	before = l.until(l.next - 1)
	if err := l.Trim(41); err != nil {
		v.Error(err)
	}
	return l, before
}

var trimCases = []testCase{
	{"nothing", func(v *venue) {
		l := v.open()
		l.fill(5)
		before := l.until(l.next - 1)
		for _, below := range []uint64{0, 1} {
			if err := l.Trim(below); err != nil {
				v.Error(err)
			}
		}
		v.same(before, l.read(1, uint64(len(before))))
	}},
	{"an empty log", func(v *venue) {
		l := v.open()
		if err := l.Trim(1); err != nil {
			v.Error(err)
		}
		l.fill(1)
	}},
	{"the groups from there on stay", func(v *venue) {
		l, before := v.trimmed()
		v.same(before[40:], l.read(41, uint64(len(before))))
	}},
	{"a trimmed group is refused or right", func(v *venue) {
		l, before := v.trimmed()
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		defer cancel()
		for g, err := range l.Deliver(ctx, 1) {
			if err == nil {
				v.same(before, []journal.Group{g})
			} else if !errors.Is(err, journal.ErrTrimmed) {
				v.Error(err)
			}
			break
		}
	}},
	{"all", func(v *venue) {
		l := v.open()
		l.fill(10)
		before := l.until(l.next - 1)
		if err := l.Trim(uint64(len(before)) + 1); err != nil {
			v.Error(err)
		}
		l.fill(1)
		v.proven(before[len(before)-1].After(), l.untilFrom(uint64(len(before))+1, l.node, l.next-1))
	}},
	{"then open", func(v *venue) {
		l, before := v.trimmed()
		next := l.next
		if err := l.Close(); err != nil {
			v.Fatal(err)
		}
		o, err := v.s.Open(l.node, before[39].After())
		if err != nil {
			v.Fatal(err)
		}
		l = &log{v: v, node: l.node, Log: o, next: next + 1<<40}
		v.all = append(v.all, l)
		l.fill(1)
		list := l.untilFrom(41, l.node, l.next-1)
		v.same(before[40:], list)
		v.proven(before[39].After(), list)
	}},
	{"the head stays", func(v *venue) {
		l := v.open()
		l.fill(10)
		head := l.Head()
		if err := l.Trim(5); err != nil {
			v.Error(err)
		}
		if got := l.Head(); got < head {
			v.Errorf("head %d, was %d", got, head)
		}
	}},
}

// nodesCases need several nodes; with one they pass without a check.
var nodesCases = []testCase{
	{"all read the same", func(v *venue) {
		logs := v.openNodes()
		var all sync.WaitGroup
		for _, l := range logs {
			all.Go(func() { l.fill(40) })
		}
		all.Wait()
		logs[0].fill(1)
		want := logs[0].until(logs[0].next - 1)
		v.proven(journal.Position{}, want)
		for _, l := range logs {
			v.same(want, l.read(1, uint64(len(want))))
		}
	}},
	{"each keeps its order", func(v *venue) {
		logs := v.openNodes()
		var all sync.WaitGroup
		for _, l := range logs {
			all.Go(func() { l.fill(40) })
		}
		all.Wait()
		for _, reader := range logs {
			for _, l := range logs {
				v.inOrder(l.node, reader.untilFrom(1, l.node, l.next-1), l.first, l.next-1)
			}
		}
	}},
	{"a confirmed group is before the head of a later opening", func(v *venue) {
		logs := v.openNodes()
		for _, l := range logs {
			l.fill(3)
		}
		for _, l := range logs[1:] {
			again := l.reopen()
			list := again.read(1, again.Head())
			for _, o := range logs {
				v.inOrder(o.node, list, o.first, o.next-1)
			}
		}
	}},
	{"one closes", func(v *venue) {
		logs := v.openNodes()
		last := logs[len(logs)-1]
		for _, l := range logs[:len(logs)-1] {
			l.Close()
		}
		last.fill(5)
		v.inOrder(last.node, last.until(last.next-1), last.first, last.next-1)
	}},
	{"the same number of two nodes", func(v *venue) {
		logs := v.openNodes()
		for _, l := range logs {
			l.proposeAs(1<<50, []byte{byte(l.node)})
		}
		for _, reader := range logs {
			for _, l := range logs {
				list := v.firsts(l.node, reader.untilFrom(1, l.node, 1<<50))
				if g := list[len(list)-1]; g.Body[0] != byte(l.node) {
					v.Errorf("node %d: %+v", l.node, g)
				}
			}
		}
	}},
}

func (v *venue) openNodes() (list []*log) {
	for _, n := range v.s.Nodes {
		list = append(list, v.openAs(n, journal.Position{}))
	}
	return list
}
