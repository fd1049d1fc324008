package mirror

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"duplex/core/history"
)

// otherNodes are the mirrors of other nodes, for a test.
type otherNodes struct {
	mu     sync.Mutex
	nodes  map[string]*Mirror
	silent bool                                     // a further node does not tell what it knows
	asked  map[OlderRowsKey]int                     // how often rows were asked for
	change func(n int, rows []byte) ([]byte, error) // of the n-th answer, from 1; nil: none
}

func (o *otherNodes) Spans(context.Context) (map[string]Span, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	spans := map[string]Span{}
	for name, m := range o.nodes {
		since, _ := m.Since()
		spans[name] = Span{since, m.Complete()}
	}
	return spans, !o.silent
}

func (o *otherNodes) OlderRows(ctx context.Context, node string, key OlderRowsKey) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked == nil {
		o.asked = map[OlderRowsKey]int{}
	}
	o.asked[key]++
	b, err := o.nodes[node].OlderRows(ctx, key)
	if err == nil && o.change != nil {
		n := 0
		for _, times := range o.asked {
			n += times
		}
		b, err = o.change(n, b)
	}
	return b, err
}

// quickRetries makes backfills look at the other nodes again at once.
func quickRetries(t *testing.T) {
	before := backfillRetry
	backfillRetry = 1
	t.Cleanup(func() { backfillRetry = before })
}

// lateMirror returns the options of a mirror that begins with a snapshot, beside one that has everything.
func lateMirror(t *testing.T, v *venueLog, early, late string) (whole *Mirror, o Options, others *otherNodes) {
	t.Helper()
	v.run(150)
	whole = v.start(v.options(early))
	v.waitFor(whole)
	v.snapshot(true)
	v.run(20)
	v.waitFor(whole)
	others = &otherNodes{nodes: map[string]*Mirror{"a": whole}}
	o = v.options(late)
	o.Dir, o.Others = filepath.Join(tempDir(t), "mirror"), others
	return whole, o, others
}

// TestBackfill has a mirror that begins late copy what it lacks from one of either kind, while the venue
// goes on. An error, a damaged answer and a restart come between. Then it has every row.
func TestBackfill(t *testing.T) {
	quickRetries(t)
	databases(t, func(t *testing.T, of string) {
		databases(t, func(t *testing.T, late string) {
			early := SQLitePath(tempDir(t))
			if isPostgres(of) {
				early = newPostgres(t)
			}
			v := newVenueLog(t, 31)
			whole, o, others := lateMirror(t, v, early, late)
			var m *Mirror
			restart := make(chan struct{})
			others.change = func(n int, rows []byte) ([]byte, error) {
				switch n {
				case 3:
					return nil, errFault
				case 6:
					rows[len(rows)/2] ^= 1
				case 9:
					close(restart)
				}
				return rows, nil
			}
			m = v.start(o)
			<-restart
			if m.Complete() {
				t.Error("a mirror that lacks rows says that it has all")
			}
			mustClose(t, m)
			v.run(5)
			m = v.start(o)
			v.run(5)
			waitUntil(t, func() bool { return m.Complete() })
			since, _ := m.Since()
			if v.waitFor(m); since != 0 || m.Err() != nil {
				t.Fatalf("rows up to %d are missing: %v", since, m.Err())
			}
			v.run(30)
			v.waitFor(m)
			v.check(m)
			if r, err := Check(ctx, o, 1, nil); err != nil || len(r.Differences) > 0 || r.Compared < 100 {
				t.Errorf("%+v %v", r, err)
			}
			v.waitFor(whole)
			for i := range schema {
				if got, want := tableOf(t, m, &schema[i]), tableOf(t, whole, &schema[i]); !slices.Equal(got, want) {
					t.Errorf("%s has %d rows, and %d where it is whole; or others", schema[i].name, len(got), len(want))
				}
			}
			for key, times := range others.asked {
				if times > 3 {
					t.Errorf("%v was asked for %d times", key, times)
				}
			}
		})
	})
}

