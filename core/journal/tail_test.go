package journal

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// tailTo returns the groups after a position, up to the number to.
func tailTo(f *File, after Position, to uint64) (got []Group, err error) {
	for g, err := range f.Tail(context.Background(), after) {
		if err != nil {
			return got, err
		}
		if got = append(got, g); g.Number == to {
			break
		}
	}
	return got, nil
}

// TestTails checks that any number of tails, which begin anywhere, yield the groups that Deliver
// yields.
func TestTails(t *testing.T) {
	const n = 2*queueGroups + 10
	dir, old := closedLog(t, 60)
	f := mustOpen(t, dir)
	defer mustClose(t, f)
	var wg sync.WaitGroup
	read := make([][]Group, 8)
	for i := range read {
		wg.Go(func() {
			after := Position{}
			if i > 0 {
				after = old[i*7].After()
			}
			var err error
			if read[i], err = tailTo(f, after, n); err != nil {
				t.Error(err)
			}
		})
	}
	propose(t, f, 61, n)
	want := mustDrain(t, f, 1)
	wg.Wait()
	for i, got := range read {
		from := 0
		if i > 0 {
			from = i*7 + 1
		}
		if !same(got, want[from:]) {
			t.Errorf("tail %d differs", i)
		}
	}
}

// TestTailOfAnotherLog checks that a tail begins only at a position of the log.
func TestTailOfAnotherLog(t *testing.T) {
	dir, groups := closedLog(t, 60)
	f := mustOpen(t, dir)
	defer mustClose(t, f)
	for _, n := range []int{1, 30, 59, 60} {
		p := groups[n-1].After()
		p.Chain[31] ^= 1
		if _, err := tailTo(f, p, 60); !errors.Is(err, ErrOtherLog) {
			t.Errorf("after a changed group %d: %v", n, err)
		}
	}
	if _, err := tailTo(f, Position{Number: 61}, 61); !errors.Is(err, ErrOtherLog) {
		t.Errorf("after a group that does not exist: %v", err)
	}
}

// TestTrimKeepsWhatTailsRead checks that Trim keeps the segments that a tail has still to read,
// and no longer than the tail exists.
func TestTrimKeepsWhatTailsRead(t *testing.T) {
	dir, want := closedLog(t, 60)
	f := mustOpen(t, dir)
	defer mustClose(t, f)
	propose(t, f, 61, 61+queueGroups) // so that the old groups are only on disk
	var got []Group
	for g, err := range f.Tail(context.Background(), want[4].After()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			if err := f.Trim(f.Last().Number); err != nil {
				t.Fatal(err)
			}
			if f.First() > 6 {
				t.Fatalf("the log begins at group %d", f.First())
			}
			if held, err := f.SegmentBytes(6, 60); err != nil || held == 0 {
				t.Fatalf("%d bytes are held: %v", held, err)
			}
		}
		if got = append(got, g); g.Number == 60 {
			break
		}
	}
	if !same(got, want[5:]) {
		t.Error("the groups differ")
	}
	if err := f.Trim(f.Last().Number); err != nil {
		t.Fatal(err)
	}
	if f.First() < 60 {
		t.Errorf("the log still begins at group %d", f.First())
	}
	if held, err := f.SegmentBytes(0, 60); err != nil || held != 0 {
		t.Errorf("%d bytes are held: %v", held, err)
	}
	if _, err := tailTo(f, want[4].After(), 60); !errors.Is(err, ErrTrimmed) {
		t.Errorf("a tail before the first group: %v", err)
	}
}

// TestTailEnds checks that a tail ends with its context, and with an error when the log closes.
func TestTailEnds(t *testing.T) {
	f := mustOpen(t, tempDir(t))
	propose(t, f, 1, 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for g, err := range f.Tail(ctx, Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if g.Number == 2 {
			cancel()
		}
	}
	closed := make(chan error)
	go func() {
		_, err := tailTo(f, Position{}, 3)
		closed <- err
	}()
	mustClose(t, f)
	if err := <-closed; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

// TestReader checks that a reader yields the groups of a log that is open, and only from a position
// of it.
func TestReader(t *testing.T) {
	dir, want := closedLog(t, 60)
	f := mustOpen(t, dir)
	defer mustClose(t, f)
	r, err := NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	propose(t, f, 61, 100)
	all := mustDrain(t, f, 1)
	for _, last := range []int{60, 100} {
		for _, from := range []int{0, 1, 30, 59, last} {
			after := Position{}
			if from > 0 {
				after = all[from-1].After()
			}
			var got []Group
			for g, err := range r.Tail(context.Background(), after) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, g)
			}
			if !same(got, all[from:last]) {
				t.Errorf("%d groups after group %d, want %d", len(got), from, last-from)
			}
		}
		if err := r.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	other := want[20].After()
	other.Chain[0] ^= 1
	for _, err := range r.Tail(context.Background(), other) {
		if !errors.Is(err, ErrOtherLog) {
			t.Errorf("after a changed group: %v", err)
		}
	}
	if _, err := NewReader(t.TempDir()); !errors.Is(err, ErrNoLog) {
		t.Errorf("an empty folder: %v", err)
	}
}
