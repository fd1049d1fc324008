package top

import (
	"fmt"
	"time"

	"duplex/schemas"
)

const seriesHead = "  SERIES   MKT  CLOSES     STRIKE      PRICE    YES    BID    ASK   LAST VOLUME"

// series is a row of the table. ▲ is a price above the strike, where YES stands to
// win; ▼ is one below, and = is at it.
func (m *Model) series(i int) string {
	mark := " "
	if i == m.selected {
		mark = ">"
	}
	r := &m.rows[i]
	if r.round.RoundNumber == 0 {
		return fit(fmt.Sprintf("%s %-8s  no round", mark, Series[i]), 79)
	}
	bid, ask := m.best(r)
	price := m.index[i/3]
	return fit(fmt.Sprintf("%s %-8s %3d %7s %10s %10s %s %4s %6s %6s %6s %6s", mark, Series[i], r.round.MarketID, m.closes(r),
		money(r.round.Strike), money(price), against(price, r.round.Strike), chance(bid, ask, r.market.LastTickYes),
		cents(bid), cents(ask), cents(r.market.LastTickYes), count(r.market.Volume)), 79)
}

// closes is the time left, or the state of a round that does not trade.
func (m *Model) closes(r *row) string {
	switch {
	case r.round.Status != "trading":
		return short(r.round.Status, 7)
	case r.round.Paused:
		return "paused"
	case r.market.CloseTs == 0:
		return "-"
	}
	left := max(0, time.Unix(0, r.market.CloseTs.Int64()).Sub(m.now)).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(left.Minutes()), int(left.Seconds())%60)
}

// best is the dearest bid and the cheapest offer of YES, in pips; 0 where none.
func (m *Model) best(r *row) (bid, ask int64) {
	b, known := m.books[r.round.MarketID]
	if !known || b.Generation != r.round.Generation || r.round.Status != "trading" {
		return 0, 0
	}
	if len(b.Yes) > 0 {
		bid = b.Yes[0][0]
	}
	if len(b.No) > 0 {
		ask = 10_000 - b.No[0][0]
	}
	return bid, ask
}

// chance is what the market holds likely: the middle of bid and ask, else the last.
func chance(bid, ask, last int64) string {
	switch {
	case bid > 0 && ask > 0:
		return fmt.Sprintf("%d%%", (bid+ask+100)/200)
	case last > 0:
		return fmt.Sprintf("%d%%", (last+50)/100)
	}
	return "-"
}

func against(price, strike schemas.U64) string {
	switch {
	case price == 0 || strike == 0:
		return " "
	case price > strike:
		return "▲"
	case price < strike:
		return "▼"
	}
	return "="
}

// money is an oracle price, which is at 1e8, with two places.
func money(p schemas.U64) string {
	if p == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%02d", p/100_000_000, p/1_000_000%100)
}

// cents are pips as people say them.
func cents(pips int64) string {
	switch {
	case pips == 0:
		return "-"
	case pips%100 == 0:
		return fmt.Sprintf("%d¢", pips/100)
	}
	return fmt.Sprintf("%d.%d¢", pips/100, pips%100/10)
}

// count is a number of contracts in at most 6 characters.
func count(n schemas.U64) string {
	switch {
	case n < 1_000_000:
		return n.String()
	case n < 1_000_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}
