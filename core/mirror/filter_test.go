package mirror

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/view"
)

// readFiltered reads a list with a filter to its end, from the position of the last row or of a cut on,
// and returns its rows and the number of cuts.
func readFiltered[T any](t *testing.T, limit int, page func(from uint64, limit int) ([]T, error), at func(*T) uint64) (rows []T, cuts int) {
	t.Helper()
	for from := uint64(0); ; {
		list, err := page(from, limit)
		rows = append(rows, list...)
		var cut *history.Cut
		switch {
		case errors.As(err, &cut):
			if cuts++; from != 0 && cut.Below >= from || len(list) > 0 && at(&list[len(list)-1]) < cut.Below {
				t.Fatalf("a read below %d with %d rows ends at %d", from, len(list), cut.Below)
			}
			from = cut.Below
		case err != nil:
			t.Fatal(err)
		case len(list) < limit:
			return rows, cuts
		default:
			from = at(&list[len(list)-1])
		}
	}
}

// TestRareFilters reads lists with filters in windows of a few rows, as those of an account with very
// many rows are read: no row is left out and none is there twice.
func TestRareFilters(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 21)
		v.run(60)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		now := v.state.Venue.Now().Seq
		windows := scanLimits{window: 3}
		const user = core.UserID(2)
		market, category, of := core.MarketID(2), uint16(2), user
		var all []*view.LedgerRow
		for _, r := range v.state.View.Ledger(user, 0) {
			all = append(all, r)
		}
		span := history.Span{From: all[len(all)*3/4].Ts, To: all[len(all)/4].Ts}
		round := uint64(0)
		for _, f := range v.state.View.Fills(user, 0) {
			if f.Side == core.Sell {
				round = f.Number
			}
		}
		ledgerAt := func(r *view.LedgerRow) uint64 { return r.N }
		lists := []struct {
			name string
			read func(filtered bool) (rows []any, cuts int)
		}{
			{"ledger by kind", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.LedgerRow, error) {
					return m.Ledger(ctx, user, from, limit, history.LedgerFilter{Kinds: kindsIf(f)})
				}, ledgerAt, func(r *view.LedgerRow) bool { return r.Kind == view.LedgerDeposit || r.Kind == view.LedgerWithdrawal })
			}},
			{"ledger by market", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.LedgerRow, error) {
					return m.Ledger(ctx, user, from, limit, history.LedgerFilter{Market: only(f, market)})
				}, ledgerAt, func(r *view.LedgerRow) bool { return r.Market == market })
			}},
			{"fills by market", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]history.Numbered[view.Fill], error) {
					return m.Fills(ctx, user, from, limit, history.FillFilter{Market: only(f, market)})
				}, func(x *history.Numbered[view.Fill]) uint64 { return x.N }, func(x *history.Numbered[view.Fill]) bool { return x.Row.Market == market })
			}},
			{"fills by group", func(f bool) ([]any, int) {
				filter, of := history.FillFilter{}, map[core.OrderID]bool{}
				if f {
					filter.Group = 1
				}
				list, err := m.Orders(ctx, user, 0, 1e6, history.OrderFilter{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range list {
					of[list[i].ID] = list[i].Group == 1
				}
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]history.Numbered[view.Fill], error) {
					return m.Fills(ctx, user, from, limit, filter)
				}, func(x *history.Numbered[view.Fill]) uint64 { return x.N }, func(x *history.Numbered[view.Fill]) bool { return of[x.Row.Order] })
			}},
			{"orders by status", func(f bool) ([]any, int) {
				filter := history.OrderFilter{}
				if f {
					filter.Statuses = []string{"rejected", "expired"}
				}
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.Order, error) {
					return m.Orders(ctx, user, from, limit, filter)
				}, func(o *view.Order) uint64 { return o.CreatedSeq }, func(o *view.Order) bool { return o.Status == core.Rejected || o.Status == core.Expired })
			}},
			{"fills by side and round", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]history.Numbered[view.Fill], error) {
					filter := history.FillFilter{}
					if f {
						filter = history.FillFilter{Side: "sell", Round: &round}
					}
					return m.Fills(ctx, user, from, limit, filter)
				}, func(x *history.Numbered[view.Fill]) uint64 { return x.N }, func(x *history.Numbered[view.Fill]) bool { return x.Row.Side == core.Sell && x.Row.Number == round })
			}},
			{"ledger by time and kind", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.LedgerRow, error) {
					filter := history.LedgerFilter{}
					if f {
						filter = history.LedgerFilter{Kinds: []string{view.LedgerFee.String()}, Span: span}
					}
					return m.Ledger(ctx, user, from, limit, filter)
				}, ledgerAt, func(r *view.LedgerRow) bool { return r.Kind == view.LedgerFee && span.Has(r.Ts) })
			}},
			{"rounds by category", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.AccountRound, error) {
					return m.AccountRounds(ctx, user, from, limit, history.AccountRoundFilter{Category: only(f, category)})
				}, func(x *view.AccountRound) uint64 { return x.Number }, func(x *view.AccountRound) bool { return x.Category == category })
			}},
			{"forecasts by market", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.Forecast, error) {
					return m.Forecasts(ctx, user, from, limit, now, history.ForecastFilter{Market: only(f, market)})
				}, func(x *view.Forecast) uint64 { return x.N }, func(x *view.Forecast) bool { return x.Market == market })
			}},
			{"actions by account", func(f bool) ([]any, int) {
				return filteredRows(t, f, func(from uint64, limit int, f bool) ([]view.Action, error) {
					return m.Actions(ctx, from, limit, history.ActionFilter{User: only(f, of)})
				}, func(x *view.Action) uint64 { return x.Seq }, func(x *view.Action) bool { return x.User == of })
			}},
		}
		for _, l := range lists {
			want, _ := l.read(false)
			m.scan = windows
			got, cuts := l.read(true)
			m.scan = defaultScan
			if !reflect.DeepEqual(got, want) || len(want) == 0 || cuts == 0 && l.name != "rounds by category" {
				t.Errorf("%s: %d rows after %d cuts, want %d", l.name, len(got), cuts, len(want))
			}
		}
		m.scan = windows
		for seq := uint64(1); seq < now; seq += 97 { // the rows of a ledger below a seq
			var want, got []view.LedgerRow
			for _, r := range v.state.View.Ledger(user, 0) {
				if r.Seq < seq {
					want = append(want, *r)
				}
			}
			got, err := m.Ledger(ctx, user, 0, 1e6, history.LedgerFilter{BelowSeq: seq})
			if err != nil || len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
				t.Errorf("%d rows below seq %d, want %d: %v", len(got), seq, len(want), err)
			}
		}
	})
}

