package mirror

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"duplex/core/journal"
	"duplex/core/replica"
)

// CheckResult is the outcome of Check.
type CheckResult struct {
	From, To    uint64   // seqs whose rows were compared: after From, up to To
	Compared    uint64   // rows
	Differences []string // at most maxDifferences
}

// maxDifferences is the number of differences that Check reports.
const maxDifferences = 20

// Check replays the journal up to the cursor and compares the rows of the database with those of the
// replay: one row in sample, or all and their numbers if sample is 1. A venue may run meanwhile.
// progress is called often; nil is not called.
func Check(ctx context.Context, o Options, sample uint64, progress func(done, total uint64)) (out CheckResult, err error) {
	s, err := openCurrent(ctx, o, forReading)
	if err != nil {
		return out, err
	}
	defer s.close()
	options := &sql.TxOptions{ReadOnly: true}
	if isPostgres(o.DSN) {
		options.Isolation = sql.LevelRepeatableRead // one state of the database for the whole check
	}
	tx, err := s.reader().BeginTx(ctx, options)
	if err != nil {
		return out, err
	}
	defer tx.Rollback() //nolint:errcheck // it has only read
	at, err := scanCursor(tx.QueryRowContext(ctx, selectCursor).Scan)
	if err != nil {
		return out, err
	}
	l, err := journal.NewReader(o.Journal)
	if err != nil {
		return out, err
	}
	r, err := oldestReplica(l, o.Journal)
	if err != nil {
		return out, err
	}
	if r.At.Number > at.Number {
		return out, fmt.Errorf("%w: the oldest state that the journal leads up to is after the cursor", ErrTrimmed)
	}
	if now := r.Venue.Now().Seq; now < at.since { // the rows before were never written
		if r, err = New(o).nearestReplica(l, at.Number); err != nil {
			return out, err
		}
	}
	c := &checker{tx: tx, sample: max(sample, 1), pending: map[rowKey][]any{}}
	out.From, out.To = r.Venue.Now().Seq, at.Seq
	c.rows = newBatch(position{Seq: out.From})
	r.View.SetSink(c.rows)
	for g, err := range l.Tail(ctx, r.At) {
		if err != nil {
			return out, logError(err)
		}
		if g.Number > at.Number {
			break
		}
		cmds, err := replica.Commands(&g)
		if err == nil {
			_, err = r.Apply(&g, cmds, nil)
		}
		if err == nil && c.rows.rows >= batchRows {
			err = c.take(ctx)
		}
		if err != nil {
			return out, err
		}
		if progress != nil {
			progress(g.Number, at.Number)
		}
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if r.At != at.Position {
		return out, otherVenue(&at)
	}
	err = c.finish(ctx, out.From)
	out.Compared, out.Differences = c.compared, c.differences
	return out, err
}

// checker compares rows with those of the database.
type checker struct {
	tx          *sql.Tx
	sample      uint64
	rows        *batch
	pending     map[rowKey][]any // rows that may still change
	counts      [tableCount]uint64
	compared    uint64
	differences []string
}

// take compares the rows of the batch that are final, and keeps the others.
func (c *checker) take(ctx context.Context) error {
	for i := range schema {
		t := &schema[i]
		width := len(t.columns)
		var now [][]any
		for values := c.rows.values[i]; len(values) > 0; values = values[width:] {
			row := values[:width]
			if !t.changes {
				c.counts[i]++
			}
			if c.sample > 1 && hashOf(t, row)%c.sample != 0 {
				continue
			}
			switch {
			case !t.changes:
				now = append(now, row)
			case t.id == orders && row[orderStatus] != "resting" && row[orderStatus] != "partially_filled":
				delete(c.pending, keyOf(t, row))
				now = append(now, row)
			default:
				c.pending[keyOf(t, row)] = slices.Clone(row)
			}
		}
		if err := c.compare(ctx, t, now); err != nil {
			return err
		}
	}
	c.rows.reset(c.rows.to)
	return nil
}

// orderStatus is the place of the column status of orders.
var orderStatus = slices.IndexFunc(schema[orders].columns, func(c column) bool { return c.name == "status" })

// finish compares the rows that were kept, and the numbers of rows.
func (c *checker) finish(ctx context.Context, from uint64) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	var last [tableCount][][]any
	for k, row := range c.pending {
		last[k.table] = append(last[k.table], row)
	}
	for i := range schema {
		t := &schema[i]
		if err := c.compare(ctx, t, last[i]); err != nil {
			return err
		}
		if c.sample > 1 || t.changes {
			continue
		}
		q := fmt.Sprintf(`SELECT count(*) FROM "%s"`, t.name)
		if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "seq" }) {
			q += fmt.Sprintf(" WHERE seq > %d", from)
		} else if from > 0 {
			continue
		}
		var n uint64
		if err := c.tx.QueryRowContext(ctx, q).Scan(&n); err != nil {
			return err
		}
		if n != c.counts[i] {
			c.differ("%s: %d rows, and the journal has %d", t.name, n, c.counts[i])
		}
	}
	return nil
}

