package mirror

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// The names of the PostgreSQL schemas that hold the tables: of the mirror in use, and of one that
// is being built beside it.
const (
	postgresSchema      = "duplex"
	postgresFreshSchema = "duplex_new"
)

// partitionSeqs is the number of seqs of a partition.
const partitionSeqs = 1 << 24

// postgres is a database of a PostgreSQL server.
type postgres struct {
	config *pgx.ConnConfig
	schema string
	conn   *pgx.Conn // of the writer; nil after an error
	reads  *sql.DB
	parts  map[string]bool          // partitions and staging tables that exist, of this connection
	fault  func(point string) error // see store.inject
	leased bool                     // conn holds the lease
	using  sync.Mutex               // of conn, once it is leased
	end    func()                   // ends the signs of life of conn; nil: there are none
}

// openPostgres opens the mirror in the database that dsn names, or an empty one beside it.
func openPostgres(ctx context.Context, dsn string, u use) (_ *postgres, err error) {
	config, err := parsePostgres(dsn)
	if err != nil {
		return nil, err
	}
	p := &postgres{schema: postgresSchema, fault: noFault, leased: u == forSharing}
	readOnly := u == forReading || u == forPages
	if u == asFresh {
		p.schema = postgresFreshSchema
	}
	config.RuntimeParams["search_path"] = p.schema
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "duplex mirror"
	}
	config.RuntimeParams["synchronous_commit"] = "off" // sync waits for the disk
	if readOnly {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	p.config = config
	defer func() {
		if err != nil {
			_ = p.close() // the first error counts
		}
	}()
	if p.conn, err = p.connect(ctx); err != nil {
		return nil, err
	}
	if u == asFresh {
		if err := p.exec(ctx, "DROP SCHEMA IF EXISTS "+p.schema+" CASCADE"); err != nil {
			return nil, err
		}
	}
	var there bool
	if err := p.conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", p.schema).Scan(&there); err != nil {
		return nil, err
	}
	if !there && !readOnly {
		if err := p.exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+p.schema); err != nil {
			return nil, p.explain(err)
		}
	}
	if err := prepare(ctx, p, &postgresDialect, u); err != nil {
		return nil, p.explain(err)
	}
	reads := config.Copy()
	if u != forReading {
		maps.Copy(reads.RuntimeParams, pageSettings)
	}
	p.reads = stdlib.OpenDB(*reads)
	p.reads.SetMaxOpenConns(readPool)
	p.reads.SetMaxIdleConns(readPool)
	if p.leased {
		alive, cancel := context.WithCancel(context.Background())
		var signs sync.WaitGroup
		signs.Go(func() { p.keepLease(alive) })
		p.end = func() {
			cancel()
			signs.Wait()
		}
	}
	return p, nil
}

// pageSettings make the server read a page in the order of an index whatever its statistics say, which
// are missing in a table that was just filled, and plan each query once.
var pageSettings = map[string]string{
	"plan_cache_mode": "force_generic_plan", "jit": "off", "enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off",
}

// parsePostgres parses an address. An error says nothing of it, because it has a password.
func parsePostgres(dsn string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the address of the mirror must look like postgres://user:password@host:5432/database, with a port from 1 to 65535")
	}
	return config, nil
}

// minPostgres is the oldest version of PostgreSQL that the mirror uses.
const minPostgres = 140000

func (p *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, err
	}
	var version string
	if err := c.QueryRow(ctx, "SHOW server_version_num").Scan(&version); err != nil {
		_ = c.Close(ctx) // the first error counts
		return nil, err
	}
	if n, err := strconv.Atoi(version); err != nil || n < minPostgres {
		_ = c.Close(ctx)
		return nil, fmt.Errorf("PostgreSQL 14 or newer is required; the server is %s", c.PgConn().ParameterStatus("server_version"))
	}
	if p.leased {
		if err := lease(ctx, c); err != nil {
			_ = c.Close(ctx) // the first error counts
			return nil, err
		}
	}
	return c, nil
}

// explain says which right the role lacks.
func (p *postgres) explain(err error) error {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "42501" {
		return fmt.Errorf("the role %s lacks a right: %w. It needs CREATE on the database %s, or to own the schema %s", p.config.User, err, p.config.Database, p.schema)
	}
	return err
}

func (p *postgres) exec(ctx context.Context, q string, args ...any) error {
	_, err := p.conn.Exec(ctx, q, args...)
	return err
}

