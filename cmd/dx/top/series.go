package top

import (
	"fmt"
	"time"

	"duplex/schemas"
)

const seriesHead = "  SERIES   MKT  CLOSES     STRIKE      PRICE    YES    BID    ASK   LAST VOLUME"

// seriesLine is a row of the table. ▲ is a price above the strike, ▼ one below it, = one at
// it.
func (m *Model) seriesLine(i int) string {
	cursor := " "
	if i == m.selected {
		cursor = ">"
	}
	r := &m.rows[i]
	if r.round.RoundNumber == 0 {
		return padTo(fmt.Sprintf("%s %-8s  no round", cursor, allSeries[i]), 79)
	}
	bid, ask := m.bestPrices(r)
	price := m.index[allSeries[i].Feed]
	return padTo(fmt.Sprintf("%s %-8s %3d %7s %10s %10s %s %4s %6s %6s %6s %6s", cursor, allSeries[i], r.round.MarketID, m.closesIn(r),
		priceText(r.round.Strike), priceText(price), compareSign(price, r.round.Strike), impliedProbability(bid, ask, r.market.LastTickYes),
		cents(bid), cents(ask), cents(r.market.LastTickYes), countText(r.market.Volume)), 79)
}

// closesIn is the time left, or the status of a round that does not trade.
func (m *Model) closesIn(r *row) string {
	switch {
	case r.round.Status != "trading":
		return truncate(r.round.Status, 7)
	case r.round.Paused:
		return "paused"
	case r.market.CloseTs == 0:
		return "-"
	}
	left := max(0, time.Unix(0, r.market.CloseTs.Int64()).Sub(m.now)).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(left.Minutes()), int(left.Seconds())%60)
}

// bestPrices returns the best bid and ask of YES in pips; 0 for none.
func (m *Model) bestPrices(r *row) (bid, ask int64) {
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

// impliedProbability is the probability of YES by the market: the middle of bid and ask, or
// the last price, in percent.
func impliedProbability(bid, ask, last int64) string {
	switch {
	case bid > 0 && ask > 0:
		return fmt.Sprintf("%d%%", (bid+ask+100)/200)
	case last > 0:
		return fmt.Sprintf("%d%%", (last+50)/100)
	}
	return "-"
}

func compareSign(price, strike schemas.U64) string {
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

// priceText formats an oracle price, which is at 1e8, with two decimals.
func priceText(p schemas.U64) string {
	if p == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%02d", p/100_000_000, p/1_000_000%100)
}

// cents formats pips as cents.
func cents(pips int64) string {
	switch {
	case pips == 0:
		return "-"
	case pips%100 == 0:
		return fmt.Sprintf("%d¢", pips/100)
	}
	return fmt.Sprintf("%d.%d¢", pips/100, pips%100/10)
}

// countText formats a number of contracts in at most 6 characters.
func countText(n schemas.U64) string {
	switch {
	case n < 1_000_000:
		return n.String()
	case n < 1_000_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}
