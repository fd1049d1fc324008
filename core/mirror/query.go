package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/view"
)

// query is a SELECT under construction.
type query struct {
	where []string
	args  []any
	index string // which SQLite uses: without statistics it would read all rows of the account
	more  string // further columns, whose arguments come before those of the conditions

	scan             string // the column by which rows are read, newest first; "": conditions or an index select them
	scanned, scanArg int    // places of its upper bound in where and args; the conditions before select what is read
	moreArgs         int    // number of the arguments of more
	bounds           []bound
}

func (q *query) and(condition string, arg any) {
	q.where, q.args = append(q.where, condition), append(q.args, arg)
}

// andEqual adds a condition unless p is nil.
func andEqual[T ~uint16 | ~uint32 | ~uint64](q *query, column string, p *T) {
	if p != nil {
		q.and(column+" = ?", int64(*p))
	}
}

// from begins a list that is read by falling values of a column, below n, or all if n is 0. Conditions
// added later may select few of the rows read.
func (q *query) from(column string, n uint64) {
	q.scan, q.scanned, q.scanArg = column, len(q.where), len(q.args)
	q.and(column+" < ?", int64(cmp.Or(n, math.MaxInt64)))
}

// window returns the query of the rows from low on and below a value of the column.
func (q query) window(low, below int64) query {
	q.where, q.args = slices.Clone(q.where), slices.Clone(q.args)
	q.args[q.scanArg] = below
	q.and(q.scan+" >= ?", low)
	return q
}

// sql writes the query.
func (q *query) sql(columns string, t *table, order string, dsn string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `SELECT %s FROM "%s"`, columns, t.name)
	if q.index != "" && !isPostgres(dsn) {
		b.WriteString(" INDEXED BY " + q.index)
	}
	for i, w := range q.where {
		b.WriteString([]string{" WHERE ", " AND "}[min(i, 1)])
		b.WriteString(w)
	}
	b.WriteString(" ORDER BY " + order + " LIMIT ?") // no number, so that there are few statements to prepare
	return b.String()
}

// andNamed adds a condition on a column of names unless name is empty.
func (q *query) andNamed(column, name string) {
	if name != "" {
		q.and(column+" = ?", name)
	}
}

// andIn adds the condition that a column holds one of several texts, unless there are none.
func (q *query) andIn(column string, list []string) {
	if len(list) == 0 {
		return
	}
	q.where = append(q.where, column+" IN ("+strings.Repeat("?, ", len(list)-1)+"?)")
	for _, s := range list {
		q.args = append(q.args, s)
	}
}

func (q *query) andSeconds(first, before int64) {
	if first != 0 {
		q.and("second >= ?", first)
	}
	if before != 0 {
		q.and("second < ?", before)
	}
}

// bound selects rows by a value that never falls from position to position.
type bound struct {
	column       string
	history.Span // of the value
}

// within begins a list like from, of the rows within bounds alone. list finds their positions, because a
// condition on the values would have the database read all rows from the newest on.
func (q *query) within(position string, from uint64, bounds ...bound) {
	q.bounds = bounds
	q.and(position+" >= ?", int64(0)) // narrow sets it
	q.from(position, from)
}

// narrow sets the positions between which the rows within the bounds of q are.
func (q *query) narrow(ctx context.Context, s store, dsn string, t *table) error {
	list := query{where: q.where[:q.scanned], args: q.args[q.moreArgs:q.scanArg]}
	for _, b := range q.bounds {
		if b.From > 0 {
			first, err := list.firstSince(ctx, s, dsn, t, q.scan, b.column, b.From)
			if err != nil {
				return err
			}
			q.args[q.scanArg-1] = max(q.args[q.scanArg-1].(int64), first)
		}
		if b.To > 0 {
			first, err := list.firstSince(ctx, s, dsn, t, q.scan, b.column, b.To)
			if err != nil {
				return err
			}
			q.args[q.scanArg] = min(q.args[q.scanArg].(int64), first)
		}
	}
	return nil
}

// firstSince returns the least position in the list of which a value is at least v, or one behind the last
// row. Each step halves what is left.
func (q *query) firstSince(ctx context.Context, s store, dsn string, t *table, position, value string, v int64) (int64, error) {
	// last returns the last row below a position, 0 if there is none.
	last := func(below int64) (at, v int64, err error) {
		list := query{where: slices.Clone(q.where), args: slices.Clone(q.args)}
		list.and(position+" < ?", below)
		err = s.page(ctx, list.sql(position+", "+value, t, position+" DESC", dsn), append(list.args, 1), func(values []any) error {
			r := row{values: values}
			at, v = r.int(), r.int()
			return r.err
		})
		return at, v, err
	}
	newest, _, err := last(math.MaxInt64)
	low, high := int64(1), newest+1 // the row is in between
	for err == nil && low < high {
		middle := (low + high) / 2
		var at, found int64
		switch at, found, err = last(middle + 1); {
		case at == 0 || found < v: // the mirror may lack the oldest rows
			low = middle + 1
		default:
			high = min(middle, at)
		}
	}
	return low, err
}

// row gives the values of a row in the order of the columns. It keeps the first error.
type row struct {
	values []any
	i      int
	err    error
}

func (r *row) next() any {
	r.i++
	return r.values[r.i-1]
}

func (r *row) fail(v any) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d holds an unexpected %T", r.i, v)
	}
}

// int returns an integer; 0 for NULL.
func (r *row) int() int64 {
	switch v := r.next().(type) {
	case int64:
		return v
	case nil:
	default:
		r.fail(v)
	}
	return 0
}

