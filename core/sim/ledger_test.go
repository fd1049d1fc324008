package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"duplex/core"
	"duplex/core/ledger"
	"duplex/core/sim/model"
	"duplex/core/venue"
	"duplex/core/view"
)

// everyRow keeps all rows that a view reports, without any cap.
type everyRow struct {
	ledger map[core.UserID][]view.LedgerRow
	rounds map[core.UserID]map[uint64]view.AccountRound
	fills  map[core.UserID][]view.Fill
	ended  map[uint64]core.Round // rounds that are final

	forecasts map[core.UserID][]view.Forecast
}

func newEveryRow() *everyRow {
	return &everyRow{
		ledger: map[core.UserID][]view.LedgerRow{}, rounds: map[core.UserID]map[uint64]view.AccountRound{},
		fills: map[core.UserID][]view.Fill{}, ended: map[uint64]core.Round{}, forecasts: map[core.UserID][]view.Forecast{},
	}
}

func (s *everyRow) User(*core.User)                                  {}
func (s *everyRow) Order(*view.Order)                                {}
func (s *everyRow) Trade(uint64, *view.Trade)                        {}
func (s *everyRow) Settlement(core.UserID, uint64, *view.Settlement) {}
func (s *everyRow) RoundSecond(uint64, *view.RoundSecond)            {}
func (s *everyRow) Tick(core.Feed, *view.PriceTick)                  {}
func (s *everyRow) Action(*view.Action)                              {}
func (s *everyRow) Fill(u core.UserID, f *view.Fill)                 { s.fills[u] = append(s.fills[u], *f) }
func (s *everyRow) Ledger(u core.UserID, r *view.LedgerRow)          { s.ledger[u] = append(s.ledger[u], *r) }

func (s *everyRow) Forecast(u core.UserID, f *view.Forecast) {
	s.forecasts[u] = append(s.forecasts[u], *f)
}

func (s *everyRow) Round(r *view.Round) {
	if r.Status.Final() {
		s.ended[r.Number] = r.Round
	}
}

func (s *everyRow) AccountRound(u core.UserID, x *view.AccountRound) {
	if s.rounds[u] == nil {
		s.rounds[u] = map[uint64]view.AccountRound{}
	}
	s.rounds[u][x.Number] = *x
}

