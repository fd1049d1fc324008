package mirror

import (
	"errors"
	"testing"
)

// TestRows checks that the rows equal those of a view that keeps all of them.
func TestRows(t *testing.T) { databases(t, testRows) }

func testRows(t *testing.T, dsn string) {
	v := newVenueLog(t, 1)
	v.run(200)
	m := v.start(v.options(dsn))
	v.run(200)
	v.waitFor(m)
	v.check(m)
	rows := m.Stats().Rows
	for name, least := range map[string]uint64{"users": testUsers, "orders": 1000, "fills": 500, "trades": 250, "settlements": 5, "ledger": 1000, "rounds": 5, "evidence": 100, "round_seconds": 500, "ticks": 390, "user_rounds": 10, "actions": 50} {
		if rows[name] < least {
			t.Errorf("%s: %d rows were written, too few for this test", name, rows[name])
		}
	}
	t.Log(rows)
}

func mustClose(t testing.TB, m *Mirror) {
	t.Helper()
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestCheck checks that Check accepts a mirror and finds every kind of difference, and that Rebuild
// repairs it.
func TestCheck(t *testing.T) {
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 2)
		v.run(200)
		o := v.options(dsn)
		if _, err := Check(ctx, o, 1, nil); !errors.Is(err, ErrNoMirror) {
			t.Errorf("without a mirror: %v", err)
		}
		m := v.start(o)
		v.waitFor(m)
		mustClose(t, m)
		for _, sample := range []uint64{1, 7} {
			if r, err := Check(ctx, o, sample, nil); err != nil || len(r.Differences) > 0 || r.Compared < 100 || r.To != v.state.Venue.Now().Seq {
				t.Fatalf("%+v %v", r, err)
			}
		}
		for _, damage := range []string{
			"UPDATE fills SET fee = fee + 1 WHERE n = 3", "DELETE FROM orders WHERE user_id = 2", "UPDATE rounds SET winner = 'no' WHERE number = 1",
			"DELETE FROM ledger WHERE n = 5", "UPDATE orders SET client_order_id = 7 WHERE user_id = 3", "UPDATE evidence SET price = 1 WHERE number = 2",
		} {
			s, err := openStore(ctx, dsn, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.(executor).exec(ctx, damage); err != nil {
				t.Fatal(err)
			}
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
			if r, err := Check(ctx, o, 1, nil); err != nil || len(r.Differences) == 0 {
				t.Errorf("%s: %+v %v", damage, r, err)
			}
			if since, seq, err := Rebuild(ctx, o, nil); err != nil || since != 0 || seq != v.state.Venue.Now().Seq {
				t.Fatalf("rebuilt from %d to %d: %v", since, seq, err)
			}
			if r, err := Check(ctx, o, 1, nil); err != nil || len(r.Differences) > 0 {
				t.Errorf("rebuilt after %s: %+v %v", damage, r, err)
			}
		}
		m = v.start(o)
		v.run(10)
		v.waitFor(m)
		v.check(m)
		status, err := ReadStatus(ctx, o)
		if err != nil || status.Seq != v.state.Venue.Now().Seq || status.At != v.file.Last() || status.Last != v.file.Last() || status.Schema != 1 {
			t.Errorf("%+v %v", status, err)
		}
	})
}
