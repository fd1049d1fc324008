package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/history"
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
	if testing.Short() {
		t.Skip("many venues")
	}
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 2)
		v.run(200)
		o := v.options(dsn)
		if _, err := Check(ctx, o, 1, nil); !errors.Is(err, ErrNoMirror) {
			t.Errorf("without a mirror: %v", err)
		}
		v.mirror(o)
		for _, sample := range []uint64{1, 7} {
			if r, err := Check(ctx, o, sample, nil); err != nil || len(r.Differences) > 0 || r.Compared < 100 || r.To != v.state.Venue.Now().Seq {
				t.Fatalf("%+v %v", r, err)
			}
		}
		for _, damage := range []string{
			"UPDATE fills SET fee = fee + 1 WHERE n = 3", "DELETE FROM orders WHERE user_id = 2", "UPDATE rounds SET winner = 'no' WHERE number = 1",
			"DELETE FROM ledger WHERE n = 5", "UPDATE orders SET client_order_id = 7 WHERE user_id = 3", "UPDATE evidence SET price = 1 WHERE number = 2",
		} {
			s, err := openStore(ctx, dsn, forWriting)
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
		m := v.start(o)
		v.run(10)
		v.waitFor(m)
		v.check(m)
		status, err := ReadStatus(ctx, o)
		if err != nil || status.Seq != v.state.Venue.Now().Seq || status.At != v.file.Last() || status.Last != v.file.Last() || status.Schema != schemaVersion() {
			t.Errorf("%+v %v", status, err)
		}
	})
}

// explainer is a store that notes how the database would read each page.
type explainer struct {
	store
	how  string // what the database says, before a query
	plan string
}

func (e *explainer) page(ctx context.Context, query string, args []any, row func([]any) error) error {
	rows, err := e.reader().QueryContext(ctx, e.how+e.rebind(query), args...)
	if err != nil {
		return err
	}
	e.plan = ""
	err = eachRow(rows, func(values []any) error {
		e.plan += fmt.Sprintln(values[len(values)-1])
		return nil
	})
	return errors.Join(err, e.store.page(ctx, query, args, row))
}

// TestFiltersUseIndexes checks that the fills of an order, and an order by its client_order_id, are
// found by an index and not among all rows of the account.
func TestFiltersUseIndexes(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 12)
		v.run(60)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		e := &explainer{store: *m.store.Load(), how: "EXPLAIN QUERY PLAN "}
		if isPostgres(dsn) {
			e.how = "EXPLAIN "
		}
		var s store = e
		m.store.Store(&s)
		order, id := core.OrderID(1<<40), uint64(1)<<63
		for name, of := range map[string]struct {
			read  func() (int, error)
			index string // SQLite's name, and part of those of PostgreSQL's partitions
		}{
			"fills of an order": {func() (int, error) {
				list, err := m.Fills(ctx, 1, 1<<40, 100, history.FillFilter{Order: &order})
				return len(list), err
			}, "fills_by_order|_user_id_order_id_n_idx"},
			"an order by its client_order_id": {func() (int, error) {
				list, err := m.Orders(ctx, 1, 1<<40, 100, history.OrderFilter{ClientID: &id})
				return len(list), err
			}, "orders_by_client_order_id|_user_id_client_order_id_created_seq_idx"},
		} {
			n, err := of.read()
			sqlite, postgres, _ := strings.Cut(of.index, "|")
			if err != nil || n != 0 || !strings.Contains(e.plan, sqlite) && !strings.Contains(e.plan, postgres) || strings.Contains(e.plan, "Filter") {
				t.Errorf("%s: %d rows, %v, by\n%s", name, n, err, e.plan)
			}
		}
	})
}