// tableOf returns all rows of a table, in the order of their keys.
func tableOf(t *testing.T, m *Mirror, of *table) (rows []string) {
	t.Helper()
	key := OlderRowsKey{Below: 1, Table: of.name}
	if seq, _ := m.Position(); of.firstSeq() != "" {
		key.Below = seq
	}
	for {
		raw, err := m.OlderRows(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := of.decodeOlderRows(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Rows) == 0 {
			return rows
		}
		for _, row := range got.Rows {
			rows = append(rows, mustJSON(row))
			key.After = of.formatKey(row)
		}
	}
}

// TestBackfillEnds checks when a mirror knows that no node has more than it: once one that knows so or all
// others have told, and for good.
func TestBackfillEnds(t *testing.T) {
	quickRetries(t)
	for name, of := range map[string]struct {
		silent, known, want bool
	}{
		"all have told": {want: true},
		"one is silent": {silent: true},
		"one is silent, and one knows the answer": {silent: true, known: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVenueLog(t, 32)
			v.run(150)
			v.snapshot(true)
			peer := v.options(SQLitePath(tempDir(t)))
			peer.Dir = filepath.Join(tempDir(t), "mirror")
			peers := &otherNodes{silent: !of.known, nodes: map[string]*Mirror{}}
			peer.Others = peers
			b := v.start(peer)
			v.waitFor(b)
			others := &otherNodes{silent: of.silent, nodes: map[string]*Mirror{"b": b}}
			o := v.options(SQLitePath(tempDir(t)))
			o.Others = others
			m := v.start(o)
			v.waitFor(m)
			if of.want {
				waitUntil(t, func() bool { return m.Complete() })
				mustClose(t, m)
				others.silent, others.nodes = true, nil
				m = v.start(o)
				v.waitFor(m)
			}
			if since, _ := m.Since(); m.Complete() != of.want || since == 0 {
				t.Errorf("complete: %v, since %d", m.Complete(), since)
			}
		})
	}
}

// TestOlderRowsOfALaterMirror checks that a mirror gives no rows that it may not have yet, and that what is
// no place in a table is an error.
func TestOlderRowsOfALaterMirror(t *testing.T) {
	v := newVenueLog(t, 33)
	v.run(20)
	m := v.start(v.options(SQLitePath(tempDir(t))))
	v.waitFor(m)
	seq, _ := m.Position()
	if _, err := m.OlderRows(ctx, OlderRowsKey{seq + 1, "fills", ""}); !errors.Is(err, history.ErrUnavailable) {
		t.Errorf("rows of a seq that the mirror has not passed: %v", err)
	}
	for _, key := range []OlderRowsKey{{seq, "cursor", ""}, {seq, "fills", "[1]"}, {seq, "fills", `[1,"2"]`}, {seq, "fills", "[1,2.5]"}, {seq, "fills", "1,2"}, {seq, "evidence", "[1,2,3]"}} {
		if _, err := m.OlderRows(ctx, key); err == nil || errors.Is(err, history.ErrUnavailable) {
			t.Errorf("%v: %v", key, err)
		}
	}
}

// FuzzOlderRows decodes what another node may send. A value has the type of its column, or there is an error.
func FuzzOlderRows(f *testing.F) {
	for i := range schema {
		b, err := cbor.Marshal(olderRows{Since: 7, Rows: [][]any{make([]any, len(schema[i].columns))}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, b)
	}
	f.Fuzz(func(t *testing.T, of int, b []byte) {
		table := &schema[uint(of)%uint(len(schema))]
		rows, err := table.decodeOlderRows(withSum(b))
		if err != nil {
			return
		}
		for _, row := range rows.Rows {
			for i, v := range row {
				switch v.(type) {
				case nil, int64, uint64, string, bool:
				default:
					t.Fatalf("%s.%s holds a %T", table.name, table.columns[i].name, v)
				}
			}
		}
		if _, err := table.decodeOlderRows(append(withSum(b), 0)); err == nil || strings.Contains(err.Error(), "row of") {
			t.Errorf("with a byte more: %v", err)
		}
	})
}
