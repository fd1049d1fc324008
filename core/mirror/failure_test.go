package mirror

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/journal"
)

// waitForStop waits until the mirror has stopped, and checks why.
func waitForStop(t *testing.T, m *Mirror, want error, text string) {
	t.Helper()
	var err error
	waitUntil(t, func() bool { err = m.Err(); return err != nil })
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("stopped with %v, want %v with %q", err, want, text)
	}
}

// TestTwoProjectors checks that of two projectors on one database one stops, and that the rows are
// right.
func TestTwoProjectors(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 6)
		first, second := v.options(dsn), v.options(dsn)
		second.Dir = tempDir(t)
		a, b := v.start(first), v.start(second)
		waitUntil(t, func() bool {
			v.run(1)
			return a.Err() != nil || b.Err() != nil
		})
		loser, winner := a, b
		if b.Err() != nil {
			loser, winner = b, a
		}
		waitForStop(t, loser, ErrOtherProjector, "Stop one of the two")
		v.run(5)
		v.waitFor(winner)
		v.check(winner)
	})
}

// TestOtherVenue checks that a database of another venue is refused, whether that has more or fewer
// groups.
func TestOtherVenue(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 7)
		v.run(20)
		v.mirror(v.options(dsn))
		for _, seconds := range []int{5, 60} {
			other := newVenueLog(t, 8)
			other.run(seconds)
			text := "another running hash"
			if seconds == 5 {
				text = "restored from a backup"
			}
			waitForStop(t, other.start(other.options(dsn)), ErrOtherVenue, text)
		}
	})
}

// TestRestoredDatabase checks that a database that was restored from an older copy goes on from
// there.
func TestRestoredDatabase(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, dsn string, save func() (restore func())) {
		v := newVenueLog(t, 9)
		o := v.options(dsn)
		v.run(30)
		v.mirror(o)
		restore := save()
		v.run(30)
		v.mirror(o)
		restore()
		m := v.start(o)
		v.waitFor(m)
		v.check(m)
	}
	t.Run("sqlite", func(t *testing.T) {
		dsn := SQLitePath(tempDir(t))
		test(t, dsn, func() (restore func()) {
			old, err := os.ReadFile(dsn)
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := errors.Join(removeSQLite(dsn), os.WriteFile(dsn, old, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := newPostgres(t)
		name := filepath.Base(strings.Split(dsn, "?")[0])
		test(t, dsn, func() (restore func()) {
			sqlOn(t, "postgres", "CREATE DATABASE "+name+"_old TEMPLATE "+name)
			return func() {
				sqlOn(t, "postgres", "DROP DATABASE "+name+" WITH (FORCE)", "ALTER DATABASE "+name+"_old RENAME TO "+name)
			}
		})
	})
}

// TestDeletedWhileRunning checks that the mirror builds a database anew that is deleted or rebuilt
// under it.
func TestDeletedWhileRunning(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 10)
		v.run(30)
		var running atomic.Pointer[Mirror]
		o := v.options(dsn)
		o.fault = func(point string) error {
			if m := running.Load(); point == "sync" && m != nil && m.store.Load() == nil {
				if seq, _ := m.Position(); seq != 0 {
					t.Errorf("another database is opened, and the position is still %d", seq)
				}
			}
			return nil
		}
		m := v.start(o)
		v.waitFor(m)
		running.Store(m)
		for _, how := range []string{"deleted", "rebuilt"} {
			switch {
			case how == "rebuilt":
				if _, _, err := Rebuild(ctx, v.options(dsn), nil); err != nil {
					t.Fatal(err)
				}
			case isPostgres(dsn):
				sqlOn(t, filepath.Base(strings.Split(dsn, "?")[0]), "DROP SCHEMA duplex CASCADE")
			default:
				if err := removeSQLite(dsn); err != nil {
					t.Fatal(err)
				}
			}
			v.run(10)
			v.waitFor(m)
			v.check(m)
			if m.Stats().Errors == 0 {
				t.Errorf("%s: no error was counted", how)
			}
		}
	})
}

