package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// The readers of a log that a venue writes must take what is being written for the end of the log,
// and never for damage.

// TestReadWhileGroupsAreAdded adds groups after a reader has buffered the zeros in their place, and
// checks that the reader goes on to them. The log is smaller than the reader's buffer, so that the
// first read has buffered all of it.
func TestReadWhileGroupsAreAdded(t *testing.T) {
	for name, scan := range map[string]func(dir string, f func(uint64)) (uint64, error){
		"Scan": func(dir string, f func(uint64)) (n uint64, _ error) {
			for g, err := range Scan(dir, 0) {
				if err != nil {
					return n, err
				}
				n = g.Number
				f(n)
			}
			return n, nil
		},
		"Check": func(dir string, f func(uint64)) (n uint64, _ error) {
			for g, err := range Check(dir, Position{}, 0) {
				if err != nil {
					return n, err
				}
				n = g.Number
				f(n)
			}
			return n, nil
		},
		"Reader": func(dir string, f func(uint64)) (n uint64, _ error) {
			err := readAll(&scanner{segs: segmentsOf(t, dir)}, func(g Group) bool {
				n = g.Number
				f(n)
				return true
			})
			return n, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			f := mustOpen(t, dir)
			defer mustClose(t, f)
			propose(t, f, 1, 3)
			last, err := scan(dir, func(n uint64) {
				switch n {
				case 1:
					propose(t, f, 4, 5)
				case 5:
					propose(t, f, 6, 7)
				}
			})
			if err != nil || last != 7 {
				t.Errorf("the log ends after group %d, want 7: %v", last, err)
			}
		})
	}
}

// TestReadWhileAFrameIsWritten shows a reader the states of a frame whose write is under way, one at
// each read of the tail. Only bytes that stay are damage.
func TestReadWhileAFrameIsWritten(t *testing.T) {
	dir, want := killedLog(t, 4)
	path, off, end := lastFrame(t, dir)
	whole := mustRead(t, path)
	hole := func(from, to int64) []byte {
		b := bytes.Clone(whole)
		clear(b[from:to])
		return b
	}
	ps := places(t, dir)
	absent := hole(off, end)
	mixed := hole(off+8, off+20)           // of a read that overlaps the write
	whileBefore := hole(ps[2].Offset, off) // group 3 is missing and group 4 is there
	for _, c := range []struct {
		name   string
		states [][]byte
		groups int
		damage bool
	}{
		{"written before the second read", [][]byte{absent, whole}, 4, false},
		{"not begun", [][]byte{absent, absent}, 3, false},
		{"half written, then complete", [][]byte{absent, mixed, mixed, whole}, 4, false},
		{"a later group seen before an earlier one", [][]byte{hole(ps[2].Offset, end), hole(ps[2].Offset, end), whileBefore, whole}, 4, false},
		{"damage that stays", [][]byte{whileBefore}, 2, true},
		{"a flipped bit that stays", [][]byte{flipped(whole, off+60)}, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The states replace each other in place: the reader keeps its file open.
			reads := 0
			show := func() {
				f, err := os.OpenFile(path, os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteAt(c.states[min(reads, len(c.states)-1)], 0)
					err = errors.Join(err, f.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
				reads++
			}
			show()
			s, err := newScanner(dir)
			if err != nil {
				t.Fatal(err)
			}
			s.beforeTailRead = show
			var got []Group
			err = readAll(s, func(g Group) bool {
				got = append(got, g)
				return true
			})
			if c.damage {
				wantDamage(t, err)
			} else if err != nil {
				t.Error(err)
			}
			if !same(got, want[:c.groups]) {
				t.Errorf("%d groups, want %d", len(got), c.groups)
			}
		})
	}
}

func flipped(b []byte, at int64) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

// TestReadersOfARunningLog reads a log in every way, again and again, while groups are added and
// segments begin. A group that was durable before a read is in it.
func TestReadersOfARunningLog(t *testing.T) {
	dir := tempDir(t)
	f, err := Open(dir, Options{Now: ticking(), Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	add := func(groups int) {
		for range groups {
			n++
			if err := f.Propose(context.Background(), Group{Proposal: uint64(n), Body: body(n % 100)}); err != nil {
				t.Error(err)
				return
			}
		}
	}
	add(5)
	drainScan := func(groups func(func(LocatedGroup, error) bool)) (n uint64, err error) {
		for g, err := range groups {
			if torn := (*Torn)(nil); errors.As(err, &torn) {
				break
			}
			if err != nil {
				return n, err
			}
			n = g.Number
		}
		return n, nil
	}
	const groupsInARead = 100 // several segments
	copied := filepath.Join(tempDir(t), "copy")
	for range 25 {
		for name, read := range map[string]func() (uint64, error){
			"Scan":  func() (uint64, error) { return drainScan(Scan(dir, 0)) },
			"Check": func() (uint64, error) { return drainScan(Check(dir, Position{}, 0)) },
			"Reader": func() (uint64, error) {
				r, err := NewReader(dir)
				if err != nil {
					return 0, err
				}
				return r.Last().Number, nil
			},
			"Copy": func() (uint64, error) {
				c, err := Copy(t.Context(), dir, copied, CopyOptions{Prove: true})
				return c.Below - 1, err
			},
		} {
			before := f.Last().Number
			var writer sync.WaitGroup
			writer.Go(func() { add(groupsInARead) })
			if got, err := read(); err != nil || got < before {
				t.Errorf("%s: reads up to group %d of at least %d: %v", name, got, before, err)
			}
			writer.Wait()
		}
		if t.Failed() {
			break
		}
	}
	mustClose(t, f)
}

// TestListWhileSegmentsGo lists the segments while the oldest are removed: a list with a gap is
// taken again.
func TestListWhileSegmentsGo(t *testing.T) {
	a, b, c := segment{seq: 1, first: 9}, segment{seq: 2, first: 19}, segment{seq: 3, first: 29}
	for _, x := range []struct {
		name   string
		lists  [][]segment
		want   int
		damage bool
	}{
		{"whole", [][]segment{{a, b, c}}, 3, false},
		{"removed while it was listed", [][]segment{{a, c}, {c}}, 1, false},
		{"a gap that stays", [][]segment{{a, c}}, 0, true},
	} {
		n := 0
		got, err := withoutGap(func() ([]segment, error) {
			n++
			return x.lists[min(n, len(x.lists))-1], nil
		})
		if d := (*Damage)(nil); errors.As(err, &d) != x.damage || len(got) != x.want {
			t.Errorf("%s: %d segments, %v", x.name, len(got), err)
		}
	}
}
