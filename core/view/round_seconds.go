package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// roundRowsCap is the number of rounds of each series whose rows are kept: the live one and the
// last 16 (docs/rules/rounds.md#round-history).
const roundRowsCap = 1 + 16

// roundRowCap is the number of rows of a round that are kept, more than any round has.
const roundRowCap = 3600

// RoundSecond is the state of a round after the last command stamped before the end of one
// second, in Unix seconds (docs/rules/rounds.md#round-history). Index is at 1e8 scale, Bid, Ask
// and Last are prices of YES in pips, and Volume is that of the round so far, in contracts. A
// price is 0 if there is none.
type RoundSecond struct {
	Second int64
	Index  core.Price
	Bid    core.Tick
	Ask    core.Tick
	Last   core.Tick
	Volume core.Qty
}

// Source is the venue, as far as EndSeconds needs it: the stamp of the last command, and the
// state of the round that a series trades, if it trades one.
type Source interface {
	Now() core.Stamp
	Quote(category uint16) (core.Quote, bool)
}

// roundRows are the rows of one round. Only the newest round of a series gets further rows.
type roundRows struct {
	number uint64
	rows   history[RoundSecond]
}

// roundSeconds are the rows of the newest rounds of each series, by rising number.
type roundSeconds [core.SeriesCount][]*roundRows

// EndSeconds records the seconds that end before ts, which is the stamp of the next command, in
// ns. It must be called before that command is applied to src, which holds the state after the
// command folded last. A second without a command has the state of the second before it.
func (w *View) EndSeconds(ts int64, src Source) {
	if ts >= w.secondEnd { // in most calls it is not, so that the compiler inlines this
		w.endSeconds(ts, src)
	}
}

func (w *View) endSeconds(ts int64, src Source) {
	last, next := src.Now(), ts/core.NsPerSec
	w.secondEnd = (next + 1) * core.NsPerSec
	if last.Seq == 0 {
		return
	}
	for _, s := range core.AllSeries() {
		q, ok := src.Quote(s.Category)
		if !ok {
			continue
		}
		for at := last.Ts / core.NsPerSec; at < next && at*core.NsPerSec < q.CloseTs; at++ {
			w.addSecond(&q, at)
		}
	}
}

func (w *View) addSecond(q *core.Quote, at int64) {
	list := &w.seconds[q.Category-1]
	if n := len(*list); n == 0 || (*list)[n-1].number != q.Number {
		*list = append(*list, &roundRows{q.Number, newHistory[RoundSecond](roundRowCap)})
		if len(*list) > roundRowsCap {
			(*list)[0] = nil // otherwise the backing array keeps the rows in memory
			*list = (*list)[1:]
		}
	}
	x := (*list)[len(*list)-1]
	s := RoundSecond{Second: at, Index: q.Index, Bid: q.Bid, Ask: q.Ask, Last: q.Last, Volume: q.Volume}
	x.rows.add(s, &w.scratch)
	if w.sink != nil {
		w.sink.RoundSecond(q.Number, x.rows.newest())
	}
}

// RoundSeconds iterates over the newest n rows of a round with a second below before, newest
// first. A round that is not among the newest of its series has none. Like that of PriceTicks,
// the iterator may be used after the lock is released.
func (w *View) RoundSeconds(r *core.Round, before int64, n int) iter.Seq[*RoundSecond] {
	if r.Category >= 1 && int(r.Category) <= len(w.seconds) {
		for _, x := range w.seconds[r.Category-1] {
			if x.number == r.Number {
				return x.rows.detached(x.rows.search(func(s *RoundSecond) bool { return s.Second >= before }), n)
			}
		}
	}
	return func(func(*RoundSecond) bool) {}
}

// HasRoundSeconds reports whether memory has all rows of a round that it knows, of which there may be
// none: a round gets its first row when its first second ends.
func (w *View) HasRoundSeconds(r *core.Round) bool {
	if r.Category < 1 || int(r.Category) > len(w.seconds) {
		return false
	}
	list := w.seconds[r.Category-1]
	if len(list) == 0 {
		return r.Status == core.Trading
	}
	return r.Number >= list[0].number
}

// image returns the rows as they are now. It shares those that get no further rows.
func (l *roundSeconds) image() (out roundSeconds) {
	for i, list := range l {
		out[i] = slices.Clone(list)
		if n := len(list); n > 0 {
			out[i][n-1] = &roundRows{list[n-1].number, list[n-1].rows.clone()}
		}
	}
	return out
}

// code codes the row as a difference to the row before: one byte if nothing has changed.
func (s *RoundSecond) code(c *coder) {
	p := &c.lastRow
	if c.reading {
		*s = *p
		s.Second++
	}
	gap, index, volume := s.Second != p.Second+1, s.Index != p.Index, s.Volume != p.Volume
	bid, ask, last := s.Bid != p.Bid, s.Ask != p.Ask, s.Last != p.Last
	c.flags(&gap, &index, &bid, &ask, &last, &volume)
	if gap {
		delta(c, &s.Second, p.Second)
	}
	if index {
		change, exponent := scaleDown(int64(s.Index - p.Index))
		octet(c, &exponent)
		c.check(exponent <= maxExponent)
		if signed(c, &change); c.reading {
			s.Index += core.Price(scaleUp(change, exponent))
		}
	}
	if bid {
		delta(c, &s.Bid, p.Bid)
	}
	if ask {
		delta(c, &s.Ask, p.Ask)
	}
	if last {
		delta(c, &s.Last, p.Last)
	}
	if volume {
		delta(c, &s.Volume, p.Volume)
	}
	*p = *s
}