// TestSnapshotsOfAnotherHistory checks that a rebuild after the journal was replaced by an older one leaves no
// snapshot of the history before, from which a later start would go on.
func TestSnapshotsOfAnotherHistory(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		before := newVenueLog(t, 32)
		before.run(20)
		before.mirror(before.options(dsn)) // with a snapshot
		v := newVenueLog(t, 33)
		v.run(5)
		var broken atomic.Bool
		o := v.options(dsn)
		o.Dir = before.options(dsn).Dir
		o.fault = func(string) error {
			if broken.Load() {
				return errFault
			}
			return nil
		}
		if _, _, err := Rebuild(ctx, o, nil); err != nil {
			t.Fatal(err)
		}
		m := v.start(o)
		v.run(20)
		v.waitFor(m)
		broken.Store(true) // it ends without a snapshot
		v.run(1)
		_ = m.Close(ctx) // which fails
		broken.Store(false)
		m = v.start(o)
		v.waitFor(m)
		v.check(m)
	})
}

// TestCopiedLogIsBehind checks that a mirror waits for the groups that a follower's copy of the log has lost.
func TestCopiedLogIsBehind(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 34)
		v.run(5)
		v.mirror(v.options(dsn))
		archive, err := journal.Open(filepath.Join(tempDir(t), "journal"), journal.Options{Archive: true})
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		o := v.options(dsn)
		o.Copied = true
		m := New(o)
		defer m.Close(ctx)
		last := v.file.Last().Number
		for g, err := range v.file.Tail(ctx, journal.Position{}) {
			if err != nil {
				t.Fatal(err)
			}
			if g.Number == last {
				m.Start(archive)
				waitUntil(t, func() bool { return m.LastError() != nil })
			}
			if err := archive.Append(g); err != nil {
				t.Fatal(err)
			}
			if g.Number == last {
				break
			}
		}
		v.waitFor(m)
	})
}

// TestPositionCanBeRead checks that a database which was opened, or built anew, can be read as soon as
// the mirror says where it is.
func TestPositionCanBeRead(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 31)
		v.run(30)
		v.mirror(v.options(dsn))
		reads := func(m *Mirror) {
			t.Helper()
			for {
				if _, at := m.Position(); at.Number > 0 {
					break
				}
				runtime.Gosched() // and no longer wait, which would let the database open meanwhile
			}
			if _, err := m.Fills(ctx, 1, 0, 1, history.FillFilter{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			m := v.start(v.options(dsn))
			reads(m)
			mustClose(t, m)
		}
		var broken atomic.Bool
		o := v.options(dsn)
		o.fault = func(string) error {
			if broken.Load() {
				return ErrUnsynced
			}
			return nil
		}
		m := v.start(o)
		reads(m)
		broken.Store(true)
		v.run(1)
		waitForStop(t, m, ErrUnsynced, "")
		broken.Store(false)
		if _, _, err := Rebuild(ctx, o, nil); err != nil {
			t.Fatal(err)
		}
		for m.Err() != nil {
			runtime.Gosched()
		}
		reads(m)
		v.check(m)
	})
}

// TestDamagedDatabase checks that a mirror whose file SQLite cannot read, at its start or later, stops with the name
// of the file and the way out, and goes on after a rebuild.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]int64{"not a database": 0, "a page": 4096} {
		v, dsn := newVenueLog(t, 23), SQLitePath(tempDir(t))
		v.run(200)
		v.mirror(v.options(dsn))
		f, err := os.OpenFile(dsn, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(st.Size()-from)), from)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		m := v.start(v.options(dsn))
		waitUntil(t, func() bool {
			v.run(1)
			return m.Err() != nil
		})
		if damage := (*journal.Damage)(nil); !errors.As(m.Err(), &damage) || damage.File != dsn || !strings.Contains(damage.Error(), "dx mirror rebuild") {
			t.Errorf("%s: stopped with %v", name, m.Err())
		}
		if _, _, err := Rebuild(t.Context(), v.options(dsn), nil); err != nil {
			t.Fatal(name, err)
		}
		mustClose(t, m)
		m = v.start(v.options(dsn))
		v.waitFor(m)
		v.check(m)
		mustClose(t, m)
	}
}

// TestNewerSchema checks that a schema of a newer program is refused.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 11)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		execute(t, m, dsn, "UPDATE schema_version SET version = 99")
		mustClose(t, m)
		waitForStop(t, v.start(v.options(dsn)), ErrNewerSchema, "version 99")
	})
}

