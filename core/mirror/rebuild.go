package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"duplex/core/journal"
)

// Rebuild builds the database anew from the journal, beside the one in use, and then replaces that.
// A venue may run meanwhile. progress is called often with the number of the group reached and the
// last one; nil is not called. It returns the seq up to which rows are missing, because the journal
// no longer has their groups, and the last seq of the new database.
func Rebuild(ctx context.Context, o Options, progress func(done, total uint64)) (since, seq uint64, err error) {
	l, err := journal.NewReader(o.Journal)
	if err != nil {
		return 0, 0, err
	}
	m := New(o)
	s, err := openStore(ctx, o.DSN, asFresh)
	if err != nil {
		return 0, 0, err
	}
	open := true
	defer func() {
		if open {
			err = errors.Join(err, s.close())
		}
	}()
	c := cursor{}
	r, err := m.replicaAt(ctx, l, &c)
	if err != nil {
		return 0, 0, err
	}
	if err := s.start(ctx, c); err != nil {
		return 0, 0, err
	}
	p := &projector{m: m, store: s, replica: r, at: c, temporary: true, progress: func(done uint64) {
		if progress != nil {
			progress(done, l.Last().Number)
		}
	}}
	// A running venue adds groups while the others are read, but far more slowly.
	for range 3 {
		if err := p.run(ctx, l); err != nil {
			return 0, 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if err := l.Refresh(); err != nil {
			return 0, 0, err
		}
	}
	if err := p.sync(ctx, p.at.Number); err != nil {
		return 0, 0, err
	}
	open = false
	if err := s.replace(ctx); err != nil {
		return 0, 0, err
	}
	if err := m.removeSnapshots(); err != nil {
		return 0, 0, err
	}
	p.temporary = false
	if err := p.snapshot(ctx); err != nil {
		return 0, 0, err
	}
	return c.since, p.at.Seq, nil
}

// replace puts the database in the place of the one in use, and closes it.
func (s *sqlite) replace(context.Context) error {
	if err := s.close(); err != nil { // moves its WAL into the file
		return err
	}
	path := strings.TrimSuffix(s.path, freshSuffix)
	lock, err := lockSQLite(path)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := removeSQLite(path); err != nil { // with its WAL, which must not be applied to the new file
		return err
	}
	return os.Rename(s.path, path)
}

func (p *postgres) replace(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, p.close()) }()
	tx, err := p.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // a no-op after the commit
	for _, q := range []string{
		"DROP SCHEMA IF EXISTS " + postgresSchema + " CASCADE",
		"ALTER SCHEMA " + postgresFreshSchema + " RENAME TO " + postgresSchema,
	} {
		if _, err := tx.Exec(ctx, q); err != nil {
			return p.explain(err)
		}
	}
	return tx.Commit(ctx)
}

// Status is what a database says about itself.
type Status struct {
	Seq    uint64           // of the last command whose rows are there
	At     journal.Position // of its group
	Since  uint64           // rows up to this seq are missing
	Schema int              // version of the schema
	Newest int              // version that this program writes; the projector brings an older one to it
	Last   journal.Position // end of the journal
}

// ErrNoMirror means that there is no database yet.
var ErrNoMirror = errors.New("there is no mirror yet: dx serve builds one, or dx mirror rebuild")

// ReadStatus reads the status of the database and the end of the journal. A venue may run meanwhile.
func ReadStatus(ctx context.Context, o Options) (out Status, err error) {
	s, c, err := openExisting(ctx, o, forReading)
	if err != nil {
		return out, err
	}
	defer s.close()
	l, err := journal.NewReader(o.Journal)
	if err != nil {
		return out, err
	}
	if out.Schema, err = s.version(ctx); err != nil {
		return out, err
	}
	out.Newest = schemaVersion()
	out.Seq, out.At, out.Since, out.Last = c.Seq, c.Position, c.since, l.Last()
	return out, nil
}

// openExisting opens a database that has rows, without changing it.
func openExisting(ctx context.Context, o Options, u use) (store, cursor, error) {
	if !isPostgres(o.DSN) {
		if _, err := os.Stat(o.DSN); errors.Is(err, os.ErrNotExist) {
			return nil, cursor{}, fmt.Errorf("%s: %w", o.DSN, ErrNoMirror)
		}
	}
	s, err := openStore(ctx, o.DSN, u)
	if err != nil {
		return nil, cursor{}, err
	}
	c, err := s.cursor(ctx)
	if err == nil && !c.found {
		err = ErrNoMirror
	}
	if err != nil {
		return nil, cursor{}, errors.Join(err, s.close())
	}
	return s, c, nil
}

// openCurrent opens a database that has rows and the newest schema, without changing it.
func openCurrent(ctx context.Context, o Options, u use) (store, error) {
	s, _, err := openExisting(ctx, o, u)
	if err != nil {
		return nil, err
	}
	at, err := s.version(ctx)
	if err == nil && at < schemaVersion() {
		err = fmt.Errorf("%w: version %d, and this one has %d. Start the venue with this version, or run dx mirror rebuild", ErrOlderSchema, at, schemaVersion())
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}
