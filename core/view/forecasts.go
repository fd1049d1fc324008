package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// Forecast is a forecast of an account (docs/rules/forecasts.md). Ts is in ns. The last three fields
// follow from later commands: no history holds them, and Forecasts sets them.
type Forecast struct {
	N          uint64 // counts the forecasts of the account, from 1
	Seq        uint64
	Ts         int64
	Market     core.MarketID
	Generation uint32
	Number     uint64 // of the round
	Category   uint16
	P          core.Probability

	Counts bool         // it is the account's last forecast of the round
	Final  bool         // the round is settled or void
	Winner core.Outcome // NoOutcome until the round is settled, and of a void one
}

// Brier returns (P − 10000 × outcome)² and whether the forecast has a score: the outcome is 1 for YES
// and 0 for NO, and a round that is void or not final has none. 10^8 is the worst score.
func (f *Forecast) Brier() (int64, bool) {
	switch f.Winner {
	case core.Yes:
		miss := int64(core.ProbabilityMax) - int64(f.P)
		return miss * miss, true
	case core.No:
		return int64(f.P) * int64(f.P), true
	}
	return 0, false
}

// forecastState is what later commands made of a forecast: bits 2 and up are the winner.
type forecastState uint8

const (
	forecastCounts forecastState = 1 << iota
	forecastFinal

	forecastWinner = iota // the place of the winner
	forecastStates = forecastState(core.NoOutcome+1) << forecastWinner
)

func (s forecastState) show(f *Forecast) {
	f.Counts, f.Final, f.Winner = s&forecastCounts != 0, s&forecastFinal != 0, core.Outcome(s>>forecastWinner)
}

// forecasts are the forecasts of an account. rows and states have the same numbers.
type forecasts struct {
	rows    history[Forecast]
	states  ring[forecastState]
	live    []forecastRound // with a forecast, and not final; in the order of the first forecast
	changed uint64          // the last command that changed one of them
}

// forecastRound is a round with its first and its last forecast of an account, by their numbers.
type forecastRound struct{ round, first, last uint64 }

func newForecasts(capacity int) forecasts {
	return forecasts{rows: newHistory[Forecast](capacity), states: newRing[forecastState](capacity)}
}

func (a *forecasts) clone() forecasts {
	c := *a
	c.rows, c.states.buf, c.live = a.rows.clone(), slices.Clone(a.states.buf), slices.Clone(a.live)
	return c
}

func (a *forecasts) findLive(round uint64) int {
	return slices.IndexFunc(a.live, func(x forecastRound) bool { return x.round == round })
}

func (w *View) foldForecast(e *core.ForecastSubmitted) {
	a, r := &w.mutableAccount(e.User).forecasts, w.rounds.newestOf[e.Market]
	e.N = a.rows.end()
	f := Forecast{N: e.N, Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Generation: e.Generation, Number: r.Number, Category: r.Category, P: e.P}
	a.rows.add(f, &w.scratch)
	a.states.add(forecastCounts | forecastState(core.NoOutcome)<<forecastWinner)
	a.changed = w.stamp.Seq
	if i := a.findLive(r.Number); i >= 0 {
		if s := a.states.get(a.live[i].last); s != nil && a.live[i].last != e.N {
			*s &^= forecastCounts
		}
		a.live[i].last = e.N
	} else {
		a.live = append(a.live, forecastRound{r.Number, e.N, e.N})
		w.forecasters[r.Number] = append(w.forecasters[r.Number], e.User)
	}
	if w.sink != nil {
		row := f // f itself would escape, and every forecast would allocate without a sink too
		w.sink.Forecast(e.User, &row)
	}
}

// endForecasts sets the outcome of every forecast of a round that is now final.
func (w *View) endForecasts(r *core.Round) {
	state := forecastFinal | forecastState(core.NoOutcome)<<forecastWinner
	if r.Status == core.Settled {
		state = forecastFinal | forecastState(r.Winner)<<forecastWinner
	}
	for _, u := range w.forecasters[r.Number] {
		a := &w.mutableAccount(u).forecasts
		a.changed = w.stamp.Seq // also if memory has released the forecasts: the mirror's rows change
		i := a.findLive(r.Number)
		for n, f := range a.rows.newestFirst(u, a.live[i].last+1) {
			if n < a.live[i].first {
				break
			}
			if f.Number == r.Number {
				s := a.states.get(n)
				*s = *s&forecastCounts | state
			}
		}
		a.live = slices.Delete(a.live, i, i+1)
	}
	delete(w.forecasters, r.Number)
}

// Forecasts iterates over the forecasts of u with a number below from (0: all), newest first, with
// their numbers.
func (w *View) Forecasts(u core.UserID, from uint64) iter.Seq2[uint64, *Forecast] {
	return func(yield func(uint64, *Forecast) bool) {
		a := &w.account(u).forecasts
		for n, kept := range a.rows.newestFirst(u, from) {
			f := *kept // readers share the entry
			f.N = n
			a.states.get(n).show(&f)
			if !yield(n, &f) {
				return
			}
		}
	}
}

// ForecastsReleased is FillsReleased of the forecasts. A forecast that memory has released can still
// change, with the next one of its round or the end of that.
func (w *View) ForecastsReleased(u core.UserID) Released {
	a := &w.account(u).forecasts
	r := a.rows.released(u, func(f *Forecast) uint64 { return f.Seq })
	if r.Newest != 0 {
		r.Seq = max(r.Seq, a.changed)
	}
	return r
}

// code codes the forecast as a difference to the one before. Its number is that of the entry.
func (f *Forecast) code(c *coder) {
	p := &c.lastForecast
	if c.reading {
		*f = Forecast{Market: p.Market, Generation: p.Generation, Category: p.Category}
	}
	c.header(&f.Seq, &f.Ts)
	unsigned(c, &f.P)
	c.check(f.P <= core.ProbabilityMax)
	if delta(c, &f.Number, p.Number); f.Number != p.Number {
		unsigned(c, &f.Market)
		delta(c, &f.Generation, p.Generation)
		unsigned(c, &f.Category)
	}
	*p = *f
}

// code reads into an empty list.
func (a *forecasts) code(c *coder) {
	a.rows.code(c)
	states := a.states.list()
	codeList(c, &states, func(s *forecastState) {
		octet(c, s)
		c.check(*s < forecastStates)
	})
	if c.reading {
		n := uint64(len(states))
		c.check(n < a.rows.end() && n >= a.rows.end()-a.rows.oldest()) // one for each row
		if c.err != nil {
			return
		}
		a.states.restore(states, a.rows.end())
	}
	codeList(c, &a.live, func(x *forecastRound) {
		unsigned(c, &x.round)
		unsigned(c, &x.first)
		unsigned(c, &x.last)
		c.check(x.first != 0 && x.first <= x.last && x.last < a.rows.end() && a.findLive(x.round) < 0)
	})
	unsigned(c, &a.changed)
}

// indexForecasters adds the account to those with a forecast of each round that is not final.
func (w *View) indexForecasters(u core.UserID, a *account) {
	for _, x := range a.forecasts.live {
		w.forecasters[x.round] = append(w.forecasters[x.round], u)
	}
}
