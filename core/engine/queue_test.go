package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"duplex/core"
	"duplex/core/journal"
)

// requests returns n requests whose encodings have the given length in bytes.
func requests(n, bytes int) []*request {
	list := make([]*request, n)
	for i := range list {
		list[i] = &request{cmd: &core.Clock{}, wire: make([]byte, bytes)}
	}
	return list
}

// TestGroupLimits checks that no group passes the limits of commands and bytes, system commands
// included, that no request is lost, and that the first to come are sealed first.
func TestGroupLimits(t *testing.T) {
	for name, test := range map[string]struct {
		class     core.Class
		calls     int
		n, bytes  int
		err       error
		groups    []int // their requests, without those of the engine
		withClock bool
	}{
		"by commands":                  {core.ClassSystem, 5000, 1, 10, nil, []int{4096, 904}, false},
		"whole calls":                  {core.ClassSystem, 3, 2000, 10, nil, []int{4000, 2000}, false},
		"a full group and a Clock":     {core.ClassSystem, 4096, 1, 10, nil, []int{0, 4096}, true},
		"room for the Clock":           {core.ClassSystem, 4095, 1, 10, nil, []int{4095}, true},
		"by bytes":                     {core.ClassSystem, 20, 1, 128 << 10, nil, []int{8, 8, 4}, false},
		"bytes to the last":            {core.ClassSystem, 8, 1, 128 << 10, nil, []int{0, 8}, true},
		"placements of one family":     {core.ClassPlacement, 1025, 1, 10, ErrShed, []int{1024}, false},
		"long placements of a family":  {core.ClassPlacement, 1025, 1, 2 << 10, ErrShed, []int{512, 512}, false},
		"more than a group has":        {core.ClassSystem, 1, 4097, 10, ErrTooLarge, nil, false},
		"longer than a group together": {core.ClassSystem, 1, 9, 128 << 10, ErrTooLarge, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var q queue
			q.init(4096)
			var err error
			var want []*request
			for range test.calls {
				rs := requests(test.n, test.bytes)
				if _, e := q.add(rs, test.class, 1); e != nil {
					err = e
					continue
				}
				want = append(want, rs...)
			}
			if !errors.Is(err, test.err) {
				t.Errorf("%v, want %v", err, test.err)
			}
			if n := q.depth(); n != len(want) {
				t.Errorf("depth %d, want %d", n, len(want))
			}
			var first []core.Command
			if test.withClock {
				first = []core.Command{&core.Clock{}}
			}
			for i := 0; ; i++ {
				g := q.seal(first)
				if g == nil {
					if i != len(test.groups) {
						t.Errorf("%d groups, want %d", i, len(test.groups))
					}
					break
				}
				list := g.order[len(first):]
				first = nil
				if i >= len(test.groups) || len(list) != test.groups[i] {
					t.Fatalf("group %d has %d requests", i, len(list))
				}
				for k, r := range list {
					if r != want[k] {
						t.Fatalf("group %d: request %d is another one", i, k)
					}
				}
				want = want[len(list):]
			}
			if len(want) > 0 || q.depth() != 0 {
				t.Errorf("%d requests are left, depth %d", len(want), q.depth())
			}
			if test.class == core.ClassPlacement { // the bounds count nothing that was sealed
				if _, err := q.add(requests(1024, 10), test.class, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestCommitDelayEndsWithTheGroup checks that a group that is full ends the wait for callers, once.
func TestCommitDelayEndsWithTheGroup(t *testing.T) {
	var q queue
	q.init(4096)
	add := func(n int) {
		if _, err := q.add(requests(n, 10), core.ClassSystem, 0); err != nil {
			t.Fatal(err)
		}
	}
	add(4000)
	if !q.expectCallers(3) {
		t.Fatal("no delay")
	}
	for range 5 {
		add(4000)
	}
	select {
	case <-q.callersArrived:
	default:
		t.Error("the sequencer still waits")
	}
	if q.expectCallers(3) {
		t.Error("a delay with a full group")
	}
}

// bodyLog records the greatest body and the number of commands of a group.
type bodyLog struct {
	Log
	bytes, commands int
}

func (l *bodyLog) Propose(ctx context.Context, g journal.Group) error {
	n := 0
	for range journal.Commands(g.Body) {
		n++
	}
	l.bytes, l.commands = max(l.bytes, len(g.Body)), max(l.commands, n)
	return l.Log.Propose(ctx, g)
}

// TestLongCommands checks that an engine refuses a command that is too long before the log has
// it, and executes any number of the longest that fit.
func TestLongCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &bodyLog{}
		o := newClock().options(t.TempDir())
		o.OpenLog = func(j journal.Options) (Log, error) {
			f, err := journal.Open(o.Dir, j)
			l.Log = f
			return l, err
		}
		e := mustOpen(t, o)
		defer mustClose(t, e)
		long := func(n int) core.Command { return &core.CreateUser{Name: strings.Repeat("x", n)} }
		if _, err := e.Submit(t.Context(), long(128<<10)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v, want %v", err, ErrTooLarge)
		}
		if seq := e.Seq(); seq != 0 || l.commands != 0 {
			t.Errorf("seq %d, %d commands in the log", seq, l.commands)
		}
		var callers sync.WaitGroup
		for range 40 {
			callers.Go(func() { do(t, e, long(127<<10)) })
		}
		callers.Wait()
		if l.bytes > groupBytes || l.bytes < groupBytes/2 {
			t.Errorf("the longest group has %d bytes", l.bytes)
		}
	})
}