func (p *postgres) version(ctx context.Context) (n int, err error) {
	var there bool
	if err := p.conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", p.schema+".schema_version").Scan(&there); err != nil || !there {
		return 0, err
	}
	return n, p.conn.QueryRow(ctx, "SELECT version FROM schema_version").Scan(&n)
}

func (p *postgres) start(ctx context.Context, c cursor) error {
	p.using.Lock()
	defer p.using.Unlock()
	return p.exec(ctx, p.rebind(insertCursor), c.insertArgs()...)
}

func (p *postgres) cursor(ctx context.Context) (cursor, error) {
	p.using.Lock()
	defer p.using.Unlock()
	if err := p.reconnect(ctx); err != nil {
		return cursor{}, err
	}
	c, err := scanCursor(p.conn.QueryRow(ctx, selectCursor).Scan)
	if errors.Is(err, pgx.ErrNoRows) {
		return cursor{}, nil
	}
	return c, p.lost(err)
}

// reconnect connects again after an error.
func (p *postgres) reconnect(ctx context.Context) (err error) {
	if p.conn == nil || p.conn.IsClosed() {
		p.conn, err = p.connect(ctx)
	}
	return err
}

// lost closes the connection after an error, so that the next use connects again. It turns a missing
// table into errRebuilt.
func (p *postgres) lost(err error) error {
	if err == nil {
		return nil
	}
	if p.conn != nil {
		_ = p.conn.Close(context.Background()) // err is the reason
		p.conn, p.parts = nil, nil
	}
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && (e.Code == "42P01" || e.Code == "3F000") {
		return errors.Join(errRebuilt, err)
	}
	return err
}

func (p *postgres) write(ctx context.Context, build int64, b *batch) error {
	p.using.Lock()
	defer p.using.Unlock()
	if err := p.reconnect(ctx); err != nil {
		return err
	}
	return p.lost(p.commit(ctx, build, b))
}

func (p *postgres) commit(ctx context.Context, build int64, b *batch) error {
	if err := p.fault("BEGIN"); err != nil {
		return err
	}
	tx, err := p.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // a no-op after the commit
	if err := p.fault("UPDATE cursor"); err != nil {
		return err
	}
	r, err := tx.Exec(ctx, p.rebind(updateCursor), b.cursorArgs(build)...)
	if err != nil {
		return err
	}
	if r.RowsAffected() == 0 {
		now, err := scanCursor(tx.QueryRow(ctx, selectCursor).Scan)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return b.moved(now, build)
	}
	for i := range schema {
		if len(b.values[i]) == 0 {
			continue
		}
		if err := p.copyRows(ctx, tx, &schema[i], b.values[i], schema[i].onConflict()); err != nil {
			return fmt.Errorf("%s: %w", schema[i].name, err)
		}
	}
	if o := b.older; o != nil {
		if err := p.writeOlder(ctx, tx, o); err != nil {
			return fmt.Errorf("older rows: %w", err)
		}
	}
	if err := p.fault("COMMIT"); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return p.fault("after COMMIT")
}

// sync commits a transaction that waits for the disk, and with that for all before it.
func (p *postgres) sync(ctx context.Context) error {
	if err := p.fault("sync"); err != nil {
		return err
	}
	p.using.Lock()
	defer p.using.Unlock()
	if err := p.reconnect(ctx); err != nil {
		return err
	}
	_, err := p.conn.Exec(ctx, "BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_current_xact_id(); COMMIT")
	return p.lost(err)
}

func (p *postgres) inject(fault func(string) error) { p.fault = fault }

// writeOlder writes rows from before the mirror began, where there are none.
func (p *postgres) writeOlder(ctx context.Context, tx pgx.Tx, o *olderBatch) error {
	if len(o.values) > 0 {
		if err := p.copyRows(ctx, tx, o.table, o.values, orNothing); err != nil {
			return err
		}
	}
	return o.write(func(q string, args ...any) error {
		_, err := tx.Exec(ctx, p.rebind(q), args...)
		return err
	})
}

