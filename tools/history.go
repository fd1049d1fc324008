package tools

import (
	"context"
	"iter"
	"math"
	"math/big"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// GetPriceHistory and GetRoundHistory convert rows after the engine's lock is released: a page of
// long steps is made of thousands of rows.

var GetPriceHistory = &Op[schemas.GetPriceHistory, schemas.PriceHistory]{
	Spec: Spec{
		Name: "get_price_history", Title: "Price history", Method: "GET", Path: "/v1/oracle/history", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Index of a feed over time, newest first, with its volatility.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GetPriceHistory) (out schemas.PriceHistory, err error) {
		step := in.Secs()
		p := stepPage{step: step, size: in.Size(), before: math.MaxInt64, from: int64(in.FromTs/schemas.U64(core.NsPerSec)) / step * step}
		if in.ToTs != nil { // a step is whole if it begins before to_ts
			p.before = int64(ceilDiv(ceilDiv(uint64(*in.ToTs), uint64(core.NsPerSec)), uint64(step))) * step
		}
		binding := v.BindCursor("price_history", caller, in)
		if c := in.After(); c != "" {
			var before uint64
			if f := schemas.DecodeCursor(binding, c, &before); f != nil {
				return out, f
			}
			p.before = int64(before)
		}
		out.Feed, out.StepSecs = uint8(in.Feed), step
		var ticks iter.Seq[*view.PriceTick]
		older := olderSeconds[view.PriceTick]{second: tickSecond}
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			ticks, out.AsOf = w.PriceTicks(core.Feed(in.Feed), p.before, p.rowsNeeded()), asOf(m)
			older.released = w.PriceTicksReleased(core.Feed(in.Feed))
		})
		older.wait = v.mirrorHasUntil((older.released + 1) * core.NsPerSec)
		older.read = func(before int64, limit int) ([]view.PriceTick, error) {
			return v.History.PriceTicks(ctx, core.Feed(in.Feed), p.from, before, limit)
		}
		var more bool
		out.Rows, more = stepsOf(p, older.behind(v, caller, &p, ticks), tickSecond, newPriceRow, addTick)
		if out.Rows, more, err = complete(&older, out.Rows, more); err != nil {
			return out, err
		}
		if more {
			out.Cursor = schemas.EncodeCursor(binding, lastStep(out.Rows[len(out.Rows)-1].Ts))
		}
		out.VolatilityPpb = volatilityPpb(out.Rows, step)
		return out, nil
	},
}

func tickSecond(t *view.PriceTick) int64 { return t.Second }

// newPriceRow returns the row of a step of one tick, and addTick adds an earlier tick to it.
func newPriceRow(start int64, t *view.PriceTick) schemas.PriceRow {
	price := schemas.U64(t.Price)
	return schemas.PriceRow{Ts: ns(start * core.NsPerSec), Open: price, High: price, Low: price, Close: price, Sources: t.Sources}
}

func addTick(r *schemas.PriceRow, t *view.PriceTick) {
	price := schemas.U64(t.Price)
	r.Open, r.High, r.Low = price, max(r.High, price), min(r.Low, price)
}

