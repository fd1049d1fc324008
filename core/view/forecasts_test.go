package view

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"duplex/core"
)

// TestForecastScores compares the forecasts of a few accounts with a plain list, while rounds open and
// end, accounts submit many in one round and few in others, and the view is restored from its snapshot
// (docs/rules/forecasts.md#score).
func TestForecastScores(t *testing.T) {
	const most, users, slots = 100, 3, 4
	caps := DefaultRetentionCaps()
	caps.Forecasts = most
	w, r := New(caps), rand.New(rand.NewPCG(3, 4))
	want := [users + 1][]Forecast{}
	var rounds [slots + 1]core.Round
	var number, seq uint64
	counted, void, restored := 0, 0, 0
	fold := func(e core.Event) {
		seq++
		w.Fold(core.Stamp{Seq: seq, Ts: int64(seq) * second}, []core.Event{e})
	}
	check := func() {
		t.Helper()
		for u := core.UserID(1); u <= users; u++ {
			var got []Forecast
			for n, f := range w.Forecasts(u, 0) {
				if n != f.N {
					t.Fatalf("number %d of %+v", n, f)
				}
				got = append(got, *f)
			}
			slices.Reverse(got)
			all := want[u]
			if kept := all[max(0, len(all)-most):]; !slices.Equal(got, kept) {
				t.Fatalf("account %d: got\n%+v\nwant\n%+v", u, got, kept)
			}
			if released := w.ForecastsReleased(u); released.Newest != uint64(max(0, len(all)-most)) {
				t.Fatalf("account %d: released %+v of %d", u, released, len(all))
			}
		}
	}
	for step := range 6000 {
		m := core.MarketID(1 + r.IntN(slots))
		x := &rounds[m]
		switch n := r.IntN(20); {
		case x.Status == core.NeverOpened || x.Status.Final():
			number++
			*x = core.Round{Market: m, Generation: x.Generation + 1, Number: number, Category: uint16(m), Status: core.Trading, Winner: core.NoOutcome}
			fold(&core.RoundChanged{Round: *x})
		case n == 0 && step%1000 > 300: // else a round grows beyond the cap
			x.Status, x.Winner = core.Proposed, core.Outcome(r.IntN(2))
			fold(&core.RoundChanged{Round: *x})
			check() // a proposal is not final
			if x.Status = core.Settled; r.IntN(4) == 0 {
				x.Status, x.Winner = core.Void, core.NoOutcome
				void++
			}
			fold(&core.RoundChanged{Round: *x})
			for u := range want {
				for i := range want[u] {
					if f := &want[u][i]; f.Number == x.Number {
						f.Final, f.Winner = true, x.Winner
					}
				}
			}
		default:
			u := core.UserID(1 + r.IntN(users))
			for i := range want[u] {
				if want[u][i].Number == x.Number {
					want[u][i].Counts = false
				}
			}
			e := &core.ForecastSubmitted{User: u, Market: m, Generation: x.Generation, P: core.Probability(r.IntN(10_001))}
			fold(e)
			if e.N != uint64(len(want[u])+1) {
				t.Fatalf("the event has the number %d", e.N)
			}
			want[u] = append(want[u], Forecast{
				N: e.N, Seq: seq, Ts: int64(seq) * second, Market: m, Generation: x.Generation, Number: x.Number, Category: uint16(m), P: e.P, Counts: true, Winner: core.NoOutcome,
			})
			counted++
		}
		if step%97 == 0 {
			check()
		}
		if step%500 == 499 {
			before := encodeView(t, w)
			again, err := restorePieces(before, caps)
			if err != nil || !bytes.Equal(encodeView(t, again), before) {
				t.Fatalf("restored: %v", err)
			}
			w = again
			restored++
			check()
		}
	}
	check()
	for u := range want[1:] {
		if n := len(w.accounts[u+1].forecasts.live); n > slots {
			t.Errorf("account %d has forecasts of %d rounds that are not final", u+1, n)
		}
	}
	if counted < 4000 || void == 0 || restored < 10 || number < 100 {
		t.Errorf("the run lacks cases: %d forecasts, %d rounds, %d void", counted, number, void)
	}
}

// TestReleasedForecastsChange tests that the list tells a mirror's reader to wait for what changes a
// forecast that memory has released: a later one of the round, and the round's end.
func TestReleasedForecastsChange(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Forecasts = 1
	w, seq := New(caps), uint64(0)
	x := core.Round{Market: 1, Generation: 1, Number: 1, Category: 1, Status: core.Trading, Winner: core.NoOutcome}
	fold := func(e core.Event) uint64 {
		seq += 10
		w.Fold(core.Stamp{Seq: seq, Ts: int64(seq)}, []core.Event{e})
		return seq
	}
	fold(&core.RoundChanged{Round: x})
	other := x
	other.Market, other.Number = 2, 2
	fold(&core.RoundChanged{Round: other})
	fold(&core.ForecastSubmitted{User: 1, Market: 1, Generation: 1, P: 1})
	if got := w.ForecastsReleased(1); got != (Released{}) {
		t.Errorf("%+v", got)
	}
	if at, got := fold(&core.ForecastSubmitted{User: 1, Market: 2, Generation: 1, P: 2}), w.ForecastsReleased(1); got != (Released{Newest: 1, Seq: at}) {
		t.Errorf("after the second: %+v", got)
	}
	again, err := restorePieces(encodeView(t, w), caps)
	if err != nil {
		t.Fatal(err)
	}
	w, x.Status, x.Winner = again, core.Settled, core.Yes
	if at, got := fold(&core.RoundChanged{Round: x}), w.ForecastsReleased(1); got != (Released{Newest: 1, Seq: at}) {
		t.Errorf("after the end of the round of the first: %+v", got)
	}
}

func TestBrier(t *testing.T) {
	for _, c := range []struct {
		p      core.Probability
		winner core.Outcome
		score  int64
		scored bool
	}{
		{0, core.No, 0, true}, {0, core.Yes, 1e8, true}, {10_000, core.Yes, 0, true}, {10_000, core.No, 1e8, true}, {5000, core.No, 25_000_000, true},
		{6200, core.Yes, 14_440_000, true}, {6200, core.NoOutcome, 0, false},
	} {
		f := Forecast{P: c.p, Winner: c.winner}
		if score, scored := f.Brier(); score != c.score || scored != c.scored {
			t.Errorf("%d, %s: %d %t, want %d %t", c.p, c.winner, score, scored, c.score, c.scored)
		}
	}
}