// TestLedgersAddUp runs random commands with fees, rebates, referrals, redemptions, voids, transfers,
// withdrawals and repeats. After every command the ledger of each account ends with its cash and
// reservations, each row continues the one before, and the rows of a round are its result. In the
// end the rows and results of an account add up to its performance. A view that is restored again and
// again has the same snapshot. An account has held money if its ledger has had a row, and else has no contracts
// and no open orders. Every second run has small caps.
func TestLedgersAddUp(t *testing.T) {
	kinds, results, total := map[view.LedgerKind]int{}, 0, newDirectRun(0).tally
	for seed := uint64(1); seed <= 6; seed++ {
		d, all := newDirectRun(seed), newEveryRow()
		draw := rand.New(rand.NewPCG(seed, 0x1ed))
		caps := view.DefaultRetentionCaps()
		if seed%2 == 0 {
			caps.Ledger, caps.AccountRounds, caps.Forecasts = 50, 2, 5
		}
		live, restored := view.New(caps), view.New(caps)
		live.SetSink(all)
		read := map[core.UserID]int{} // rows of the ledger checked so far
		d.before = func(core.Stamp) {
			if draw.IntN(500) == 0 {
				restored = restoreView(t, pieces(t, restored), caps)
			}
		}
		d.applied = func(at core.Stamp, _ core.Command, events []core.Event) {
			live.Fold(at, events)
			restored.Fold(at, events)
		}
		d.agreed = func(at core.Stamp, cmd core.Command, want model.Outcome) error {
			for x := range d.v.Users() {
				cash, reserved := d.v.Balance(x.ID)
				if got := live.LedgerBalance(x.ID); got != cash+reserved {
					t.Fatalf("seed %d, seq %d, %s: account %d has %d + %d, its ledger ends with %d", seed, at.Seq, describe(cmd), x.ID, cash, reserved, got)
				}
				p, equity := d.v.Performance(x.ID), d.v.Equity(x.ID)
				if unrealized := equity - cash - reserved - p.Cost; equity != p.DepositsNet+p.TransfersNet+p.Realized+unrealized+p.Rebates {
					t.Fatalf("seed %d, seq %d, %s: account %d: equity %d, unrealized %d, %+v", seed, at.Seq, describe(cmd), x.ID, equity, unrealized, p)
				}
				rows := all.ledger[x.ID]
				if err := sameRows(rows[read[x.ID]:], want.Ledger[x.ID]); err != nil {
					return fmt.Errorf("account %d: %w", x.ID, err)
				}
				for i := read[x.ID]; i < len(rows); i++ {
					r := &rows[i]
					before := core.Pips(0)
					if i > 0 {
						before = rows[i-1].BalanceAfter
					}
					if r.N != uint64(i+1) || r.Amount == 0 || r.BalanceAfter != before+r.Amount || r.Seq != at.Seq || r.Ts != at.Ts {
						t.Fatalf("seed %d, seq %d: account %d: row %d is %+v, after a balance of %d", seed, at.Seq, x.ID, i+1, *r, before)
					}
					kinds[r.Kind]++
				}
				read[x.ID] = len(rows)
				held := len(rows) > 0
				if live.HeldMoney(x.ID) != held || restored.HeldMoney(x.ID) != held {
					t.Fatalf("seed %d, seq %d: account %d has %d rows, and has held money: %v, restored %v", seed, at.Seq, x.ID, len(rows), live.HeldMoney(x.ID), restored.HeldMoney(x.ID))
				}
				for m := core.MarketID(1); m <= venue.Slots && !held; m++ {
					if h := d.v.Holding(x.ID, m); h != (ledger.Holding{}) {
						t.Fatalf("seed %d, seq %d: account %d holds %+v and never held money", seed, at.Seq, x.ID, h)
					}
				}
			}
			if at.Seq%100 == 0 {
				return sameLedgers(live, d.m)
			}
			return nil
		}
		if err := d.run(7000, 7000); err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(pieces(t, live), pieces(t, restored), bytes.Equal) {
			t.Errorf("seed %d: the restored view has another snapshot", seed)
		}
		results += all.compare(t, live, caps)
		all.compareSums(t, d.v)
		total.add(d.tally)
	}
	t.Logf("%d results of rounds; rows by kind: %v; repeats %v", results, kinds, total.repeats)
	for k := range view.LedgerKinds() {
		if kinds[view.LedgerKind(k)] == 0 {
			t.Errorf("no row of kind %s", view.LedgerKind(k))
		}
	}
	if results < 200 || len(total.repeats) < 4 {
		t.Error("the runs lack cases")
	}
}