var GetRoundHistory = &Op[schemas.GetRoundHistory, schemas.RoundHistory]{
	Spec: Spec{
		Name: "get_round_history", Title: "Round history", Method: "GET", Path: "/v1/rounds/{market_id}/history", Scope: core.ScopeRead, Errors: []string{"round_not_found", "bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Index and YES prices of a round over time, newest first.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GetRoundHistory) (out schemas.RoundHistory, err error) {
		p := stepPage{step: in.Secs(), size: in.Size(), before: math.MaxInt64}
		binding := v.BindCursor("round_history", caller, in)
		number := uint64(in.RoundNumber)
		if c := in.After(); c != "" { // it names the round, because the slot may have opened another one since
			var before uint64
			if f := schemas.DecodeCursor(binding, c, &number, &before); f != nil {
				return out, f
			}
			p.before = int64(before)
		}
		rows := func(func(*view.RoundSecond) bool) {}
		second := func(s *view.RoundSecond) int64 { return s.Second }
		older := olderSeconds[view.RoundSecond]{second: second}
		out.AsOf, err = v.readRound(ctx, caller, marketID(in.MarketID), number, func(w *view.View, r *view.Round, _ int64) {
			out.RoundNumber = schemas.U64(r.Number)
			if w == nil || !w.HasRoundSeconds(&r.Round) {
				older.released, older.wait = math.MaxInt64, v.mirrorHas(r.Seq)
			} else {
				rows = w.RoundSeconds(&r.Round, p.before, p.rowsNeeded())
			}
		})
		if err != nil {
			return out, err
		}
		older.read = func(before int64, limit int) ([]view.RoundSecond, error) {
			return v.History.RoundSeconds(ctx, uint64(out.RoundNumber), 0, before, limit)
		}
		out.StepSecs = p.step
		var more bool
		add := func(*schemas.RoundRow, *view.RoundSecond) {} // a step has the state of its last second
		out.Rows, more = stepsOf(p, older.behind(v, caller, &p, rows), second, newRoundRow, add)
		if out.Rows, more, err = complete(&older, out.Rows, more); err != nil {
			return out, err
		}
		if more {
			out.Cursor = schemas.EncodeCursor(binding, uint64(out.RoundNumber), lastStep(out.Rows[len(out.Rows)-1].Ts))
		}
		return out, nil
	},
}

func newRoundRow(start int64, s *view.RoundSecond) schemas.RoundRow {
	return schemas.RoundRow{
		Ts: ns(start * core.NsPerSec), Index: schemas.U64(s.Index), YesBid: int64(s.Bid), YesAsk: int64(s.Ask), Last: int64(s.Last), Volume: schemas.U64(s.Volume),
	}
}

// olderSeconds are the rows of a list by the second that only the mirror has.
type olderSeconds[T any] struct {
	second   func(*T) int64
	released int64                // every row that memory released is of this second or an earlier one; 0: it released none
	wait     func() time.Duration // until the mirror has them; 0: it has them
	read     func(before int64, limit int) ([]T, error)
	err      error // of reading them
	cut      bool  // there may be more than were read
	whole    bool  // nevertheless, the step at the end of the page has all its rows
}

// maxOlderSeconds is the most rows that a page reads from the mirror, to end within its time. Such a
// page is shorter than asked.
const maxOlderSeconds = 100_000

// complete removes the step at the end of a page if it lacks rows that were not read. The error is that
// of reading them if no step is left.
func complete[R, T any](o *olderSeconds[T], rows []R, more bool) ([]R, bool, error) {
	if !o.cut || more {
		return rows, more, o.err
	}
	if !o.whole && len(rows) > 0 {
		rows = rows[:len(rows)-1]
	}
	if len(rows) == 0 {
		return nil, false, o.err
	}
	return rows, true, nil
}

// behind yields the rows of memory, and behind them those of the mirror that the page needs.
func (o *olderSeconds[T]) behind(v *Venue, caller Caller, p *stepPage, memory iter.Seq[*T]) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		before, left := p.before, p.rowsNeeded()
		for x := range memory {
			if !yield(x) {
				return
			}
			before, left = o.second(x), left-1
		}
		last := before
		if o.released < p.from || o.released == 0 || left <= 0 || v.History == nil {
			return
		}
		if o.released < math.MaxInt64 {
			before = min(before, o.released+1)
		}
		var rows []T
		limit := min(left, maxOlderSeconds)
		o.err = v.readHistory(caller, o.wait, func() (err error) {
			rows, err = o.read(before, limit)
			return err
		})
		o.cut = len(rows) == limit && limit < left
		if ErrorOf(o.err).Code == "history_behind" {
			o.cut, o.whole = true, last-last%p.step > o.released
		}
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}

// stepPage selects up to size steps, each of step seconds, that begin at or after from and before
// before, in Unix seconds. Both are multiples of step, or before is the largest int64.
type stepPage struct {
	step, from, before int64
	size               int
}

// rowsNeeded returns the most rows of one second that make the page and tell whether there is
// another one.
func (p *stepPage) rowsNeeded() int { return p.size*int(p.step) + 1 }

// stepsOf groups the rows of seconds, newest first, into the steps of a page, each step one row of the
// page: newest makes it from the last second of the step, and older adds each earlier second. more
// reports whether there are further steps behind the page.
func stepsOf[T, R any](p stepPage, rows iter.Seq[*T], second func(*T) int64, newest func(start int64, x *T) R, older func(*R, *T)) (out []R, more bool) {
	out = make([]R, 0, min(p.size, schemas.PageDefault))
	start := int64(math.MaxInt64) // of the step at the end of out
	for x := range rows {
		at := second(x)
		if at >= start {
			older(&out[len(out)-1], x)
			continue
		}
		if at < p.from {
			return out, false
		}
		if len(out) == p.size {
			return out, true
		}
		start = at - at%p.step
		out = append(out, newest(start, x))
	}
	return out, false
}

// lastStep returns the start of a step in seconds, the position of a cursor.
func lastStep(ts schemas.U64) uint64 { return uint64(ts) / uint64(core.NsPerSec) }

// ceilDiv is n ÷ by, rounded up.
func ceilDiv(n, by uint64) uint64 { return n/by + min(1, n%by) }

// volatilityPpb returns the square root, rounded down, of the mean of r² over all pairs of
// adjacent steps among rows (newest first), where r is the change of the close in parts per
// billion of the earlier close, truncated (docs/rules/prices-sources.md#volatility). Without a
// pair it is "0".
func volatilityPpb(rows []schemas.PriceRow, step int64) string {
	var all squares
	for i := range rows[:max(0, len(rows)-1)] {
		if newer, older := &rows[i], &rows[i+1]; newer.Ts-older.Ts == schemas.U64(step*core.NsPerSec) {
			all.add(uint64(older.Close), uint64(newer.Close))
		}
	}
	return all.root(1).String()
}

// squares is a sum of squares of relative changes, in parts per billion.
type squares struct {
	sum   big.Int
	pairs int64
}

func (s *squares) add(older, newer uint64) {
	var r, before big.Int
	before.SetUint64(older)
	r.Mul(r.Sub(r.SetUint64(newer), &before), big.NewInt(1_000_000_000))
	r.Quo(&r, &before)
	s.sum.Add(&s.sum, r.Mul(&r, &r))
	s.pairs++
}

// root returns the root mean square of the changes over so many steps, rounded down.
func (s *squares) root(steps int64) *big.Int {
	var mean big.Int
	if s.pairs == 0 {
		return &mean
	}
	mean.Quo(mean.Mul(&s.sum, big.NewInt(steps)), big.NewInt(s.pairs))
	return mean.Sqrt(&mean)
}
