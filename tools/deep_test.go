package tools

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"duplex/core/history"
	"duplex/core/journal"
	"duplex/core/view"
	"duplex/schemas"
)

// mirrorAt is a mirror that has every row up to a seq.
type mirrorAt struct {
	History
	seq uint64
}

func (m mirrorAt) Position() (uint64, journal.Position) { return m.seq, journal.Position{} }
func (m mirrorAt) Lag() time.Duration                   { return 70 * time.Millisecond }

// below iterates over positions below from, highest first.
func below(rising []uint64, from uint64) iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		for _, at := range slices.Backward(rising) {
			if (from == 0 || at < from) && !yield(at, at) {
				return
			}
		}
	}
}

func identity(at uint64) uint64 { return at }

// TestDeepPages reads a list whose rows are split between memory and mirror to its end, and
// compares its pages, cursors included, with those of the whole list. The mirror also has rows that
// memory still keeps, in an older state.
func TestDeepPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 300), 0, 60, rapid.ID).Draw(t, "rows")
		slices.Sort(all)
		odd := rapid.Bool().Draw(t, "filter")
		keep := func(at uint64) bool { return !odd || at%2 == 1 }
		var memory, released []uint64
		for _, at := range all {
			if rapid.Bool().Draw(t, "released") {
				released = append(released, at)
			} else {
				memory = append(memory, at)
			}
		}
		newest := uint64(0)
		if len(released) > 0 {
			newest = released[len(released)-1]
		}
		v := &Venue{History: mirrorAt{seq: 1000}}
		v.cursorVenue.Store(1)
		window := rapid.SampledFrom([]int{1, 3, 10, 1000}).Draw(t, "window") // rows that a read of the mirror looks at
		list := deepList[uint64, uint64]{keep: keep, show: identity, at: identity, mirror: func(_ context.Context, from uint64, limit int) (older []uint64, _ error) {
			seen, last := 0, uint64(0)
			for at := range below(all, from) { // a mirror has what memory has, too
				switch {
				case len(older) == limit:
					return older, nil
				case seen == window:
					return older, &history.Cut{Below: last}
				case keep(at):
					older = append(older, at)
				}
				seen, last = seen+1, at
			}
			return older, nil
		}}
		pages := func(memory []uint64, newest uint64) (out [][]uint64, cursors []string) {
			in := &schemas.ListFills{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(rapid.SampledFrom([]int{1, 2, 7, 100}).Draw(t, "size")))}}
			for {
				p, err := list.open(v, Caller{User: 1}, "list", in)
				if err != nil {
					t.Fatal(err)
				}
				p.released = view.Released{Newest: newest, Seq: 1000}
				p.take(func(from uint64) iter.Seq2[uint64, uint64] { return below(memory, from) })
				cursor, err := p.finish(context.Background(), v, Caller{User: 1})
				if err != nil {
					t.Fatal(err)
				}
				out, cursors = append(out, p.rows), append(cursors, cursor)
				if cursor == "" {
					return out, cursors
				}
				in.Cursor = cursor
			}
		}
		got, gotCursors := pages(memory, newest)
		flat := slices.Concat(got...)
		var want []uint64
		for at := range below(all, 0) {
			if keep(at) {
				want = append(want, at)
			}
		}
		if !slices.Equal(flat, want) {
			t.Fatalf("memory %v, released %v: %v, want %v", memory, released, flat, want)
		}
		if last := gotCursors[len(gotCursors)-1]; last != "" || len(got) > 1 && len(got[len(got)-1]) == 0 && window > len(all) {
			t.Fatalf("the last page is %v with cursor %q", got[len(got)-1], last)
		}
	})
}

// TestDeepPageErrors checks that a page without its older rows is an error, and what it costs.
func TestDeepPageErrors(t *testing.T) {
	var charged int
	var refuse error
	caller := Caller{User: 1, Charge: func() error { charged++; return refuse }}
	read := func(newest uint64, seq uint64, from error) ([]uint64, error) {
		list := deepList[uint64, uint64]{keep: keepAll[uint64], show: identity, at: identity, mirror: func(context.Context, uint64, int) ([]uint64, error) { return []uint64{6}, from }}
		v := &Venue{History: mirrorAt{seq: 10}}
		v.cursorVenue.Store(1)
		p, err := list.open(v, caller, "list", &schemas.ListFills{})
		if err != nil {
			t.Fatal(err)
		}
		p.released = view.Released{Newest: newest, Seq: seq}
		p.take(func(from uint64) iter.Seq2[uint64, uint64] { return below([]uint64{7, 8}, from) })
		if _, err = p.finish(context.Background(), v, caller); err != nil {
			return nil, err
		}
		return p.rows, nil
	}
	if rows, err := read(0, 0, nil); err != nil || !slices.Equal(rows, []uint64{8, 7}) || charged != 0 {
		t.Errorf("a page of memory: %v, %v, charged %d times", rows, err, charged)
	}
	if rows, err := read(6, 10, nil); err != nil || !slices.Equal(rows, []uint64{8, 7, 6}) || charged != 1 {
		t.Errorf("a page of both: %v, %v, charged %d times", rows, err, charged)
	}
	if _, err := read(6, 12, nil); ErrorOf(err).Code != "history_behind" {
		t.Errorf("a mirror that is behind: %v", err)
	} else if ms, ok := ErrorOf(err).RetryAfterMs(); !ok || ms != 70 {
		t.Errorf("retry after %d ms, want 70", ms)
	}
	if _, err := read(6, 10, errors.New("gone")); ErrorOf(err).Code != "history_behind" {
		t.Errorf("a mirror that does not answer: %v", err)
	}
	refuse = NewError("rate_limited")
	if rows, err := read(6, 10, nil); ErrorOf(err).Code != "rate_limited" || rows != nil {
		t.Errorf("without tokens: %v, %v", rows, err)
	}
}
