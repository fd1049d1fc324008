package mirror

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"duplex/core"
	"duplex/core/export"
	"duplex/core/feed"
	"duplex/core/journal"
)

// Range selects rows by seq or by time. Seqs are inclusive; FromTs is inclusive and ToTs exclusive,
// in ns. 0 is no bound. Only one of the two kinds may be set.
type Range struct {
	FromSeq, ToSeq uint64
	FromTs, ToTs   int64
}

// Errors of an export.
var (
	// ErrEmptyRange means that a range ends before it begins.
	ErrEmptyRange = errors.New("the range ends before it begins")
	// ErrOtherExports means that the folder has exports that are not known to be of the same journal.
	ErrOtherExports = errors.New("the folder has exports of another journal: export into another folder")
)

// placement says how the rows of a table are selected and ordered for an export.
type placement struct {
	seq    string // the column with the seq; "" if the table has none
	ts     string // the column with the time; "" if it has none
	second bool   // ts is in seconds, not in ns
	order  string
	money  []string // the columns with amounts of money, in pips
}

// placements are those of the tables by id.
var placements = [tableCount]placement{
	users:        {ts: "created_ts", order: "created_ts, user_id"},
	orders:       {seq: "created_seq", ts: "created_ts", order: "created_seq"},
	fills:        {seq: "seq", ts: "ts", order: "seq, user_id, n", money: []string{"fee"}},
	trades:       {seq: "seq", ts: "ts", order: "seq, market_id, n"},
	settlements:  {seq: "seq", ts: "ts", order: "seq, user_id, n", money: []string{"payout", "cost"}},
	ledger:       {seq: "seq", ts: "ts", order: "seq, user_id, n", money: []string{"amount", "balance_after"}},
	rounds:       {seq: "seq", ts: "open_ts", order: "open_ts, number"},
	evidence:     {ts: "second", second: true, order: "second, number, kind"},
	roundSeconds: {ts: "second", second: true, order: "second, number"},
	ticks:        {ts: "second", second: true, order: "second, feed"},
	userRounds:   {seq: "last_update_seq", order: "number, user_id", money: []string{"paid", "received", "fees", "payout", "profit"}},
	forecasts:    {seq: "seq", ts: "ts", order: "seq, user_id, n"},
	actions:      {seq: "seq", ts: "ts", order: "seq"},
}

// ExportTables returns the tables that can be exported, with the names that their files get.
func ExportTables() []export.Table {
	out := make([]export.Table, len(schema))
	for i := range schema {
		out[i] = exportTable(&schema[i])
	}
	return out
}

func exportTable(t *table) export.Table {
	out := export.Table{Name: t.name}
	for _, c := range t.columns {
		k := map[kind]export.Kind{integer: export.Int, unsigned: export.Uint, text: export.Text, boolean: export.Bool}[c.kind]
		switch {
		case slices.Contains(placements[t.id].money, c.name):
			k = export.Money
		case strings.HasSuffix(c.name, "ts"):
			k = export.Time
		}
		out.Columns = append(out.Columns, export.Column{Name: c.name, Kind: k})
	}
	return out
}