func (r *row) uint() uint64 { return uint64(r.int()) }

// u64 returns a value of 64 bits: a signed integer in SQLite, a numeric in PostgreSQL.
func (r *row) u64() uint64 {
	switch v := r.next().(type) {
	case int64:
		return uint64(v)
	case string:
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			r.fail(v)
		}
		return n
	default:
		r.fail(v)
	}
	return 0
}

// text returns a text; "" for NULL.
func (r *row) text() string {
	switch v := r.next().(type) {
	case string:
		return v
	case nil:
	default:
		r.fail(v)
	}
	return ""
}

// key returns the id of a key; nil for NULL.
func (r *row) key() *string {
	if id := r.text(); id != "" {
		return &id
	}
	return nil
}

func (r *row) bool() bool {
	switch v := r.next().(type) {
	case bool:
		return v
	case int64:
		return v != 0
	default:
		r.fail(v)
	}
	return false
}

// enum returns the value with the name that the column holds.
func enum[T ~uint8](r *row, of map[string]T) T {
	name := r.text()
	v, ok := of[name]
	if !ok {
		r.fail(name)
	}
	return v
}

// enumOf maps the names of the values from 0 to last. Of values with the same name the first counts.
func enumOf[T interface {
	~uint8
	String() string
}](last T) map[string]T {
	m := map[string]T{}
	for v := range last + 1 {
		if _, ok := m[v.String()]; !ok {
			m[v.String()] = v
		}
	}
	return m
}

var (
	sides       = enumOf(core.Sell)
	outcomes    = enumOf(core.NoOutcome)
	types       = enumOf(core.Market)
	tifs        = enumOf(core.FOK)
	statuses    = enumOf(core.Rejected)
	reasons     = enumOf(core.LastReason)
	paths       = enumOf(core.Merge)
	phases      = enumOf(core.Void)
	ledgerKinds = func() map[string]view.LedgerKind {
		m := map[string]view.LedgerKind{}
		for i, name := range view.LedgerKinds() {
			m[name] = view.LedgerKind(i)
		}
		return m
	}()
	rejects = func() map[string]core.Reject {
		m := map[string]core.Reject{}
		for _, r := range core.Rejects() {
			m[r.String()] = r
		}
		return m
	}()
)

// scanLimits bounds a read whose filter may select few rows. First the database finds the rows by itself.
// If that takes longer than first, the rows are looked at in windows of window rows, until total has passed.
type scanLimits struct {
	first, total time.Duration
	window       int
}

var defaultScan = scanLimits{first: 150 * time.Millisecond, total: 300 * time.Millisecond, window: 10_000}

// list runs a query on a table and returns its rows in the order given, at most limit.
func list[T any](ctx context.Context, m *Mirror, route string, id tableID, q query, order string, limit int, decode func(*row) T) (out []T, err error) {
	begun := time.Now()
	defer func() { m.stats.read(route, err) }()
	if limit <= 0 {
		return nil, nil
	}
	s := m.store.Load()
	if s == nil {
		return nil, history.ErrUnavailable
	}
	t := &schema[id]
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	if err := q.narrow(ctx, *s, m.o.DSN, t); err != nil {
		return nil, errors.Join(history.ErrUnavailable, err)
	}
	var unexpected error
	read := func(ctx context.Context, q query) error {
		before := len(out)
		err := (*s).page(ctx, q.sql(names(t.columns)+q.more, t, order, m.o.DSN), append(q.args, limit-len(out)), func(values []any) error {
			r := row{values: values}
			out = append(out, decode(&r))
			unexpected = r.err
			return r.err
		})
		if err != nil {
			out = out[:before]
		}
		return err
	}
	if filtered := q.scan != "" && q.index == "" && len(q.where) > q.scanned+1; !filtered {
		err = read(ctx, q)
	} else {
		first, cancel := context.WithTimeout(ctx, m.scan.first)
		err = read(first, q)
		if cancel(); err != nil && first.Err() != nil && ctx.Err() == nil {
			err = m.scan.windows(ctx, *s, m.o.DSN, t, q, begun, func(q query) (full bool, err error) {
				err = read(ctx, q)
				return len(out) == limit, err
			})
		}
	}
	var cut *history.Cut
	switch {
	case unexpected != nil:
		return nil, fmt.Errorf("%s: %w", t.name, unexpected)
	case errors.As(err, &cut):
		return out, err
	case err != nil:
		return nil, errors.Join(history.ErrUnavailable, err)
	}
	return out, nil
}

// windows reads windows of rows, newest first, until read is full, the rows end or the time has passed;
// the error is then a Cut.
func (l scanLimits) windows(ctx context.Context, s store, dsn string, t *table, q query, begun time.Time, read func(query) (full bool, err error)) error {
	bound := query{where: q.where[:q.scanned+1]}
	below := q.args[q.scanArg].(int64)
	for n := 0; ; n++ {
		low := int64(0) // value of the last row of the window; 0: the rows end in it
		bound.args = append(slices.Clone(q.args[q.moreArgs:q.scanArg]), below, 1, l.window-1)
		err := s.page(ctx, bound.sql(q.scan, t, q.scan+" DESC", dsn)+" OFFSET ?", bound.args, func(values []any) error {
			r := row{values: values}
			low = r.int()
			return r.err
		})
		full := false
		if err == nil {
			full, err = read(q.window(low, below))
		}
		switch {
		case err != nil && n > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &history.Cut{Below: uint64(below)}
		case err != nil || full || low == 0:
			return err
		}
		if below = low; time.Since(begun) >= l.total {
			return &history.Cut{Below: uint64(low)}
		}
	}
}