// TestOlderSchema checks that reading never changes the schema, and that the projector brings an older
// one to the newest version.
func TestOlderSchema(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 11)
		v.run(20)
		o := v.options(dsn)
		m := v.start(o)
		v.waitFor(m)
		// A venue of the older schema has no forecasts and no backfill, and no account of a decision about a withdrawal. The
		// forecasts are set aside, and come back below.
		execute(t, m, dsn, "DROP INDEX fills_by_order", "DROP INDEX orders_by_client_order_id", "DROP INDEX forecasts_by_round",
			"ALTER TABLE forecasts RENAME TO aside", "DROP TABLE backfill", "UPDATE actions SET user_id = NULL WHERE action LIKE '%_withdrawal'", "UPDATE schema_version SET version = 1")
		mustClose(t, m)
		for range 2 {
			if status, err := ReadStatus(ctx, o); err != nil || status.Schema != 1 || status.Newest != schemaVersion() || status.Seq == 0 {
				t.Errorf("%+v %v", status, err)
			}
			if _, err := Check(ctx, o, 1, nil); !errors.Is(err, ErrOlderSchema) {
				t.Errorf("a check: %v", err)
			}
			if _, err := Export(ctx, o, nil, Range{}, nil, nil); !errors.Is(err, ErrOlderSchema) {
				t.Errorf("an export: %v", err)
			}
		}
		m = v.start(o)
		v.run(5)
		v.waitFor(m)
		execute(t, m, dsn, "INSERT INTO forecasts SELECT * FROM aside", "DROP TABLE aside")
		v.check(m)
		if r, err := Check(ctx, o, 1, nil); err != nil || len(r.Differences) > 0 {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// TestDatabaseReturns checks that a projector whose database is gone tries again until it is back.
func TestDatabaseReturns(t *testing.T) {
	t.Parallel()
	t.Run("full", func(t *testing.T) {
		v, dsn := newVenueLog(t, 12), SQLitePath(tempDir(t))
		m := v.start(v.options(dsn))
		v.waitFor(m)
		s := (*m.store.Load()).(*sqlite)
		if err := s.exec(ctx, "PRAGMA max_page_count = 1"); err != nil {
			t.Fatal(err)
		}
		v.run(60)
		waitUntil(t, func() bool { return m.LastError() != nil })
		if err := m.LastError(); !strings.Contains(err.Error(), "full") {
			t.Error(err)
		}
		if err := s.exec(ctx, "PRAGMA max_page_count = 1000000"); err != nil {
			t.Fatal(err)
		}
		v.waitFor(m)
		v.check(m)
	})
	t.Run("away", func(t *testing.T) {
		v, dsn := newVenueLog(t, 12), newPostgres(t)
		name := filepath.Base(strings.Split(dsn, "?")[0])
		m := v.start(v.options(dsn))
		v.waitFor(m)
		sqlOn(t, "postgres", "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
		v.run(60)
		waitUntil(t, func() bool { return m.LastError() != nil })
		if _, err := m.Fills(ctx, 1, 0, 10, history.FillFilter{}); !errors.Is(err, history.ErrUnavailable) {
			t.Errorf("a read while the database is away: %v", err)
		}
		sqlOn(t, "postgres", "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
		v.waitFor(m)
		v.check(m)
	})
}

// TestFailedSync lets one sync of the database fail, and the later ones succeed: the mirror stops, also
// after a restart, and the journal is kept from what was synced before, until the database is built anew.
func TestFailedSync(t *testing.T) {
	syncEvery = 20 * time.Millisecond
	t.Cleanup(func() { fdatasync, syncEvery = fileutil.Fdatasync, time.Second })
	for _, suffix := range []string{"-wal", ".db"} { // a checkpoint writes the second
		v, dsn := newVenueLog(t, 19), SQLitePath(tempDir(t))
		var fail atomic.Bool
		fdatasync = func(f *os.File) error {
			if strings.HasSuffix(f.Name(), suffix) && fail.CompareAndSwap(true, false) {
				return syscall.EIO
			}
			return nil
		}
		v.run(10)
		v.mirror(v.options(dsn)) // with a snapshot
		kept := v.file.Last().Number + 1
		m := v.start(v.options(dsn))
		v.waitFor(m)
		fail.Store(true)
		waitUntil(t, func() bool {
			v.run(1)
			return m.Err() != nil
		})
		waitForStop(t, m, ErrUnsynced, "input/output error")
		if got := m.Hold(v.file.Last().Number); got > kept || got == 0 {
			t.Errorf("%s: the journal is kept from group %d, want %d or before", suffix, got, kept)
		}
		mustClose(t, m)
		m = v.start(v.options(dsn))
		waitForStop(t, m, ErrUnsynced, "dx mirror rebuild")
		if got := m.Hold(v.file.Last().Number); got > kept || got == 0 {
			t.Errorf("%s: after a restart the journal is kept from group %d, want %d or before", suffix, got, kept)
		}
		looks, stop := context.WithTimeout(ctx, 10*rebuildCheck)
		if New(v.options(dsn)).awaitRebuild(looks) {
			t.Errorf("%s: the database that is refused counts as built anew", suffix)
		}
		stop()
		if _, _, err := Rebuild(ctx, v.options(dsn), nil); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return m.Err() == nil })
		v.waitFor(m)
		v.check(m)
		mustClose(t, m)
		m = v.start(v.options(dsn))
		v.waitFor(m)
	}
}

// TestSlowDatabase checks that a slow database delays no reader of the log, and catches up.
func TestSlowDatabase(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 13)
		o := v.options(dsn)
		o.fault = func(string) error { time.Sleep(5 * time.Millisecond); return nil }
		m := v.start(o)
		v.run(200)
		v.waitFor(m)
		v.check(m)
	})
}