// compare compares the lists of a view with all rows, and the result of each round with the rows of
// its ledger. It returns the number of results.
func (s *everyRow) compare(t *testing.T, w *view.View, caps view.RetentionCaps) (results int) {
	for u, rows := range s.ledger {
		i := len(rows)
		for n, r := range w.Ledger(u, 0) {
			if i--; n != r.N || !reflect.DeepEqual(*r, rows[i]) {
				t.Fatalf("account %d: row %d is %+v, was %+v", u, n, *r, rows[i])
			}
		}
		if kept := len(rows) - i; kept != min(len(rows), caps.Ledger) {
			t.Fatalf("account %d: %d of %d rows are kept", u, kept, len(rows))
		}
		money := map[uint64]core.Pips{} // by round: what its rows add up to, without shares of fees
		for i := range rows {
			switch rows[i].Kind {
			case view.LedgerFill, view.LedgerFee, view.LedgerRedeem, view.LedgerSettlement, view.LedgerVoid:
				money[rows[i].Number] += rows[i].Amount
			}
			if f := rows[i].FillN; f != 0 {
				if x := s.fills[u][f-1]; x.N != f || x.Number != rows[i].Number || x.Order != rows[i].Order || x.Category != rows[i].Category {
					t.Fatalf("account %d: row %+v names the fill %+v", u, rows[i], x)
				}
			}
		}
		for number, x := range s.rounds[u] {
			profit, final := madeIn(&x)
			r, ended := s.ended[number]
			if final != ended || profit != money[number] || final && (x.Status != r.Status || x.Winner != r.Winner) {
				t.Fatalf("account %d made %d in round %d, final %t: %+v; its ledger says %d, the round is %+v", u, profit, number, final, x, money[number], r)
			}
			if final {
				results++
			}
			delete(money, number)
		}
		for number := range money {
			t.Fatalf("account %d has rows of round %d and no result", u, number)
		}
	}
	for u, rows := range s.forecasts {
		counts := map[uint64]uint64{} // by round: the number of the last forecast
		for i := range rows {
			counts[rows[i].Number] = rows[i].N
		}
		i := len(rows)
		for n, f := range w.Forecasts(u, 0) {
			i--
			was := rows[i]
			if r, ended := s.ended[was.Number]; ended {
				was.Final, was.Winner = true, r.Winner
			} else {
				was.Winner = core.NoOutcome
			}
			if was.Counts = counts[was.Number] == was.N; n != uint64(i+1) || *f != was {
				t.Fatalf("account %d: forecast %d is %+v, was %+v", u, n, *f, was)
			}
		}
		if kept := len(rows) - i; kept != min(len(rows), caps.Forecasts) {
			t.Fatalf("account %d: %d of %d forecasts are kept", u, kept, len(rows))
		}
	}
	for u, rounds := range s.rounds {
		kept, final := 0, 0
		for number, x := range w.AccountRounds(u, 0) {
			was := rounds[number]
			if !was.Status.Final() {
				x.Status = was.Status
			}
			if x != was {
				t.Fatalf("account %d: round %d is %+v, was %+v", u, number, x, was)
			}
			kept++
		}
		for _, x := range rounds {
			if x.Status.Final() {
				final++
			}
		}
		if open := len(rounds) - final; kept != open+min(final, caps.AccountRounds) {
			t.Fatalf("account %d: %d rounds are kept, of %d final and %d other ones", u, kept, final, open)
		}
	}
	return results
}

// madeIn returns what an account has made in a round so far, or with a final round its profit.
func madeIn(x *view.AccountRound) (made core.Pips, final bool) {
	if made, final = x.Profit(); !final {
		made = x.Received + core.Payout*core.Pips(x.Redeemed) - x.Paid - x.Fees
	}
	return made, final
}

// compareSums compares the performance of each account with the sums of its ledger and of the
// results of its rounds.
func (s *everyRow) compareSums(t *testing.T, v *venue.Venue) {
	for x := range v.Users() {
		sums, made := map[view.LedgerKind]core.Pips{}, core.Pips(0)
		for _, r := range s.ledger[x.ID] {
			sums[r.Kind] += r.Amount
		}
		for _, r := range s.rounds[x.ID] {
			m, _ := madeIn(&r)
			made += m
		}
		p := v.Performance(x.ID)
		if made != p.Realized-p.Cost || sums[view.LedgerFee] != -p.Fees || sums[view.LedgerRebate]+sums[view.LedgerReferral] != p.Rebates ||
			sums[view.LedgerDeposit]+sums[view.LedgerWithdrawal]+sums[view.LedgerWithdrawalReturned] != p.DepositsNet || sums[view.LedgerTransfer] != p.TransfersNet {
			t.Errorf("account %d: its rounds add up to %d and its ledger to %v, the venue has %+v", x.ID, made, sums, p)
		}
	}
}
