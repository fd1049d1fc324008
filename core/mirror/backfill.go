package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/time/rate"

	"duplex/core/history"
	"duplex/internal/backoff"
)

// The mirror of a node that joins a cluster begins with the state that it joins with, and lacks the rows
// from before. It copies them from the mirror of another node, table by table in the order of their keys,
// while the projector goes on. A row that is there is newer, and stays; one that changes later is written
// again by the projector. So the copy needs no moment at which both mirrors are equal
// (docs/rules/history.md#history-of-a-node).

// Span is what a node knows of the history.
type Span struct {
	Since    uint64 // rows of commands up to this seq are missing; 0: none
	Complete bool   // no other node knows more
}

// Others reads from the mirrors of the other nodes of a cluster. Its methods are called by one goroutine.
type Others interface {
	// Spans returns what the other nodes know, by the name of the node. all is false if one did not tell.
	// A node without a mirror is left out.
	Spans(ctx context.Context) (spans map[string]Span, all bool)
	// OlderRows returns what Mirror.OlderRows of a node does.
	OlderRows(ctx context.Context, node string, after OlderRowsKey) ([]byte, error)
}

// OlderRowsKey is a place in the rows from before a seq.
type OlderRowsKey struct {
	Below uint64 // the rows of commands up to this seq are wanted
	Table string
	After string // key of a row, as a JSON array; "": the rows begin with the first
}

// olderRows is some rows of a table, as CBOR behind the SHA-256 of that.
type olderRows struct {
	Since uint64  `cbor:"since"` // of the mirror that has them
	Rows  [][]any `cbor:"rows"`
}

// DefaultBackfillRate is the default of Options.BackfillRate.
const DefaultBackfillRate = 16 << 20

// backfillRetry is the time between two looks at the other nodes.
var backfillRetry = 2 * time.Second // a variable for tests

// OlderRows returns the next rows of a table, at most 1000, as another mirror of the same log copies them.
// Rows of a table that changes, other than orders, can be newer than Below. Errors: history.ErrUnavailable
// if this mirror has not passed Below, or one of a key that is none.
func (m *Mirror) OlderRows(ctx context.Context, key OlderRowsKey) ([]byte, error) {
	at := slices.IndexFunc(schema[:], func(t table) bool { return t.name == key.Table })
	if at < 0 {
		return nil, fmt.Errorf("the mirror has no table %q", key.Table)
	}
	t := &schema[at]
	var after []any
	if key.After != "" {
		var err error
		if after, err = t.parseKey(key.After); err != nil {
			return nil, err
		}
	}
	s := m.store.Load()
	since, ok := m.Since()
	if seq, _ := m.Position(); s == nil || !ok || seq < key.Below {
		return nil, history.ErrUnavailable
	}
	var q query
	if column := t.firstSeq(); column != "" {
		q.and(column+" <= ?", int64(key.Below))
	}
	keys := names(t.columns[:t.keys])
	if after != nil {
		q.where = append(q.where, fmt.Sprintf("(%s) > (%s)", keys, strings.Repeat("?, ", t.keys-1)+"?"))
		q.args = append(q.args, after...)
	}
	out := olderRows{Since: since}
	err := (*s).page(ctx, q.sql(names(t.columns), t, keys, m.o.DSN), append(q.args, int64(batchRows)), func(values []any) error {
		row, err := t.decodeRow(values)
		out.Rows = append(out.Rows, row)
		return err
	})
	if err != nil {
		return nil, errors.Join(history.ErrUnavailable, err)
	}
	b, err := cbor.Marshal(out)
	if err != nil {
		return nil, err
	}
	return withSum(b), nil
}

// withSum returns bytes behind their SHA-256.
func withSum(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(sum[:], b...)
}

// decodeOlderRows reverses OlderRows. The values are those of a batch.
func (t *table) decodeOlderRows(b []byte) (out olderRows, err error) {
	if len(b) < sha256.Size || sha256.Sum256(b[sha256.Size:]) != [sha256.Size]byte(b[:sha256.Size]) {
		return out, errors.New("the rows were damaged on the way")
	}
	if err := cbor.Unmarshal(b[sha256.Size:], &out); err != nil {
		return out, err
	}
	for i, row := range out.Rows {
		if out.Rows[i], err = t.decodeRow(row); err != nil {
			return out, err
		}
	}
	return out, nil
}

