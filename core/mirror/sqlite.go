package mirror

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"duplex/core/journal"
	"duplex/internal/atomicfile"
)

// freshSuffix ends the name of a database that is being built beside the one in use.
const freshSuffix = ".new"

// sqlite is a database in a file.
type sqlite struct {
	path   string
	file   os.FileInfo // when it was opened
	db     *sql.DB     // of the writer
	conn   *sql.Conn
	reads  *sql.DB
	synced []*os.File // the WAL and the database, of a writer; each reports a failed write once since it was opened
	pages  sync.Map   // *sql.Stmt by its query
	insert map[insertion]*sql.Stmt
	fault  func(point string) error // see store.inject
}

// insertion is what a statement inserts.
type insertion struct {
	table      tableID
	rows       int
	onConflict string
}

// walPages is the size of the WAL, in pages of 4 KiB, at which a checkpoint begins, and to which the file is
// cut after one. A read that lasts keeps the checkpoint from ending, and the WAL grows meanwhile.
const walPages = 4000

// openSQLite opens the database at path, or an empty one beside it.
func openSQLite(ctx context.Context, path string, u use) (_ *sqlite, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockSQLite(path)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if u == asFresh {
		path += freshSuffix
		if err := removeSQLite(path); err != nil {
			return nil, err
		}
	}
	pragmas := []string{"busy_timeout(5000)", "query_only(1)"}
	if u != forReading {
		if err := createSQLite(path); err != nil {
			return nil, err
		}
		pragmas = []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-65536)", fmt.Sprintf("wal_autocheckpoint(%d)", walPages), fmt.Sprintf("journal_size_limit(%d)", walPages*4096)}
	}
	s := &sqlite{path: path, fault: noFault, insert: map[insertion]*sql.Stmt{}}
	defer func() {
		if err != nil {
			_ = s.close() // the first error counts
		}
	}()
	if s.db, err = sql.Open("sqlite", sqliteDSN(path, pragmas...)); err != nil {
		return nil, err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return nil, sqliteError(path, err)
	}
	if err := prepare(ctx, s, &sqliteDialect, u); err != nil {
		return nil, sqliteError(path, err)
	}
	if s.reads, err = sql.Open("sqlite", sqliteDSN(path, "busy_timeout(500)", "query_only(1)", "cache_size(-8192)")); err != nil {
		return nil, err
	}
	s.reads.SetMaxOpenConns(readPool)
	s.reads.SetMaxIdleConns(readPool)
	if u != forReading {
		for _, name := range []string{path + "-wal", path} {
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				return nil, err
			}
			s.synced = append(s.synced, f)
		}
	}
	s.file, err = os.Stat(path)
	return s, err
}

// unsyncedSuffix ends the name of a file that a failed sync leaves beside the database.
const unsyncedSuffix = ".unsynced"

// createSQLite creates an empty database, so that its mode is not the driver's, unless there is one. It
// refuses one of which a sync has failed.
func createSQLite(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		if err = os.Remove(path + unsyncedSuffix); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, f.Close())
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	why, err := os.ReadFile(path + unsyncedSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(unsynced(path, strings.TrimSpace(string(why))), err)
}

func unsynced(path, why string) error {
	return fmt.Errorf("%w (%s), and a later one may succeed without its data. The journal is kept from what was synced before. Either run dx mirror rebuild, or restart the machine, so that only what is on the disk is read, run dx mirror check, and if all is equal remove %s", ErrUnsynced, why, path+unsyncedSuffix)
}

func sqliteDSN(path string, pragmas ...string) string {
	q := url.Values{"_pragma": pragmas, "mode": {"rw"}} // never creates a file
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// sqliteError adds the path to an error of the database in that file, or is damageOfSQLite.
func sqliteError(path string, err error) error {
	if damage := damageOfSQLite(path, err); damage != nil {
		return damage
	}
	return fmt.Errorf("%s: %w", path, err)
}

// damageOfSQLite is a *journal.Damage, which is final, if err says that SQLite cannot read the file at path; else nil.
func damageOfSQLite(path string, err error) error {
	var e *sqlitedriver.Error
	if !errors.As(err, &e) || e.Code()&0xff != sqlitelib.SQLITE_CORRUPT && e.Code()&0xff != sqlitelib.SQLITE_NOTADB {
		return nil
	}
	return &journal.Damage{File: path, Err: fmt.Errorf("%w: run dx mirror rebuild, which reads the journal; or stop this node of a cluster and move the file away, and it copies the rows of another node", err)}
}

// lockSQLite waits for a lock that keeps every process from opening the database at path, or from
// replacing it: a WAL must never meet another file than its own. Closing it unlocks.
func lockSQLite(path string) (*fileutil.LockedFile, error) {
	return fileutil.LockFile(path+".lock", os.O_CREATE|os.O_WRONLY, 0o600)
}

func removeSQLite(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", unsyncedSuffix} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *sqlite) exec(ctx context.Context, q string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, q, args...)
	return err
}

func (s *sqlite) version(ctx context.Context) (n int, err error) {
	var tables int
	if err := s.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'").Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	return n, s.conn.QueryRowContext(ctx, "SELECT version FROM schema_version").Scan(&n)
}

func (s *sqlite) start(ctx context.Context, c cursor) error {
	return s.exec(ctx, insertCursor, c.insertArgs()...)
}

func (s *sqlite) cursor(ctx context.Context) (cursor, error) {
	c, err := scanCursor(s.conn.QueryRowContext(ctx, selectCursor).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return cursor{}, nil
	}
	return c, err
}

// write runs without the caller's context: its end would interrupt the database in the middle of a
// commit, and one batch takes milliseconds.
func (s *sqlite) write(_ context.Context, build int64, b *batch) (err error) {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(now, s.file) {
		return errRebuilt
	}
	ctx := context.Background()
	if err := s.fault("BEGIN"); err != nil {
		return err
	}
	if err := s.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.exec(ctx, "ROLLBACK") // fails if the error has ended the transaction
			err = cmp.Or(damageOfSQLite(s.path, err), err)
		}
	}()
	if err := s.fault("UPDATE cursor"); err != nil {
		return err
	}
	r, err := s.conn.ExecContext(ctx, updateCursor, b.cursorArgs(build)...)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		now, err := s.cursor(ctx)
		return errors.Join(err, b.moved(now, build), s.exec(ctx, "ROLLBACK"))
	}
	for i := range schema {
		if err := s.insertRows(ctx, &schema[i], b.values[i], schema[i].onConflict()); err != nil {
			return fmt.Errorf("%s: %w", schema[i].name, err)
		}
	}
	if o := b.older; o != nil {
		if err := s.writeOlder(ctx, o); err != nil {
			return fmt.Errorf("older rows: %w", err)
		}
	}
	if err := s.fault("COMMIT"); err != nil {
		return err
	}
	if err := s.exec(ctx, "COMMIT"); err != nil {
		return err
	}
	return s.fault("after COMMIT")
}

