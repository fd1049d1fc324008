package mirror

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Errors that stop a projector for good. The error in which they are wrapped says what to do.
var (
	// ErrOtherProjector means that another process writes to the database.
	ErrOtherProjector = errors.New("another projector writes to this database")
	// ErrOtherVenue means that the rows are not those of this journal.
	ErrOtherVenue = errors.New("the database does not belong to this journal")
	// ErrNewerSchema means that a newer program has changed the schema.
	ErrNewerSchema = errors.New("the database has a newer schema than this version of dx knows")
	// ErrOlderSchema means that no writer of this version has opened the database yet. It stops only
	// readers.
	ErrOlderSchema = errors.New("the database has an older schema than this version of dx reads")
	// ErrTrimmed means that the journal no longer has the groups that the database lacks.
	ErrTrimmed = errors.New("the journal no longer has the groups that the mirror lacks")
	// ErrUnsynced means that a sync of the database has failed, so that it may lack rows after a loss
	// of power, whatever a later sync says.
	ErrUnsynced = errors.New("a sync of the mirror's database has failed")
	// errRebuilt means that the database was built anew, or deleted, while it was open.
	errRebuilt = errors.New("the database was replaced while it was open")
)

// cursor is how far the rows of a database go.
type cursor struct {
	position
	build int64  // a number of its own for each time the mirror is built
	since uint64 // rows of commands up to this seq are missing
	found bool   // false in a new database
}

// eachRow calls f with the values of each row, and closes rows. The slice is used again for the next row.
// It returns the first error of f.
func eachRow(rows *sql.Rows, f func(values []any) error) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readPool is the number of connections for reads.
const readPool = 8

// readTimeout bounds one read (docs/rules/history.md#read-time).
const readTimeout = 500 * time.Millisecond

// store is a database. One goroutine writes; any number read.
type store interface {
	// start puts a cursor into a new database.
	start(ctx context.Context, c cursor) error
	// cursor returns the cursor.
	cursor(ctx context.Context) (cursor, error)
	// write commits a batch. The error is ErrOtherProjector or errRebuilt if the cursor is not where
	// the batch begins; any other may pass, and then the batch may have been committed or not.
	write(ctx context.Context, build int64, b *batch) error
	// sync makes what was committed survive a loss of power. Without it that happens at some time, in
	// the order of the commits. ErrUnsynced is final; any other error may pass.
	sync(ctx context.Context) error
	// page calls row with the values of each row of a query, whose parameters are written as ?. The
	// slice is used again for the next row. It returns the first error of row.
	page(ctx context.Context, query string, args []any, row func(values []any) error) error
	// reader returns the database for reads of another kind.
	reader() *sql.DB
	// rebind returns a query whose parameters are written as ? in the form of the database.
	rebind(query string) string
	// version returns the version of the schema, 0 in an empty database.
	version(ctx context.Context) (int, error)
	close() error
	// inject sets a function that is called before each statement of write, and with "after COMMIT"
	// behind the last; its error is that of the statement.
	inject(fault func(point string) error)
	// replace puts a fresh database in the place of the one in use, and closes it.
	replace(ctx context.Context) error
}

// use is what a database is opened for.
type use uint8

const (
	forWriting use = iota // it is created if necessary, and its schema brought to the newest version
	forSharing            // the same, by the one of several nodes that gets the lease; else errLeased
	forReading            // nothing is changed, and the schema may be an older one
	forPages              // the same, for the pages of a venue
	asFresh               // an empty one is created beside it, which replace puts in its place
)

// CheckDSN returns an error unless a database can have the name dsn. It opens nothing.
func CheckDSN(dsn string) (err error) {
	if isPostgres(dsn) {
		_, err = parsePostgres(dsn)
	}
	return err
}

// openStore opens the database that dsn names.
func openStore(ctx context.Context, dsn string, u use) (store, error) {
	if isPostgres(dsn) {
		return openPostgres(ctx, dsn, u)
	}
	return openSQLite(ctx, dsn, u)
}

func isPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// executor is the part of a connection that prepare needs.
type executor interface {
	exec(ctx context.Context, sql string, args ...any) error
	version(ctx context.Context) (int, error) // 0 without the table of versions
}

// prepare brings the schema to the newest version, or with forReading checks that it can be read.
func prepare(ctx context.Context, to executor, d *dialect, u use) error {
	list, err := d.migrations()
	if err != nil {
		return err
	}
	at, err := to.version(ctx)
	if err != nil {
		return err
	}
	if at > len(list) {
		return fmt.Errorf("%w: version %d, and this one knows %d. Run the newer version, or dx mirror rebuild", ErrNewerSchema, at, len(list))
	}
	if u == forReading || u == forPages {
		if at == 0 {
			return ErrNoMirror
		}
		return nil
	}
	for n := at; n < len(list); n++ {
		if err := migrateOne(ctx, to, n+1, list[n].statements); err != nil {
			return fmt.Errorf("%s: %w", list[n].name, err)
		}
	}
	return nil
}

func migrateOne(ctx context.Context, to executor, version int, statements []string) (err error) {
	if err := to.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.exec(context.WithoutCancel(ctx), "ROLLBACK"))
		}
	}()
	if version == 1 {
		statements = append([]string{"CREATE TABLE schema_version (version INTEGER NOT NULL)", "INSERT INTO schema_version VALUES (0)"}, statements...)
	}
	for _, s := range append(statements, fmt.Sprintf("UPDATE schema_version SET version = %d", version)) {
		if err := to.exec(ctx, s); err != nil {
			return err
		}
	}
	return to.exec(ctx, "COMMIT")
}

// Statements about the cursor.
const (
	insertCursor = "INSERT INTO cursor (id, build, seq, number, chain, ts, since_seq) VALUES (1, ?, ?, ?, ?, ?, ?)"
	selectCursor = "SELECT build, seq, number, chain, ts, since_seq FROM cursor WHERE id = 1"
	updateCursor = "UPDATE cursor SET seq = ?, number = ?, chain = ?, ts = ? WHERE id = 1 AND build = ? AND seq = ? AND number = ?"
)

func (c *cursor) insertArgs() []any {
	return []any{c.build, int64(c.Seq), int64(c.Number), c.Chain[:], c.Stamp, int64(c.since)}
}

func (b *batch) cursorArgs(build int64) []any {
	return []any{int64(b.to.Seq), int64(b.to.Number), b.to.Chain[:], b.to.Stamp, build, int64(b.from.Seq), int64(b.from.Number)}
}

// scanCursor reads what selectCursor selects.
func scanCursor(scan func(...any) error) (c cursor, err error) {
	var seq, number, since int64
	var chain []byte
	if err = scan(&c.build, &seq, &number, &chain, &c.Stamp, &since); err != nil {
		return c, err
	}
	if len(chain) != len(c.Chain) {
		return c, fmt.Errorf("the running hash of the cursor has %d bytes", len(chain))
	}
	c.Seq, c.Number, c.since, c.Chain, c.found = uint64(seq), uint64(number), uint64(since), [32]byte(chain), true
	return c, nil
}

// moved explains an update of the cursor that changed no row. It returns nil if an earlier attempt has
// committed the batch and only its answer was lost; otherwise another program has written the database.
func (b *batch) moved(now cursor, build int64) error {
	if b.tried && now.found && now.build == build && now.position == b.to {
		return nil
	}
	if !now.found || now.build != build {
		return errRebuilt
	}
	return fmt.Errorf("%w: its cursor is at group %d, and should be at %d. Stop one of the two venues, or give each a database", ErrOtherProjector, now.Number, b.from.Number)
}

// newBuild returns the number of a new database. It tells one that was built anew, which is opened again, from
// one that a second projector has written, where the cursor is not where it should be.
func newBuild() int64 { return rand.Int64() }