// copyRows copies the rows of one table, those that may exist already through a staging table.
func (p *postgres) copyRows(ctx context.Context, tx pgx.Tx, t *table, values []any, onConflict string) error {
	if err := p.partition(ctx, tx, t, values); err != nil {
		return err
	}
	to := t.name
	if onConflict != "" {
		to = "staged_" + t.name
		key := "staged " + t.name
		if !p.parts[key] { // of this connection alone
			if _, err := tx.Exec(ctx, fmt.Sprintf("CREATE TEMPORARY TABLE IF NOT EXISTS %s (LIKE %s INCLUDING DEFAULTS) ON COMMIT DELETE ROWS", to, t.name)); err != nil {
				return err
			}
			p.know(key)
		}
	}
	columns := make([]string, len(t.columns))
	for i, c := range t.columns {
		columns[i] = c.name
	}
	where := pgx.Identifier{p.schema, to}
	if onConflict != "" {
		where = pgx.Identifier{"pg_temp", to}
	}
	if err := p.fault(t.name); err != nil {
		return err
	}
	if _, err := tx.CopyFrom(ctx, where, columns, &rowSource{values: values, width: len(columns)}); err != nil {
		return err
	}
	if onConflict == "" {
		return nil
	}
	if err := p.fault("upsert " + t.name); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM pg_temp.%s%s", t.name, names(t.columns), names(t.columns), to, onConflict))
	return err
}

func (p *postgres) know(key string) {
	if p.parts == nil {
		p.parts = map[string]bool{}
	}
	p.parts[key] = true
}

// partition creates the partitions that the rows of a table need.
func (p *postgres) partition(ctx context.Context, tx pgx.Tx, t *table, values []any) error {
	if t.by == "" {
		return nil
	}
	at := 0
	for t.columns[at].name != t.by {
		at++
	}
	low, high := int64(math.MaxInt64), int64(0)
	for i := at; i < len(values); i += len(t.columns) {
		n := values[i].(int64) / partitionSeqs
		low, high = min(low, n), max(high, n)
	}
	for n := low; n <= high; n++ {
		name := fmt.Sprintf("%s_p%d", t.name, n)
		if p.parts[name] {
			continue
		}
		sql := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s PARTITION OF %s FOR VALUES FROM (%d) TO (%d)", name, t.name, n*partitionSeqs, (n+1)*partitionSeqs)
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
		p.know(name)
	}
	return nil
}

// rowSource gives the rows of a batch to CopyFrom.
type rowSource struct {
	values []any
	width  int
	row    []any
}

func (r *rowSource) Next() bool {
	if len(r.values) == 0 {
		return false
	}
	r.row, r.values = r.values[:r.width], r.values[r.width:]
	return true
}

func (r *rowSource) Values() ([]any, error) { return r.row, nil }
func (r *rowSource) Err() error             { return nil }

// page reads the values as the server sends them, which takes half the time of database/sql.
func (p *postgres) page(ctx context.Context, query string, args []any, row func([]any) error) error {
	conn, err := p.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	return conn.Raw(func(driver any) error {
		rows, err := driver.(*stdlib.Conn).Conn().Query(ctx, p.rebind(query), append([]any{pageFormats}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		values := make([]any, len(rows.FieldDescriptions()))
		for rows.Next() {
			raw := rows.RawValues()
			for i, f := range rows.FieldDescriptions() {
				values[i] = decodeValue(f.DataTypeOID, raw[i])
			}
			if err := row(values); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// pageFormats are the formats of values in pages: binary integers and booleans, and everything else,
// numeric among it, as text.
var pageFormats = pgx.QueryResultFormatsByOID{pgtype.Int8OID: pgx.BinaryFormatCode, pgtype.BoolOID: pgx.BinaryFormatCode}

// decodeValue decodes a value in the format of pageFormats. nil is NULL.
func decodeValue(oid uint32, raw []byte) any {
	switch {
	case raw == nil:
		return nil
	case oid == pgtype.Int8OID && len(raw) == 8:
		return int64(binary.BigEndian.Uint64(raw))
	case oid == pgtype.BoolOID && len(raw) == 1:
		return raw[0] != 0
	}
	return string(raw)
}

func (p *postgres) reader() *sql.DB { return p.reads }

// rebind writes the parameters as $1, $2 and so on.
func (p *postgres) rebind(query string) string {
	var out strings.Builder
	n := 0
	for _, c := range query {
		if c == '?' {
			n++
			fmt.Fprintf(&out, "$%d", n)
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

func (p *postgres) close() error {
	var errs []error
	if p.end != nil {
		p.end()
	}
	p.using.Lock()
	defer p.using.Unlock()
	if p.reads != nil {
		errs = append(errs, p.reads.Close())
	}
	if p.conn != nil {
		errs = append(errs, p.conn.Close(context.Background()))
	}
	return errors.Join(errs...)
}