// decodeRow returns a row with the values of a batch, from what a database or CBOR makes of them.
func (t *table) decodeRow(values []any) ([]any, error) {
	if len(values) != len(t.columns) {
		return nil, fmt.Errorf("a row of %s has %d columns", t.name, len(values))
	}
	out := make([]any, len(values))
	r := row{values: slices.Clone(values)}
	for i, c := range t.columns {
		if n, ok := values[i].(uint64); ok { // CBOR has no other positive integers
			r.values[i] = int64(n)
		}
		switch {
		case values[i] == nil:
			r.next()
		case c.kind == integer:
			out[i] = r.int()
		case c.kind == unsigned:
			out[i] = r.u64()
		case c.kind == text:
			out[i] = r.text()
		case c.kind == boolean:
			out[i] = r.bool()
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("a row of %s: %w", t.name, r.err)
	}
	return out, nil
}

// firstSeq returns the column with the seq that made a row, "" if the table has none.
func (t *table) firstSeq() string {
	if t.changes && t.id != orders {
		return ""
	}
	return placements[t.id].seq
}

// formatKey returns the key of a row as JSON.
func (t *table) formatKey(row []any) string { return mustJSON(row[:t.keys]) }

// parseKey reverses formatKey.
func (t *table) parseKey(s string) (key []any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&key); err != nil || len(key) != t.keys {
		return nil, fmt.Errorf("%q is no key of %s", s, t.name)
	}
	for i, v := range key {
		switch v := v.(type) {
		case json.Number:
			key[i], err = v.Int64()
		case string:
		default:
			err = errors.New("neither a number nor a text")
		}
		if isText := t.columns[i].kind == text; err != nil || isText != (fmt.Sprintf("%T", v) == "string") {
			return nil, fmt.Errorf("%q is no key of %s", s, t.name)
		}
	}
	return key, nil
}

// backfill is how far the rows from before the cursor's since have been copied.
type backfill struct {
	since    uint64 // of the mirror that they come from
	table    string // "": none is being copied
	after    string // key of the last row of it
	complete bool   // no other node has rows from before
}

// olderBatch has rows that another mirror has, and where they end. One transaction writes them.
type olderBatch struct {
	table  *table // nil: there are no rows
	values []any
	to     backfill
	found  bool // to.since is that of this mirror from now on

	written chan struct{} // closed once they are committed
}

// Statements about the backfill.
const (
	selectBackfill = "SELECT since_seq, table_name, after_key, complete FROM backfill WHERE id = 1"
	upsertBackfill = "INSERT INTO backfill (id, since_seq, table_name, after_key, complete) VALUES (1, ?, ?, ?, ?) " +
		"ON CONFLICT (id) DO UPDATE SET since_seq = excluded.since_seq, table_name = excluded.table_name, after_key = excluded.after_key, complete = excluded.complete"
	updateSince = "UPDATE cursor SET since_seq = ? WHERE id = 1"
)

// write writes everything of the batch but its rows with exec.
func (o *olderBatch) write(exec func(sql string, args ...any) error) error {
	if err := exec(upsertBackfill, int64(o.to.since), o.to.table, o.to.after, o.to.complete); err != nil || !o.found {
		return err
	}
	return exec(updateSince, int64(o.to.since))
}

// readBackfill reads how far the rows have been copied.
func readBackfill(ctx context.Context, s store) (f backfill, err error) {
	err = s.page(ctx, selectBackfill, nil, func(values []any) error {
		r := row{values: values}
		f = backfill{r.uint(), r.text(), r.text(), r.bool()}
		return r.err
	})
	return f, err
}

// Complete reports whether the mirror has all that any node of the cluster has of the rows from before
// Since, so that lists end there. While it has not, and on a node that does not know yet, a read that goes
// beyond memory could need such a row.
func (m *Mirror) Complete() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.o.Others == nil || m.at.found && (m.at.since == 0 || m.complete)
}

