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
	"duplex/core/view"
	"duplex/schemas"
)

// mirrorAt is a mirror that has every row up to a seq.
type mirrorAt struct {
	History
	seq   uint64
	lacks bool // another node has older rows
}

func (m mirrorAt) Complete() bool           { return !m.lacks }
func (m mirrorAt) Written() (uint64, int64) { return m.seq, 0 }
func (m mirrorAt) Lag() time.Duration       { return 70 * time.Millisecond }

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
		if last := gotCursors[len(gotCursors)-1]; last != "" || len(got) > 1 && len(got[len(got)-1]) == 0 && !odd && window > len(all) {
			t.Fatalf("the last page is %v with cursor %q", got[len(got)-1], last)
		}
	})
}

// TestDeepPageErrors checks what a page is without its older rows, and what it costs.
func TestDeepPageErrors(t *testing.T) {
	var charged int
	var refuse error
	caller := Caller{User: 1, Charge: func() error { charged++; return refuse }}
	type deepRead struct {
		rows []uint64
		next string
		err  error
	}
	// read reads a page of 100 of the rows 8 and 7 of memory and 6 of the mirror, which has every row up to seq 10.
	lacks := false
	read := func(cursor string, newest, seq uint64, size int, from error) (got deepRead) {
		list := deepList[uint64, uint64]{keep: KeepAll[uint64], show: identity, at: identity, mirror: func(context.Context, uint64, int) ([]uint64, error) { return []uint64{6}, from }}
		v := &Venue{History: mirrorAt{seq: 10, lacks: lacks}}
		v.cursorVenue.Store(1)
		p, err := list.open(v, caller, "list", &schemas.ListFills{Page: schemas.Page{Cursor: cursor, Limit: schemas.Ptr(schemas.Int(size))}})
		if err != nil {
			t.Fatal(err)
		}
		p.released = view.Released{Newest: newest, Seq: seq}
		p.take(func(from uint64) iter.Seq2[uint64, uint64] { return below([]uint64{7, 8}, from) })
		charged = 0
		got.next, got.err = p.finish(context.Background(), v, caller)
		got.rows = p.rows
		return got
	}
	check := func(what string, got deepRead, want []uint64, more bool, code string, charges int) {
		t.Helper()
		refused := ""
		if got.err != nil {
			refused = ErrorOf(got.err).Code
		}
		if refused != code || code == "" && !slices.Equal(got.rows, want) || (got.next != "") != more || charged != charges {
			t.Errorf("%s: %v, charged %d times", what, got, charged)
		}
	}
	gone := errors.New("gone")
	check("a page of memory", read("", 0, 0, 100, nil), []uint64{8, 7}, false, "", 0)
	check("a page of both", read("", 6, 10, 100, nil), []uint64{8, 7, 6}, false, "", 1)
	check("a page that memory fills", read("", 6, 12, 2, gone), []uint64{8, 7}, true, "", 0)
	page := read("", 6, 12, 100, nil)
	check("a mirror that is behind", page, []uint64{8, 7}, true, "", 0)
	page = read(page.next, 6, 12, 100, nil)
	check("the next page", page, nil, false, "history_behind", 0)
	if ms, ok := ErrorOf(page.err).RetryAfterMs(); !ok || ms != 70 {
		t.Errorf("retry after %d ms, want 70", ms)
	}
	page = read("", 6, 10, 100, gone)
	check("a mirror that does not answer", page, []uint64{8, 7}, true, "", 1)
	check("the next page", read(page.next, 6, 10, 100, gone), nil, false, "history_behind", 1)
	check("the next page when it answers", read(page.next, 6, 10, 100, nil), []uint64{6}, false, "", 1)
	check("a row that memory has among those it released", read("", 7, 12, 100, nil), []uint64{8}, true, "", 0)
	check("only such rows", read("", 8, 12, 100, nil), nil, false, "history_behind", 0)
	lacks = true
	check("a page of memory where another node has older rows", read("", 0, 0, 100, nil), []uint64{8, 7}, false, "", 0)
	page = read("", 6, 10, 100, nil)
	check("a page of both there", page, []uint64{8, 7}, true, "", 0)
	check("the next page there", read(page.next, 6, 10, 100, nil), nil, false, "history_behind", 0)
	lacks = false
	refuse = NewError("rate_limited")
	check("without tokens", read("", 6, 10, 100, nil), nil, false, "rate_limited", 1)
}

// TestStepsWithoutTheMirror checks that a page of steps has the steps that memory has whole if older
// seconds cannot be read, and that it is an error if there is none.
func TestStepsWithoutTheMirror(t *testing.T) {
	v := &Venue{History: mirrorAt{}}
	for _, c := range []struct {
		step, oldest, released int64
		size                   int
		want                   []int64 // starts of the steps
		more                   bool
	}{
		{step: 10, oldest: 60, released: 59, size: 100, want: []int64{70, 60}, more: true},
		{step: 10, oldest: 61, released: 60, size: 100, want: []int64{70}, more: true},
		{step: 1, oldest: 78, released: 77, size: 100, want: []int64{79, 78}, more: true},
		{step: 1, oldest: 78, released: 77, size: 2, want: []int64{79, 78}, more: true},
		{step: 60, oldest: 61, released: 60, size: 100},
		{step: 60, oldest: 80, released: 79, size: 100},
		{step: 10, oldest: 60, released: 0, size: 100, want: []int64{70, 60}},
	} {
		p := stepPage{step: c.step, size: c.size, before: 80}
		older := olderSeconds[int64]{
			second: func(s *int64) int64 { return *s }, released: c.released, wait: func() time.Duration { return time.Second },
		}
		memory := func(yield func(*int64) bool) {
			for s := int64(79); s >= c.oldest && yield(&s); s-- {
			}
		}
		rows, more := stepsOf(p, older.behind(v, Caller{}, &p, memory), older.second, func(start int64, _ *int64) int64 { return start }, func(*int64, *int64) {})
		rows, more, err := complete(&older, rows, more)
		if (err != nil) != (c.want == nil) || !slices.Equal(rows, c.want) || more != c.more {
			t.Errorf("%+v: %v, more %v, %v", c, rows, more, err)
		}
	}
}

// TestRepeatedNames checks that a filter that repeats its names is the one without repeats.
func TestRepeatedNames(t *testing.T) {
	if got := namesOf("resting,rejected,resting,rejected"); !slices.Equal(got, []string{"rejected", "resting"}) {
		t.Error(got)
	}
	if got := namesOf(""); got != nil {
		t.Error(got)
	}
}