// writeOlder writes rows from before the mirror began, where there are none.
func (s *sqlite) writeOlder(ctx context.Context, o *olderBatch) error {
	if o.table != nil {
		if err := s.insertRows(ctx, o.table, o.values, orNothing); err != nil {
			return err
		}
	}
	return o.write(func(q string, args ...any) error { return s.exec(ctx, q, args...) })
}

// fdatasync is a variable for tests.
var fdatasync = fileutil.Fdatasync

// sync syncs the WAL, which commits do not, with synchronous = NORMAL, and the database: a checkpoint
// syncs whatever it needs, but does not report a failure. After a failure the system may drop what it
// could not write, and a second sync may succeed without it, so the error stops the projector, and a
// file beside the database keeps the next one from trusting it.
func (s *sqlite) sync(context.Context) error {
	if err := s.fault("sync"); err != nil {
		return err
	}
	wal, err := s.synced[0].Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(s.path + "-wal"); err != nil || !os.SameFile(now, wal) {
		return errRebuilt
	}
	for _, f := range s.synced {
		if err := fdatasync(f); err != nil {
			return errors.Join(unsynced(s.path, err.Error()), atomicfile.Write(s.path+unsyncedSuffix, []byte(err.Error()+"\n")))
		}
	}
	return nil
}

func (s *sqlite) inject(fault func(string) error) { s.fault = fault }

// noFault is the fault of a store that is no test.
func noFault(string) error { return nil }

// insertChunk is the highest number of rows that one statement inserts: with more, binding the
// values takes nearly all of the time already.
const insertChunk = 64

func (s *sqlite) insertRows(ctx context.Context, t *table, values []any, onConflict string) error {
	width := len(t.columns)
	for rows := len(values) / width; rows > 0; rows = len(values) / width {
		n := insertChunk
		for n > rows {
			n /= 2
		}
		key := insertion{t.id, n, onConflict}
		stmt := s.insert[key]
		if stmt == nil {
			var err error
			if stmt, err = s.conn.PrepareContext(ctx, insertSQL(t, n, onConflict)); err != nil {
				return err
			}
			s.insert[key] = stmt
		}
		for i, v := range values[:n*width] {
			if u, ok := v.(uint64); ok {
				values[i] = int64(u) // the same 64 bits
			}
		}
		if err := s.fault(t.name); err != nil {
			return err
		}
		if _, err := stmt.ExecContext(ctx, values[:n*width]...); err != nil {
			return err
		}
		runtime.Gosched() // the venue comes first
		values = values[n*width:]
	}
	return nil
}

// insertSQL returns the statement that inserts n rows.
func insertSQL(t *table, n int, onConflict string) string {
	row := "(" + strings.Repeat("?, ", len(t.columns)-1) + "?)"
	return fmt.Sprintf(`INSERT INTO "%s" (%s) VALUES %s%s`, t.name, names(t.columns), strings.Repeat(row+", ", n-1)+row, onConflict)
}

// page keeps a prepared statement for each query: to prepare it takes longer than to read a short page.
func (s *sqlite) page(ctx context.Context, query string, args []any, row func([]any) error) error {
	stmt, ok := s.pages.Load(query)
	if !ok {
		prepared, err := s.reads.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		if stmt, ok = s.pages.LoadOrStore(query, prepared); ok {
			if err := prepared.Close(); err != nil {
				return err
			}
		}
	}
	rows, err := stmt.(*sql.Stmt).QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, row)
}

func (s *sqlite) reader() *sql.DB            { return s.reads }
func (s *sqlite) rebind(query string) string { return query }

func (s *sqlite) close() error {
	var errs []error
	wal, database := s.synced[:min(1, len(s.synced))], s.synced[min(1, len(s.synced)):]
	for _, f := range wal { // which the last connection removes
		errs = append(errs, f.Close())
	}
	for _, stmt := range s.insert {
		errs = append(errs, stmt.Close())
	}
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	for _, f := range database { // last: it ends the locks of the process, those of the connections among them
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
