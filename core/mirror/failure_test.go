package mirror

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/core"
)

// waitForStop waits until the mirror has stopped, and checks why.
func waitForStop(t *testing.T, m *Mirror, want error, text string) {
	t.Helper()
	waitUntil(t, func() bool { return m.Err() != nil })
	if err := m.Err(); !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("stopped with %v, want %v with %q", err, want, text)
	}
}

// TestTwoProjectors checks that of two projectors on one database one stops, and that the rows are
// right.
func TestTwoProjectors(t *testing.T) {
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
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 7)
		v.run(20)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		mustClose(t, m)
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
	copies := func(t *testing.T, v *venueLog, dsn string, restore func()) {
		v.run(30)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		mustClose(t, m)
		restore()
		m = v.start(v.options(dsn))
		v.waitFor(m)
		v.check(m)
	}
	t.Run("sqlite", func(t *testing.T) {
		v, dsn := newVenueLog(t, 9), SQLitePath(tempDir(t))
		v.run(30)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		mustClose(t, m)
		old, err := os.ReadFile(dsn)
		if err != nil {
			t.Fatal(err)
		}
		copies(t, v, dsn, func() {
			if err := removeSQLite(dsn); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dsn, old, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		v, dsn := newVenueLog(t, 9), newPostgres(t)
		v.run(30)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		mustClose(t, m)
		name := filepath.Base(strings.Split(dsn, "?")[0])
		sqlOn(t, "postgres", "CREATE DATABASE "+name+"_old TEMPLATE "+name)
		copies(t, v, dsn, func() {
			sqlOn(t, "postgres", "DROP DATABASE "+name+" WITH (FORCE)", "ALTER DATABASE "+name+"_old RENAME TO "+name)
		})
	})
}

// TestDeletedWhileRunning checks that the mirror builds a database anew that is deleted or rebuilt
// under it.
func TestDeletedWhileRunning(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 10)
		v.run(30)
		m := v.start(v.options(dsn))
		v.waitFor(m)
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
			waitUntil(t, func() bool { return m.store.Load() != nil })
			v.check(m)
			if m.Stats().Errors == 0 {
				t.Errorf("%s: no error was counted", how)
			}
		}
	})
}

// TestNewerSchema checks that a schema of a newer program is refused.
func TestNewerSchema(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 11)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		(*m.store.Load()).(executor).exec(ctx, "UPDATE schema_version SET version = 99")
		mustClose(t, m)
		waitForStop(t, v.start(v.options(dsn)), ErrNewerSchema, "version 99")
	})
}

// TestDatabaseReturns checks that a projector whose database is gone tries again until it is back.
func TestDatabaseReturns(t *testing.T) {
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
		if _, err := m.Fills(ctx, 1, 0, 10, FillFilter{}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a read while the database is away: %v", err)
		}
		sqlOn(t, "postgres", "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
		v.waitFor(m)
		v.check(m)
	})
}

// TestSlowDatabase checks that a slow database delays no reader of the log, and catches up.
func TestSlowDatabase(t *testing.T) {
	v := newVenueLog(t, 13)
	o := v.options(SQLitePath(tempDir(t)))
	o.fault = func(string) error { time.Sleep(5 * time.Millisecond); return nil }
	m := v.start(o)
	v.run(200)
	v.waitFor(m)
	v.check(m)
}

// TestRights checks that a role without rights is told what it lacks, and goes on once it has it.
func TestRights(t *testing.T) {
	dsn := newPostgres(t)
	name := filepath.Base(strings.Split(dsn, "?")[0])
	sqlOn(t, name, "CREATE ROLE weak LOGIN")
	v := newVenueLog(t, 14)
	m := v.start(v.options(server.dsn("weak", name)))
	waitUntil(t, func() bool { return m.LastError() != nil })
	if err := m.LastError(); !strings.Contains(err.Error(), "the role weak lacks a right") {
		t.Error(err)
	}
	sqlOn(t, name, "GRANT CREATE ON DATABASE "+name+" TO weak")
	v.waitFor(m)
	v.check(m)
}

// TestWrongAddress checks the errors of addresses that cannot work. None shows a password.
func TestWrongAddress(t *testing.T) {
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

// TestTrimmedJournal checks that a mirror which begins with a journal that was trimmed begins at the
// oldest snapshot, and that Hold keeps what a mirror has not read, up to its limit.
func TestTrimmedJournal(t *testing.T) {
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
			list, err := m.Orders(ctx, 1, 0, 10, OrderFilter{ClientID: &id})
			if err != nil || len(list) == 0 || list[0].ClientID != id || list[0].MaxCost != id {
				t.Errorf("order %d: %+v %v", id, list, err)
			}
		}
		v.check(m)
	})
}
