package mirror

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"text/template"
)

// kind is what a column holds. Every kind is an int64, a uint64, a string or a bool in a batch; nil
// is NULL.
type kind uint8

const (
	integer kind = iota
	unsigned
	text
	boolean
)

// table describes a table of the schema. The migrations create it.
type table struct {
	id      tableID
	name    string
	keys    int // the first columns are the key
	columns []column
	changes bool   // rows change, and are then written again
	final   int    // columns up to this one never change
	by      string // the column by which PostgreSQL partitions the table; "" if it does not
}

type column struct {
	name string
	kind kind
}

type tableID uint8

const (
	users tableID = iota
	orders
	fills
	trades
	settlements
	ledger
	rounds
	evidence
	roundSeconds
	ticks
	userRounds
	forecasts
	actions

	tableCount
)

// schema has the tables in the order of their ids. In a list of columns "|" ends the key and "!"
// ends the columns that never change; the kind of a column follows a colon, and is integer without
// one.
var schema = func() (all [tableCount]table) {
	for i, t := range []table{
		parseTable("users", "", "user_id | ! name:text referrer_id owner_id suspended:bool created_ts"),
		parseTable("orders", "created_seq", "user_id created_seq | created_ts order_id client_order_id:u64 market_id generation side:text outcome:text type:text tick qty tif:text expiry_ts max_cost:u64 group_id flags api_key:text ! status:text reason:text filled_qty remaining_qty last_update_seq"),
		parseTable("fills", "seq", "user_id n | seq ts market_id generation round_number category order_id client_order_id:u64 role:text side:text outcome:text qty tick_yes path:text fee api_key:text"),
		parseTable("trades", "seq", "market_id n | seq ts generation tick_yes qty path:text taker_side:text taker_outcome:text"),
		parseTable("settlements", "seq", "user_id n | seq ts market_id generation round_number category outcome_status:text winner:text yes_qty no_qty payout cost settle_price strike"),
		parseTable("ledger", "seq", "user_id n | seq ts kind:text amount balance_after market_id generation round_number category order_id fill_n ref:text"),
		parseTable("rounds", "", "number | market_id generation category feed twap_window_secs ! status:text strike settle_price winner:text fresh_source_count_at_freeze gen open_ts close_ts freeze_ts resolve_ts proposed_ts paused:bool covered_secs by_operator:bool seq"),
		parseTable("evidence", "", "number kind:text second | ! feed price fresh_source_count manual:bool sources:text"),
		parseTable("round_seconds", "", "number second | index yes_bid yes_ask last volume"),
		parseTable("ticks", "", "feed second | ! price sources"),
		parseTable("user_rounds", "", "user_id number | market_id generation category ! status:text winner:text bought_yes bought_no sold_yes sold_no redeemed paid received fees payout profit last_update_seq"),
		parseTable("forecasts", "", "user_id n | seq ts market_id generation round_number category p"),
		parseTable("actions", "", "seq | ts who:text why:text action:text user_id market_id detail:text refused:text"),
	} {
		t.id = tableID(i)
		all[i] = t
	}
	return all
}()

func parseTable(name, by, columns string) table {
	t := table{name: name, by: by}
	for word := range strings.FieldsSeq(columns) {
		switch word {
		case "|":
			t.keys = len(t.columns)
		case "!":
			t.changes, t.final = true, len(t.columns)
		default:
			name, k, _ := strings.Cut(word, ":")
			t.columns = append(t.columns, column{name, map[string]kind{"": integer, "u64": unsigned, "text": text, "bool": boolean}[k]})
		}
	}
	return t
}

// names returns the names of columns, quoted and separated by commas.
func names(columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = `"` + c.name + `"`
	}
	return strings.Join(list, ", ")
}

// mayExist reports whether the projector can meet a row that it writes: one that changes, or one that a
// backfill has brought before, which only the seq of a row prevents.
func (t *table) mayExist() bool { return t.changes || placements[t.id].seq == "" }

// orNothing is the clause that keeps the row with the same key.
const orNothing = " ON CONFLICT DO NOTHING"

// onConflict returns the clause that replaces a row with the same key.
func (t *table) onConflict() string {
	if !t.mayExist() {
		return ""
	}
	sets := make([]string, 0, len(t.columns))
	for _, c := range t.columns[max(t.keys, t.final):] {
		sets = append(sets, fmt.Sprintf(`"%s" = excluded."%s"`, c.name, c.name))
	}
	return fmt.Sprintf(" ON CONFLICT (%s) DO UPDATE SET %s", names(t.columns[:t.keys]), strings.Join(sets, ", "))
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one step of the schema: its number is its place, from 1.
type migration struct {
	name       string
	statements []string
}

// dialect has what the databases write differently.
type dialect struct {
	types  map[string]string
	end    string // of a table
	bySeq  func(column string) string
	keySeq func(column string) string
	member func(column, name string) string // of a JSON object in a column
}

var sqliteDialect = dialect{
	types:  map[string]string{"int": "INTEGER", "u64": "INTEGER", "text": "TEXT", "bool": "INTEGER", "bytes": "BLOB"},
	end:    " STRICT, WITHOUT ROWID",
	bySeq:  func(string) string { return " STRICT, WITHOUT ROWID" },
	keySeq: func(string) string { return "" },
	member: func(column, name string) string { return column + " ->> '" + name + "'" },
}

var postgresDialect = dialect{
	types:  map[string]string{"int": "bigint", "u64": "numeric(20)", "text": "text", "bool": "boolean", "bytes": "bytea"},
	bySeq:  func(column string) string { return " PARTITION BY RANGE (" + column + ")" },
	keySeq: func(column string) string { return ", " + column },
	member: func(column, name string) string { return column + "::json ->> '" + name + "'" },
}

// migrations returns the migrations in a dialect, in their order.
func (d *dialect) migrations() (list []migration, err error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{"plain": func() string { return d.end }, "by": d.bySeq, "key": d.keySeq, "member": d.member}
	for name, sql := range d.types {
		funcs[name] = func() string { return sql }
	}
	for i, name := range files {
		if want := fmt.Sprintf("migrations/%04d_", i+1); !strings.HasPrefix(name, want) {
			return nil, fmt.Errorf("%s: the name does not begin with %s", name, want)
		}
		source, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		tmpl, err := template.New(name).Funcs(funcs).Parse(string(source))
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		if err := tmpl.Execute(&out, nil); err != nil {
			return nil, err
		}
		list = append(list, migration{name, splitStatements(out.String())})
	}
	return list, nil
}

// schemaVersion returns the version of the newest schema.
func schemaVersion() int {
	files, _ := fs.Glob(migrationFiles, "migrations/*.sql") // the pattern is valid
	return len(files)
}

// splitStatements splits SQL at the semicolons that end a line.
func splitStatements(sql string) (list []string) {
	for s := range strings.SplitSeq(sql, ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}