// TestRights checks that a role without rights is told what it lacks, and goes on once it has it.
func TestRights(t *testing.T) {
	t.Parallel()
	dsn := newPostgres(t)
	name := filepath.Base(strings.Split(dsn, "?")[0])
	role := "weak_" + name // roles belong to the whole server
	sqlOn(t, name, "CREATE ROLE "+role+" LOGIN")
	v := newVenueLog(t, 14)
	m := v.start(v.options(server.DSN(role, name)))
	waitUntil(t, func() bool { return m.LastError() != nil })
	if err := m.LastError(); !strings.Contains(err.Error(), "the role "+role+" lacks a right") {
		t.Error(err)
	}
	sqlOn(t, name, "GRANT CREATE ON DATABASE "+name+" TO "+role)
	v.waitFor(m)
	v.check(m)
}

// TestWrongAddress checks the errors of addresses that cannot work. None shows a password.
func TestWrongAddress(t *testing.T) {
	t.Parallel()
	v := newVenueLog(t, 15)
	for _, dsn := range []string{
		"postgres://dx:secret@/dx?host=/nonexistent", "postgres://dx:secret@127.0.0.1:1/dx?connect_timeout=1", "postgres://dx:secret@[::zz]/dx", "postgres://dx:secret@127.0.0.1:x/dx",
	} {
		m := v.start(v.options(dsn))
		waitUntil(t, func() bool { return m.LastError() != nil })
		if err := m.LastError().Error(); strings.Contains(err, "secret") {
			t.Error(err)
		}
		if seq, _ := m.Position(); seq != 0 {
			t.Errorf("at seq %d", seq)
		}
		mustClose(t, m)
	}
	notADatabase := filepath.Join(tempDir(t), "history.db")
	if err := os.WriteFile(notADatabase, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := v.start(v.options(notADatabase))
	waitUntil(t, func() bool { return m.LastError() != nil })
	if err := m.LastError(); !strings.Contains(err.Error(), "dx mirror rebuild") {
		t.Error(err)
	}
}

// TestLagBeforeTheFirstOpen checks that the lag rises while the database has not answered since the
// start, with a log that was empty then and with one that was not, and is gone once it has answered.
func TestLagBeforeTheFirstOpen(t *testing.T) {
	t.Parallel()
	v := newVenueLog(t, 15)
	o := v.options("postgres://dx@/dx?host=/nonexistent")
	for _, empty := range []bool{false, true} {
		m := New(o)
		m.Start(v.file)
		if empty {
			m.start.Store(0)
		}
		if lag := m.Lag(); lag != 0 {
			t.Errorf("the lag at the start is %v", lag)
		}
		v.run(61)
		if lag := m.Lag(); lag < time.Minute || lag > 2*time.Minute {
			t.Errorf("the lag is %v after 61 s of the log, which was empty at the start: %v", lag, empty)
		}
		mustClose(t, m)
	}
	m := v.start(v.options(SQLitePath(tempDir(t))))
	v.waitFor(m)
	if lag := m.Lag(); lag != 0 {
		t.Errorf("the lag at the end of the log is %v", lag)
	}
}

// TestTrimmedJournal checks that a mirror which begins with a journal that was trimmed begins at the
// oldest snapshot, and that Hold keeps what a mirror has not read, up to its limit.
func TestTrimmedJournal(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 16)
		v.run(100)
		v.snapshot(true)
		since := v.state.Venue.Now().Seq
		v.run(50)
		o := v.options(dsn)
		m := v.start(o)
		v.waitFor(m)
		if got, ok := m.Since(); !ok || got != since {
			t.Errorf("since seq %d, want %d", got, since)
		}
		v.check(m)
		if r, err := Check(ctx, o, 1, nil); err != nil || len(r.Differences) > 0 || r.From != since {
			t.Errorf("%+v %v", r, err)
		}
		mustClose(t, m)
		at := v.file.Last().Number
		v.run(200)
		below := v.file.Last().Number
		if got := m.Hold(below); got != at+1 {
			t.Errorf("holds the journal from group %d, want %d", got, at+1)
		}
		if held := m.Stats().HeldBytes; held == 0 {
			t.Error("no byte is held")
		}
		o.HoldBytes, o.fault = 1000, func(string) error { return errFault }
		m = v.start(o)
		waitUntil(t, func() bool { return m.LastError() != nil })
		if got := m.Hold(below); got != below || !m.Released() {
			t.Errorf("beyond the limit it holds the journal from group %d, want %d", got, below)
		}
		waitForStop(t, m, ErrTrimmed, "dx mirror rebuild")
		mustClose(t, m)

		v.snapshot(true)
		o.fault = nil
		m = v.start(o)
		waitForStop(t, m, ErrTrimmed, "dx mirror rebuild")
		if _, _, err := Rebuild(ctx, o, nil); err != nil {
			t.Fatal(err)
		}
		v.run(10)
		waitUntil(t, func() bool { return m.Err() == nil })
		v.waitFor(m)
		v.check(m)
	})
}

