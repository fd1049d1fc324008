package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"duplex/internal/backoff"
)

// Several nodes of a cluster may name one PostgreSQL database. One of them writes, the others read. The
// writer holds a lease, which the server keeps: a lock of its session. It ends with the session, and the
// server ends a session that says nothing for leaseIdle, as that of a process that was stopped or whose
// machine is gone. The rows are written in the same session, so that nobody writes without the lease; with
// a lease that is a row with a time, a writer that was stopped in between could still commit
// (docs/rules/history.md#one-database-for-several-nodes).
var (
	leaseIdle = 10 * time.Second       // variables for tests
	leasePing = 2 * time.Second        // between two signs of life
	leaseTry  = 2 * time.Second        // between two attempts to get the lease
	leasePoll = 250 * time.Millisecond // between two looks of a reader at the cursor
)

const (
	leaseKey  = 0x6475706c6578  // of the lock, in each database of the server
	leaseLate = 5 * time.Second // after which a reader takes rows to be on the disk of the server
)

// errLeased means that another node has the lease.
var errLeased = errors.New("another node writes to this database")

// lease takes the lease for a session.
func lease(ctx context.Context, c *pgx.Conn) error {
	idle := fmt.Sprintf("SET idle_session_timeout = %d; SET idle_in_transaction_session_timeout = %[1]d", leaseIdle.Milliseconds())
	if _, err := c.Exec(ctx, idle); err != nil {
		return err
	}
	got := false
	if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(leaseKey)).Scan(&got); err != nil {
		return err
	}
	if !got {
		return errLeased
	}
	return nil
}

// keepLease gives signs of life until ctx ends. The next use of the session finds out if it has ended.
func (p *postgres) keepLease(ctx context.Context) {
	for backoff.Sleep(ctx, leasePing) {
		p.using.Lock()
		if p.conn != nil && !p.conn.IsClosed() {
			_ = p.conn.Ping(ctx)
		}
		p.using.Unlock()
	}
}

// Writer reports whether this mirror writes its database: not if another node of the cluster does.
func (m *Mirror) Writer() bool { return m.writer.Load() }

// isShared reports whether other nodes may write to the database.
func (m *Mirror) isShared() bool { return m.o.Others != nil && isPostgres(m.o.DSN) }

// openForWriting opens the database. If another node has the lease, it serves reads until this one gets it.
func (m *Mirror) openForWriting(ctx context.Context) (store, error) {
	if !m.isShared() {
		return openStore(ctx, m.o.DSN, forWriting)
	}
	s, err := openStore(ctx, m.o.DSN, forSharing)
	if !errors.Is(err, errLeased) {
		return s, err
	}
	m.o.Logf("another node writes the mirror's database, and this one reads it")
	return m.readUntilLeased(ctx)
}

// readUntilLeased serves reads of what another node writes, until this one gets the lease.
func (m *Mirror) readUntilLeased(ctx context.Context) (w store, err error) {
	var s store
	defer func() {
		m.store.Store(nil)
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}()
	tried := time.Now()
	read := reading{m: m}
	for backoff.Sleep(ctx, leasePoll) {
		if time.Since(tried) > leaseTry {
			if w, err = openStore(ctx, m.o.DSN, forSharing); !errors.Is(err, errLeased) {
				return w, err
			}
			tried = time.Now()
		}
		if s == nil {
			s, err = openCurrent(ctx, m.o, forPages)
			if errors.Is(err, ErrNoMirror) || errors.Is(err, ErrOlderSchema) { // the writer has just begun
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		if err := read.look(ctx, s); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// reading is how far a reader has seen the writer come.
type reading struct {
	m     *Mirror
	build int64 // of the database that was compared with the journal; 0: none
	older cursor
	seen  time.Time // when older was the newest
}

// look notes how far the rows go.
func (r *reading) look(ctx context.Context, s store) error {
	c, err := s.cursor(ctx)
	if err != nil || !c.found {
		return err
	}
	if l := r.m.log.Load(); l != nil && c.Number > (*l).Last().Number {
		return nil // this node stood still, and catches up: its log says nothing about the cursor yet
	}
	if c.build != r.build {
		if err := ofJournal(ctx, r.m.o.Journal, &c); err != nil {
			return err
		}
		r.m.opened(&c)
		r.build, r.older, r.seen = c.build, c, time.Now()
	}
	copied, err := readBackfill(ctx, s)
	if err != nil {
		return err
	}
	r.m.hasCopied(copied)
	r.m.store.Store(&s)
	r.m.committed(c)
	if time.Since(r.seen) > leaseLate {
		r.m.synced(r.older.Number)
		r.older, r.seen = c, time.Now()
	}
	return nil
}