// backfiller copies the rows from before the mirror began, in one session of the projector.
type backfiller struct {
	m     *Mirror
	at    backfill
	since uint64 // of this mirror
	to    chan<- *olderBatch
	limit *rate.Limiter
}

// run copies rows until no other node has more, or ctx ends.
func (b *backfiller) run(ctx context.Context) {
	said := ""
	for b.since > 0 && !b.at.complete {
		wait, err := b.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			b.m.o.Logf("older rows of the history cannot be copied from another node; it is tried again", "err", err)
		}
		if wait && !backoff.Sleep(ctx, backoff.Jitter(backfillRetry)) {
			return
		}
	}
}

// step copies from the node that knows most, or finds out that none knows more.
func (b *backfiller) step(ctx context.Context) (wait bool, err error) {
	spans, all := b.m.o.Others.Spans(ctx)
	node, best := "", Span{Since: b.since}
	for name, s := range spans {
		if s.Since < best.Since || s.Since == best.Since && node != "" && name < node {
			node, best = name, s
		}
		all = all || s.Complete && s.Since >= b.since
	}
	switch {
	case node != "":
		err := b.copyFrom(ctx, node, best.Since)
		return err != nil, err
	case all:
		b.at.complete, b.at.table, b.at.after, b.at.since = true, "", "", b.since
		return false, b.write(ctx, &olderBatch{to: b.at})
	}
	return true, nil
}

// copyFrom copies all rows that the mirror of a node has and this one lacks.
func (b *backfiller) copyFrom(ctx context.Context, node string, since uint64) error {
	if b.at.since != since || b.at.table == "" {
		b.at = backfill{since: since, table: schema[0].name}
	}
	b.m.o.Logf("older rows of the history are copied from another node", "node", node, "since_seq", since, "until_seq", b.since, "table", b.at.table)
	for i := range schema {
		t := &schema[i]
		for t.name == b.at.table {
			if err := b.copyRows(ctx, node, t, i+1 < len(schema)); err != nil {
				return err
			}
		}
	}
	b.m.o.Logf("the older rows of the history are there", "node", node, "since_seq", since)
	return nil
}

// copyRows copies the next rows of a table, and moves on to the next table behind the last of them.
func (b *backfiller) copyRows(ctx context.Context, node string, t *table, more bool) error {
	raw, err := b.m.o.Others.OlderRows(ctx, node, OlderRowsKey{b.since, t.name, b.at.after})
	if err != nil {
		return err
	}
	for n := len(raw); n > 0; n -= b.limit.Burst() {
		if err := b.limit.WaitN(ctx, min(n, b.limit.Burst())); err != nil {
			return err
		}
	}
	rows, err := t.decodeOlderRows(raw)
	if err != nil {
		return err
	}
	if rows.Since != b.at.since {
		return fmt.Errorf("the rows of %s begin at seq %d now, and began at %d", node, rows.Since, b.at.since)
	}
	o := &olderBatch{table: t, to: b.at}
	for _, row := range rows.Rows {
		o.values = append(o.values, row...)
	}
	switch {
	case len(rows.Rows) > 0:
		o.to.after = t.formatKey(rows.Rows[len(rows.Rows)-1])
	case more:
		o.to.table, o.to.after = schema[t.id+1].name, ""
	default:
		o.to.table, o.to.after, o.found = "", "", true
	}
	if err := b.write(ctx, o); err != nil {
		return err
	}
	b.at = o.to
	if o.found {
		b.since = o.to.since
	}
	return nil
}

// write has the projector write a batch.
func (b *backfiller) write(ctx context.Context, o *olderBatch) error {
	o.written = make(chan struct{})
	select {
	case b.to <- o:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-o.written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newBackfiller(m *Mirror, at backfill, since uint64, to chan<- *olderBatch) *backfiller {
	bytes := cmp.Or(m.o.BackfillRate, DefaultBackfillRate)
	return &backfiller{m: m, at: at, since: since, to: to, limit: rate.NewLimiter(rate.Limit(bytes), bytes)}
}
