package tools

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"duplex/schemas"
)

// mirrorAt is a mirror that has every row up to a seq.
type mirrorAt uint64

func (m mirrorAt) Wait(seq uint64) time.Duration {
	if seq <= uint64(m) {
		return 0
	}
	return time.Duration(seq-uint64(m)) * time.Millisecond
}

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
		v := &Venue{History: mirrorAt(1000)}
		pages := func(memory []uint64, newest uint64) (out [][]uint64, cursors []string) {
			in := &schemas.ListFills{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(rapid.SampledFrom([]int{1, 2, 7, 100}).Draw(t, "size")))}}
			for {
				p, err := openPage[uint64]("list", Caller{User: 1}, in)
				if err != nil {
					t.Fatal(err)
				}
				take(p, func(from uint64) iter.Seq2[uint64, uint64] { return below(memory, from) }, keep, func(at uint64) uint64 { return at })
				p.releasedUpTo(newest, 1000)
				rows, cursor, err := p.finish(context.Background(), v, Caller{User: 1}, func(_ context.Context, from uint64, limit int) (older []placed[uint64], _ error) {
					for at := range below(all, from) {
						if keep(at) && len(older) < limit {
							older = append(older, placed[uint64]{at, at})
						}
					}
					return older, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				out, cursors = append(out, rows), append(cursors, cursor)
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
		if last := gotCursors[len(gotCursors)-1]; last != "" || len(got) > 1 && len(got[len(got)-1]) == 0 {
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
		p, err := openPage[uint64]("list", caller, &schemas.ListFills{})
		if err != nil {
			t.Fatal(err)
		}
		take(p, func(from uint64) iter.Seq2[uint64, uint64] { return below([]uint64{7, 8}, from) }, keepAll, func(at uint64) uint64 { return at })
		p.releasedUpTo(newest, seq)
		rows, _, err := p.finish(context.Background(), &Venue{History: mirrorAt(10)}, caller, func(context.Context, uint64, int) ([]placed[uint64], error) {
			return []placed[uint64]{{6, 6}}, from
		})
		return rows, err
	}
	if rows, err := read(0, 0, nil); err != nil || !slices.Equal(rows, []uint64{8, 7}) || charged != 0 {
		t.Errorf("a page of memory: %v, %v, charged %d times", rows, err, charged)
	}
	if rows, err := read(6, 10, nil); err != nil || !slices.Equal(rows, []uint64{8, 7, 6}) || charged != 1 {
		t.Errorf("a page of both: %v, %v, charged %d times", rows, err, charged)
	}
	if _, err := read(6, 12, nil); ErrorOf(err).Code != "history_behind" {
		t.Errorf("a mirror that is behind: %v", err)
	} else if ms, ok := ErrorOf(err).RetryAfterMs(); !ok || ms != 2 {
		t.Errorf("retry after %d ms, want 2", ms)
	}
	if _, err := read(6, 10, errors.New("gone")); ErrorOf(err).Code != "history_behind" {
		t.Errorf("a mirror that does not answer: %v", err)
	}
	refuse = NewError("rate_limited")
	if rows, err := read(6, 10, nil); ErrorOf(err).Code != "rate_limited" || rows != nil {
		t.Errorf("without tokens: %v, %v", rows, err)
	}
}