// Export writes the rows of tables in a range to files, and returns what the manifest says of them.
// All rows are of one state of the database, that of its cursor; a venue may run meanwhile. A table
// without seqs is selected by the time of the rows that have one. A database of another journal is
// ErrOtherVenue, and a folder with exports of another one ErrOtherExports. progress is called often with
// the rows written so far and in total; nil is not called. The caller closes or aborts the files.
func Export(ctx context.Context, o Options, names []string, r Range, to *export.Files, progress func(done, total uint64)) (m export.Manifest, err error) {
	if r.ToSeq != 0 && r.FromSeq > r.ToSeq || r.ToTs != 0 && r.FromTs >= r.ToTs {
		return m, ErrEmptyRange
	}
	s, err := openCurrent(ctx, o, forReading)
	if err != nil {
		return m, err
	}
	defer s.close()
	options := &sql.TxOptions{ReadOnly: true}
	if isPostgres(o.DSN) {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.reader().BeginTx(ctx, options)
	if err != nil {
		return m, err
	}
	defer tx.Rollback() //nolint:errcheck // it has only read
	at, err := scanCursor(tx.QueryRowContext(ctx, selectCursor).Scan)
	if err != nil {
		return m, err
	}
	if err := ofJournal(ctx, o.Journal, &at); err != nil {
		return m, err
	}
	e := &exporter{store: s, tx: tx, at: &at, to: to, progress: progress, r: r}
	if err := e.sameJournal(ctx, o.Journal, to.Present()); err != nil {
		return m, err
	}
	if err := e.bound(ctx); err != nil {
		return m, err
	}
	var tables []*table
	for i := range schema {
		if slices.Contains(names, schema[i].name) {
			tables = append(tables, &schema[i])
		}
	}
	for _, t := range tables {
		n, err := e.count(ctx, t)
		if err != nil {
			return m, err
		}
		e.total += n
	}
	for _, t := range tables {
		if err := e.table(ctx, t); err != nil {
			return m, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	last, err := e.lastAction(ctx)
	return export.Manifest{FromSeq: e.r.FromSeq, ToSeq: e.r.ToSeq, Chain: hex.EncodeToString(at.Chain[:]), Group: at.Number, LastAction: last}, err
}

// ofJournal returns ErrOtherVenue if the journal in dir does not have the position of a cursor.
func ofJournal(ctx context.Context, dir string, at *cursor) error {
	if _, err := inJournal(ctx, dir, at.Position); err != nil {
		return fmt.Errorf("%w: the journal of the data directory does not have its group %d with the same running hash. Name the data directory of the venue, or run dx mirror rebuild", ErrOtherVenue, at.Number)
	}
	return nil
}

// inJournal reports whether the journal in dir has a position; ErrOtherLog means that it has another one
// there. A journal that is absent, trimmed or damaged says nothing about it, and that is false: an export also
// saves the rows of a venue that has lost its journal.
func inJournal(ctx context.Context, dir string, p journal.Position) (bool, error) {
	l, err := journal.NewReader(dir)
	if err != nil {
		return false, nil //nolint:nilerr // as above
	}
	for _, err := range l.Tail(ctx, p) {
		if errors.Is(err, journal.ErrOtherLog) {
			return false, err
		}
		return err == nil, nil
	}
	return true, nil
}

// sameJournal returns ErrOtherExports unless the exports that a folder has are of the journal of the database.
// The journal shows it while it has the group at which the newest one was made. Later the newest action at that
// time does: its row stays in the database, and no two venues have an action with the same seq in the same ns.
func (e *exporter) sameJournal(ctx context.Context, dir string, m *export.Manifest) error {
	if m == nil || m.Chain == hex.EncodeToString(e.at.Chain[:]) {
		return nil
	}
	chain, err := hex.DecodeString(m.Chain)
	if err != nil || len(chain) != len(e.at.Chain) {
		return fmt.Errorf("%w: its chain is %q", ErrOtherExports, m.Chain)
	}
	same, err := inJournal(ctx, dir, journal.Position{Number: m.Group, Chain: [32]byte(chain)})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOtherExports, err)
	}
	if same {
		return nil
	}
	if m.LastAction != nil {
		var ts int64
		err := e.tx.QueryRowContext(ctx, e.store.rebind(`SELECT ts FROM actions WHERE seq = ?`), int64(m.LastAction.Seq)).Scan(&ts)
		if err == nil && ts == m.LastAction.Ts {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return fmt.Errorf("%w: neither the journal nor the mirror has what the newest of them ends with", ErrOtherExports)
}

// lastAction returns the newest row of actions, nil if there is none.
func (e *exporter) lastAction(ctx context.Context) (*export.Action, error) {
	var seq int64
	a := &export.Action{}
	err := e.tx.QueryRowContext(ctx, `SELECT seq, ts FROM actions ORDER BY seq DESC LIMIT 1`).Scan(&seq, &a.Ts)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	a.Seq = uint64(seq)
	return a, err
}

// exporter writes tables from one transaction.
type exporter struct {
	store       store
	tx          *sql.Tx
	at          *cursor
	to          *export.Files
	r           Range // with all four bounds
	partial     bool  // a range was asked for
	bySeq       bool
	done, total uint64
	progress    func(done, total uint64)
}

// stamped are the tables whose rows have a seq and a time.
var stamped = []tableID{orders, fills, trades, settlements, ledger, forecasts, actions}

// bound fills the bounds of the range that are not set: those of the database, and of the other kind.
// The seq and the time of a row order the rows alike, so a bound of one kind has a place among the
// other: the first row at or after it. Ranges that adjoin share that place, and so share no row and
// leave none out.
func (e *exporter) bound(ctx context.Context) (err error) {
	at := e.at
	e.partial = e.r != Range{}
	e.bySeq = e.r.FromTs == 0 && e.r.ToTs == 0
	if e.bySeq {
		e.r.FromSeq = max(e.r.FromSeq, at.since+1)
		e.r.ToSeq = min(cmp.Or(e.r.ToSeq, at.Seq), at.Seq)
		if e.r.FromSeq > e.r.ToSeq { // no row has such a seq, or is of its time
			return nil
		}
		if e.r.FromSeq > at.since+1 { // else whatever came before the first row belongs to it
			if e.r.FromTs, err = e.first(ctx, "ts", "seq", int64(e.r.FromSeq)); err != nil {
				return err
			}
		}
		e.r.ToTs = math.MaxInt64
		if e.r.ToSeq < at.Seq {
			e.r.ToTs, err = e.first(ctx, "ts", "seq", int64(e.r.ToSeq+1))
		}
		return err
	}
	first, err := e.first(ctx, "seq", "ts", e.r.FromTs)
	if err != nil {
		return err
	}
	behind := int64(at.Seq) + 1
	if e.r.ToTs == 0 {
		e.r.ToTs = math.MaxInt64
	} else if behind, err = e.first(ctx, "seq", "ts", e.r.ToTs); err != nil {
		return err
	}
	if behind = min(behind, int64(at.Seq)+1); first < behind {
		e.r.FromSeq, e.r.ToSeq = uint64(first), uint64(behind)-1
	}
	return nil
}

// first returns the least value of one column, seq or ts, over the rows of the stamped tables whose
// other one is at least from; the greatest integer if there is no such row.
func (e *exporter) first(ctx context.Context, of, by string, from int64) (least int64, err error) {
	column := func(t tableID, name string) string {
		if name == "seq" {
			return placements[t].seq
		}
		return placements[t].ts
	}
	least = math.MaxInt64
	for _, id := range stamped {
		var n sql.NullInt64
		query := fmt.Sprintf(`SELECT min("%s") FROM "%s" WHERE "%s" >= ?`, column(id, of), schema[id].name, column(id, by))
		if err := e.tx.QueryRowContext(ctx, e.store.rebind(query), from).Scan(&n); err != nil {
			return 0, err
		}
		if n.Valid {
			least = min(least, n.Int64)
		}
	}
	return least, nil
}

// where returns the condition that selects the rows of a table. The time of a row of a second is its
// start.
func (e *exporter) where(t *table) (condition string, args []any) {
	p := &placements[t.id]
	switch {
	case p.seq != "" && (e.bySeq || p.ts == ""):
		return fmt.Sprintf(`"%s" >= ? AND "%s" <= ?`, p.seq, p.seq), []any{int64(e.r.FromSeq), int64(e.r.ToSeq)}
	case p.second:
		begun := func(ts int64) int64 { return ts/1e9 + min(1, ts%1e9) } // the first second that starts at or after ts
		return fmt.Sprintf(`"%s" >= ? AND "%s" < ?`, p.ts, p.ts), []any{begun(e.r.FromTs), begun(e.r.ToTs)}
	default:
		return fmt.Sprintf(`"%s" >= ? AND "%s" < ?`, p.ts, p.ts), []any{e.r.FromTs, e.r.ToTs}
	}
}

// whole returns the time of which the export has every row of a table: within the range, and up to the stamp of
// the cursor. Commands after the cursor add rows of later times only, except that an opening and a freeze add
// evidence of the seconds before.
func (e *exporter) whole(ctx context.Context, t *table) (out export.Span, err error) {
	known := e.at.Stamp
	if t.id == evidence {
		var window sql.NullInt64 // the start of the first settle window whose round is not frozen
		if err := e.tx.QueryRowContext(ctx, `SELECT min(close_ts - twap_window_secs * 1000000000) FROM rounds WHERE status = 'trading'`).Scan(&window); err != nil {
			return out, err
		}
		if window.Valid {
			known = min(known, window.Int64)
		}
		known -= (feed.CarrySecs + 1) * core.NsPerSec // how far back a strike and the first second of a window reach
	}
	out = export.Span{From: e.r.FromTs, To: min(e.r.ToTs, known)}
	p := &placements[t.id]
	if e.bySeq && p.seq != "" && p.ts != "" {
		// The rows outside say more than the range does: its first row can be the first of a day, and a round of
		// a day before its end can have changed after it.
		out.From = 0
		for _, x := range []struct {
			query string
			seq   uint64
			then  func(ts int64)
		}{
			{`SELECT max("%s") FROM "%s" WHERE "%s" < ?`, e.r.FromSeq, func(ts int64) { out.From = ts + 1 }},
			{`SELECT min("%s") FROM "%s" WHERE "%s" > ?`, e.r.ToSeq, func(ts int64) { out.To = min(out.To, ts) }},
		} {
			var ts sql.NullInt64
			if err := e.tx.QueryRowContext(ctx, e.store.rebind(fmt.Sprintf(x.query, p.ts, t.name, p.seq)), int64(x.seq)).Scan(&ts); err != nil {
				return out, err
			}
			if ts.Valid {
				x.then(ts.Int64)
			}
		}
	}
	if e.at.since > 0 { // rows before the first one are missing
		first, err := e.first(ctx, "ts", "seq", int64(e.at.since+1))
		if err != nil {
			return out, err
		}
		out.From = max(out.From, first)
	}
	return out, nil
}

func (e *exporter) count(ctx context.Context, t *table) (n uint64, err error) {
	condition, args := e.where(t)
	err = e.tx.QueryRowContext(ctx, e.store.rebind(fmt.Sprintf(`SELECT count(*) FROM "%s" WHERE %s`, t.name, condition)), args...).Scan(&n)
	return n, err
}

// table writes the rows of one table.
func (e *exporter) table(ctx context.Context, t *table) error {
	whole, err := e.whole(ctx, t)
	if err != nil {
		return err
	}
	if e.partial { // two parts of a table without a time share a folder, like two days
		e.to.Part = fmt.Sprintf("%d-%d", e.r.FromSeq, e.r.ToSeq)
	}
	shown := exportTable(t)
	if err := e.to.Table(&shown, whole); err != nil {
		return err
	}
	condition, args := e.where(t)
	rows, err := e.tx.QueryContext(ctx, e.store.rebind(fmt.Sprintf(`SELECT %s FROM "%s" WHERE %s ORDER BY %s`, names(t.columns), t.name, condition, placements[t.id].order)), args...)
	if err != nil {
		return err
	}
	time := slices.IndexFunc(t.columns, func(c column) bool { return c.name == placements[t.id].ts })
	return eachRow(rows, func(values []any) error {
		for i, c := range t.columns {
			if values[i], err = exportValue(c.kind, values[i]); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		ts := int64(0)
		if time >= 0 {
			if ts = values[time].(int64); placements[t.id].second {
				ts *= 1e9
			}
		}
		if err := e.to.Row(ts, values); err != nil {
			return err
		}
		if e.done++; e.progress != nil {
			e.progress(e.done, e.total)
		}
		return nil
	})
}

// exportValue returns a value of either database as the type of its column.
func exportValue(k kind, v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case int64:
		switch k {
		case unsigned:
			return uint64(v), nil
		case boolean:
			return v != 0, nil
		}
		return v, nil
	case bool:
		return v, nil
	case []byte:
		return exportValue(k, string(v))
	case string:
		if k == unsigned {
			n, err := strconv.ParseUint(v, 10, 64)
			return n, err
		}
		return v, nil
	}
	return nil, fmt.Errorf("a value of type %T", v)
}