func kindsIf(filtered bool) []string {
	if !filtered {
		return nil
	}
	return []string{view.LedgerDeposit.String(), view.LedgerWithdrawal.String()}
}

func only[T any](filtered bool, x T) *T {
	if !filtered {
		return nil
	}
	return &x
}

// filteredRows reads a list with its filter, or without it and filters the rows itself.
func filteredRows[T any](t *testing.T, filtered bool, page func(from uint64, limit int, filtered bool) ([]T, error), at func(*T) uint64, keep func(*T) bool) (out []any, cuts int) {
	t.Helper()
	rows, cuts := readFiltered(t, 5, func(from uint64, limit int) ([]T, error) { return page(from, limit, filtered) }, at)
	for i := range rows {
		if keep(&rows[i]) {
			out = append(out, rows[i])
		}
	}
	if filtered && len(out) != len(rows) {
		t.Errorf("%d of %d rows do not match the filter", len(rows)-len(out), len(rows))
	}
	return out, cuts
}

// TestLongFilters measures filters that match no row of an account with a million rows of each kind.
// Each read ends within its time, and a list reaches its end.
func TestLongFilters(t *testing.T) {
	t.Parallel()
	if os.Getenv("DX_LONG") == "" {
		t.Skip("long")
	}
	databases(t, func(t *testing.T, dsn string) {
		const million = 1_000_000
		v := newVenueLog(t, 22)
		m := v.start(v.options(dsn))
		v.waitFor(m)
		s := *m.store.Load()
		begun, rows := time.Now(), 0
		at := m.at
		const user = core.UserID(testUsers + 1)
		for n := uint64(1); n <= million; {
			b := newBatch(at.position)
			for ; b.rows < 4000 && n <= million; n++ {
				seq := at.Seq + n
				b.Order(&view.Order{User: user, CreatedSeq: seq, ID: core.OrderID(seq), ClientID: n, Market: 2, Status: core.Canceled, Qty: 1})
				b.Fill(user, &view.Fill{N: n, Seq: seq, Ts: int64(n), Market: 2, Number: n, Category: 1, Order: core.OrderID(seq), ClientID: n, Qty: 1})
				b.Ledger(user, &view.LedgerRow{N: n, Seq: seq, Kind: view.LedgerFill, Market: 2, Amount: -1})
				b.AccountRound(user, &view.AccountRound{Number: n, Market: 2, Category: 1, Status: core.Settled, UpdateSeq: seq})
			}
			rows += b.rows
			if err := s.write(ctx, at.build, b); err != nil {
				t.Fatal(err)
			}
		}
		took := time.Since(begun)
		t.Logf("%d rows in %v: %.0f rows/s", rows, took.Round(time.Second), float64(rows)/took.Seconds())
		market, category := core.MarketID(7), uint16(5)
		measure := func(name string, page func(from uint64, limit int) (uint64, error)) {
			t.Helper()
			var longest time.Duration
			reads, begun := 0, time.Now()
			for from := uint64(0); ; {
				one := time.Now()
				n, err := page(from, 100)
				longest = max(longest, time.Since(one))
				reads++
				var cut *history.Cut
				if !errors.As(err, &cut) {
					if err != nil || n != 0 {
						t.Fatalf("%s: %d rows: %v", name, n, err)
					}
					break
				}
				from = cut.Below
			}
			t.Logf("%s: the end after %d reads in %v, the longest %v", name, reads, time.Since(begun).Round(time.Millisecond), longest.Round(time.Millisecond))
		}
		measure("orders by status", func(from uint64, limit int) (uint64, error) {
			x, err := m.Orders(ctx, user, from, limit, history.OrderFilter{Statuses: []string{"rejected"}})
			return uint64(len(x)), err
		})
		measure("fills by market", func(from uint64, limit int) (uint64, error) {
			x, err := m.Fills(ctx, user, from, limit, history.FillFilter{Market: &market})
			return uint64(len(x)), err
		})
		one := time.Now()
		x, err := m.Fills(ctx, user, 0, 1000, history.FillFilter{Span: history.Span{From: 1000, To: 1100}})
		if err != nil || len(x) != 100 || x[0].N != 1099 || x[99].N != 1000 {
			t.Errorf("the fills of a hundred stamps: %d rows: %v", len(x), err)
		}
		t.Logf("fills by time: all of %d in %v", len(x), time.Since(one).Round(time.Microsecond))
		measure("ledger by kind", func(from uint64, limit int) (uint64, error) {
			x, err := m.Ledger(ctx, user, from, limit, history.LedgerFilter{Kinds: []string{"deposit"}})
			return uint64(len(x)), err
		})
		measure("ledger by market", func(from uint64, limit int) (uint64, error) {
			x, err := m.Ledger(ctx, user, from, limit, history.LedgerFilter{Market: &market})
			return uint64(len(x)), err
		})
		measure("rounds by category", func(from uint64, limit int) (uint64, error) {
			x, err := m.AccountRounds(ctx, user, from, limit, history.AccountRoundFilter{Category: &category})
			return uint64(len(x)), err
		})
	})
}