// TestLargestID checks that the largest client_order_id is kept and found.
func TestLargestID(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 17)
		v.run(3)
		ids := []uint64{math.MaxUint64, 1 << 63, 1<<63 - 1, 1}
		for i, id := range ids {
			v.propose(&core.PlaceOrder{User: 1, Market: 1, ClientID: id, Side: core.Buy, Tick: core.Tick(100 + 100*i), Qty: 1, MaxCost: id})
		}
		m := v.start(v.options(dsn))
		v.waitFor(m)
		for _, id := range ids {
			list, err := m.Orders(ctx, 1, 0, 10, history.OrderFilter{ClientID: &id})
			if err != nil || len(list) == 0 || list[0].ClientID != id || list[0].MaxCost != id {
				t.Errorf("order %d: %+v %v", id, list, err)
			}
		}
		v.check(m)
	})
}

// TestWALIsCut writes behind a read that lasts, so that the WAL grows. After the read the file is cut.
func TestWALIsCut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tempDir(t), "history.db")
	s, err := openSQLite(ctx, path, forWriting)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	exec := func(query string) {
		if _, err := s.conn.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE scratch (b BLOB)")
	read, err := s.reads.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := read.QueryRowContext(ctx, "SELECT count(*) FROM scratch").Scan(&n); err != nil {
		t.Fatal(err)
	}
	const limit = walPages * 4096
	for size() < 2*limit {
		exec("INSERT INTO scratch VALUES (zeroblob(1000000))")
	}
	if err := read.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first ends the checkpoint, the second begins the WAL anew
		exec("INSERT INTO scratch VALUES (zeroblob(1))")
	}
	if n := size(); n > limit {
		t.Errorf("the WAL has %d bytes, more than %d", n, limit)
	}
}
