package top

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/schemas"
)

// The width from which the table of series has the columns MKT and LAST, and from which it also
// has a bar for the probability and the caller's position.
const (
	wideTable  = 100
	widerTable = 150
)

const (
	maxResults = 20
	barWidth   = 20

	positionWidth = 28 // of the most contracts of both outcomes, and a space
)

// seriesHead has the names of the columns that the width has room for.
func (m *Model) seriesHead() string {
	head := "  SERIES  "
	if m.width >= wideTable {
		head += " MKT"
	}
	head += "  CLOSES     STRIKE      PRICE      YES"
	if m.width >= widerTable {
		head += padTo("", barWidth+1)
	}
	head += "    BID    ASK"
	if m.width >= wideTable {
		head += "   LAST"
	}
	head += "  VOLUME "
	if m.width >= widerTable {
		head += padTo("MY POSITION", positionWidth)
	}
	return truncate(head+"RESULTS", m.cols())
}

// seriesLine is a row of the table. ▲ is a price above the strike, ▼ one below it, = one at
// it.
func (m *Model) seriesLine(i int) string {
	cursor := " "
	if i == m.selected {
		cursor = ">"
	}
	r := &m.rows[i]
	line := fmt.Sprintf("%s %-8s", cursor, allSeries[i])
	if r.round.RoundNumber == 0 {
		return line + "  no round"
	}
	bid, ask := m.bestPrices(r)
	price := m.index[allSeries[i].Feed]
	if m.width >= wideTable {
		line += fmt.Sprintf(" %3d", r.round.MarketID)
	}
	chance, value := m.chance(r)
	line += fmt.Sprintf(" %7s %10s %10s %s %6s", m.closesIn(r), priceText(r.round.Strike), priceText(price), compareSign(price, r.round.Strike), chance)
	if m.width >= widerTable {
		line += " " + probabilityBar(chance, value)
	}
	line += fmt.Sprintf(" %6s %6s", trading.Cents(bid), trading.Cents(ask))
	if m.width >= wideTable {
		line += fmt.Sprintf(" %6s", trading.Cents(r.market.LastTickYes))
	}
	line += fmt.Sprintf(" %7s ", cli.GroupedIn(r.market.Volume, 7))
	if m.width >= widerTable {
		line += padTo(positionText(m.positionIn(r)), positionWidth)
	}
	return line + r.resultLetters(min(maxResults, m.cols()-lipgloss.Width(line)))
}

// probabilityBar is a bar whose full length is certainty of YES.
func probabilityBar(chance string, value int64) string {
	if chance == "-" {
		return strings.Repeat(" ", barWidth)
	}
	full := int(value * barWidth / 10_000)
	return green.Render(strings.Repeat("█", full)) + faint.Render(strings.Repeat("░", barWidth-full))
}

// resultLetters has a letter for each of the last results, the newest first: Y, N, or - for a void
// round.
func (r *row) resultLetters(n int) (out string) {
	for i := range min(n, len(r.results)) {
		out += resultSign(&r.results[i])
	}
	return out
}

func resultSign(r *schemas.Round) string {
	switch {
	case r.Winner == nil:
		return faint.Render("-")
	case *r.Winner == "yes":
		return green.Render("Y")
	}
	return red.Render("N")
}

// positionIn is what the caller holds in the market of a row.
func (m *Model) positionIn(r *row) schemas.Position {
	if p := m.account.Positions[r.round.MarketID]; p.Generation == r.round.Generation {
		return p
	}
	return schemas.Position{}
}

func positionText(p schemas.Position) string {
	var held []string
	if p.YesQty > 0 {
		held = append(held, cli.Grouped(p.YesQty)+" YES")
	}
	if p.NoQty > 0 {
		held = append(held, cli.Grouped(p.NoQty)+" NO")
	}
	return strings.Join(held, ", ")
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

// chance is the probability of YES that the orders of others imply, in percent and in pips: the middle of
// bid and ask, or a bound if one side is empty. The page computes the same (store/books.ts).
func (m *Model) chance(r *row) (text string, value int64) {
	if bid, ask := m.bestPrices(r); bid == 0 && ask == 0 {
		return "-", 0
	}
	b := m.books[r.round.MarketID]
	bid, no := m.bestOfOthers(r, "yes", b.Yes), m.bestOfOthers(r, "no", b.No)
	percent := func(twice int64) string { // of the pips
		tenths := (twice + 10) / 20
		return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
	}
	switch ask := 10_000 - no; {
	case bid > 0 && no > 0:
		return percent(bid + ask), (bid + ask) / 2
	case bid > 0:
		return "≥" + percent(2*bid), bid
	case no > 0:
		return "≤" + percent(2*ask), ask
	}
	return "-", 0
}

// bestOfOthers is the best of the bids for an outcome, best first, that is not the caller's alone; 0 if there
// is none.
func (m *Model) bestOfOthers(r *row, outcome string, bids []schemas.Level) int64 {
	for _, l := range bids {
		left, at := l[1], l[0]
		if outcome == "no" {
			at = 10_000 - at
		}
		for _, o := range m.account.Orders {
			if offers, tick := yesSide(&o); o.MarketID == r.round.MarketID && offers == (outcome == "no") && tick == at {
				left -= o.RemainingQty
			}
		}
		if left > 0 {
			return l[0]
		}
	}
	return 0
}

func compareSign(price, strike schemas.U64) string {
	switch {
	case price == 0 || strike == 0:
		return " "
	case price > strike:
		return green.Render("▲")
	case price < strike:
		return red.Render("▼")
	}
	return "="
}

// priceText formats an oracle price, which is at 1e8, with as many decimals as fit into 10 characters.
func priceText(p schemas.U64) string {
	if p == 0 {
		return "-"
	}
	text := cli.FormatPrice(p)
	return text[:min(len(text), 10)]
}