func (c *checker) differ(format string, args ...any) {
	if len(c.differences) < maxDifferences {
		c.differences = append(c.differences, fmt.Sprintf(format, args...))
	}
}

// keyOf returns the key of a row.
func keyOf(t *table, row []any) rowKey {
	k := rowKey{table: t.id}
	ints := []*uint64{&k.a, &k.b}
	for _, v := range row[:t.keys] {
		switch v := v.(type) {
		case string:
			k.kind = v
		case int64:
			*ints[0] = uint64(v)
			ints = ints[1:]
		}
	}
	return k
}

func hashOf(t *table, row []any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, keyOf(t, row))
	return h.Sum64()
}

// compareChunk is the number of rows that one query reads.
const compareChunk = 64

// compare reads the rows with the keys of list and compares them.
func (c *checker) compare(ctx context.Context, t *table, list [][]any) error {
	for chunk := range slices.Chunk(list, compareChunk) {
		want := map[rowKey][]any{}
		keys := make([]string, len(chunk))
		for i, row := range chunk {
			want[keyOf(t, row)] = row
			keys[i] = "(" + literals(row[:t.keys]) + ")"
		}
		q := fmt.Sprintf(`SELECT %s FROM "%s" WHERE (%s) IN (VALUES %s)`, names(t.columns), t.name, names(t.columns[:t.keys]), strings.Join(keys, ", "))
		if err := c.compareRows(ctx, t, q, want); err != nil {
			return err
		}
		c.compared += uint64(len(chunk))
		for _, row := range want {
			c.differ("%s: the row with the key %s is missing", t.name, literals(row[:t.keys]))
		}
	}
	return nil
}

// compareRows compares the rows of a query with those of want, and removes them from want.
func (c *checker) compareRows(ctx context.Context, t *table, q string, want map[rowKey][]any) error {
	rows, err := c.tx.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	return eachRow(rows, func(got []any) error {
		key := keyOf(t, got)
		row := want[key]
		delete(want, key)
		for i, v := range row {
			if !sameValue(got[i], v) {
				c.differ("%s: the row with the key %s has %s = %v, and the journal has %v", t.name, literals(row[:t.keys]), t.columns[i].name, got[i], v)
				break
			}
		}
		return nil
	})
}

// sameValue reports whether a value of the database is that of a batch.
func sameValue(got, want any) bool {
	r := row{values: []any{got}}
	switch want := want.(type) {
	case uint64:
		return r.u64() == want && r.err == nil
	case bool:
		return r.bool() == want && r.err == nil
	}
	return got == want
}

// literals writes integers and names as SQL.
func literals(values []any) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprint(v)
		if _, isText := v.(string); isText { // a kind of evidence, which has no quotes
			list[i] = "'" + list[i] + "'"
		}
	}
	return strings.Join(list, ", ")
}
