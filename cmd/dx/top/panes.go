package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/schemas"
)

// pane is a column below the table of series.
type pane struct {
	head  string
	width int
	lines func(width, n int) []string
}

// The width from which there is a fourth pane, with the results of the series.
const fourPanes = 110

// panes are a line of heads and n-1 lines of panes, side by side; nothing if n is not above 0.
func (m *Model) panes(n int) []string {
	if n < 1 {
		return nil
	}
	book := "BOOK"
	if id := m.market(); id != 0 {
		book = fmt.Sprintf("BOOK of market %d", id)
	}
	list := []pane{{" " + book, 23, m.bookLines}, {"TRADES", 24, m.tradeLines}, {"MY ORDERS", 26, m.ownLines}}
	extra := m.cols() - 79
	if m.width >= fourPanes {
		list = append(list, pane{"RESULTS of " + allSeries[m.selected].String(), 26, m.resultLines})
		extra -= 26 + 3
	}
	for i, share := range []int{3, 1, 3, 3} { // of the extra width, in tenths
		if i < len(list) {
			list[i].width += extra * share / 10
		}
	}
	out := make([]string, n)
	for i, p := range list {
		if i == len(list)-1 { // the rest
			p.width = m.cols()
			for _, q := range list[:i] {
				p.width -= q.width + 3
			}
		}
		lines := p.lines(p.width, n-1)
		for k := range out {
			text := bold.Render(truncate(p.head, p.width))
			if k > 0 {
				text = lineAt(lines, k-1)
			}
			if i > 0 {
				out[k] += faint.Render(" │ ")
			}
			out[k] += padTo(text, p.width)
		}
	}
	return out
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// bookLines is the book of the selected market: asks of YES above the spread, bids below
// it, the best next to it. A * means that the level has an own order. Where there is room, a bar
// shows the size of a level compared with the largest.
func (m *Model) bookLines(width, n int) []string {
	r := &m.rows[m.selected]
	b, known := m.books[r.round.MarketID]
	switch {
	case r.round.RoundNumber == 0 || n < 1:
		return nil
	case !known || b.Generation != r.round.Generation:
		return []string{" book is unknown"}
	}
	n = min(n, 2*max(len(b.Yes), len(b.No))+1) // a small book is not torn apart
	offers := b.No[:min(len(b.No), (n-1)/2)]
	out := make([]string, max(0, (n-1)/2-len(offers)), n)
	bids := b.Yes[:min(len(b.Yes), n-len(out)-len(offers)-1)]
	largest := int64(1)
	for _, l := range slices.Concat(offers, bids) {
		largest = max(largest, l[1])
	}
	for _, l := range slices.Backward(offers) {
		out = append(out, m.levelLine("ask", 10_000-l[0], l[1], largest, width))
	}
	out = append(out, faint.Render(" ---- "+bidAskText(m.bestPrices(r))+" ----"))
	for _, l := range bids {
		out = append(out, m.levelLine("bid", l[0], l[1], largest, width))
	}
	return out
}

func (m *Model) levelLine(side string, yes, qty, largest int64, width int) string {
	mine, style := " ", green
	if side == "ask" {
		style = red
	}
	for _, o := range m.account.Orders {
		if offers, tick := yesSide(&o); o.MarketID == m.market() && offers == (side == "ask") && tick == yes {
			mine = yellow.Render("*")
		}
	}
	line := fmt.Sprintf("%s%s %s %9s", mine, side, style.Render(fmt.Sprintf("%7s", trading.Cents(yes))), cli.Grouped(qty))
	if room := int64(width - 24); room > 2 {
		line += " " + style.Render(strings.Repeat("▒", int((qty*room+largest-1)/largest)))
	}
	return line
}

// yesSide converts an order to YES space, in which a buy of NO is an ask.
func yesSide(o *schemas.Order) (offers bool, tick int64) {
	if o.Outcome == "yes" {
		return o.Side == "sell", o.Tick
	}
	return o.Side == "buy", 10_000 - o.Tick
}

func bidAskText(bid, ask int64) string {
	if bid == 0 || ask == 0 {
		return "open"
	}
	return trading.Cents(ask-bid) + " apart"
}

// tradeLines are the trades of the selected round, newest first. ▲ is a taker who bought
// YES or sold NO, ▼ the opposite.
func (m *Model) tradeLines(_, n int) (out []string) {
	for _, t := range m.trades[m.market()].trades {
		if t.Generation != m.rows[m.selected].round.Generation {
			continue // of an earlier life of the slot
		}
		if len(out) == n {
			break
		}
		sign, style := "▼", red
		if (t.TakerSide == "buy") == (t.TakerOutcome == "yes") {
			sign, style = "▲", green
		}
		out = append(out, fmt.Sprintf("%s %s %7s", m.opt.Zone.Format(t.Ts, time.TimeOnly), style.Render(fmt.Sprintf("%s %5s", sign, trading.Cents(t.TickYes))), cli.GroupedIn(t.Qty, 7)))
	}
	return out
}

// ownLines are the caller's resting orders in all markets, newest first, and below them what the
// caller holds.
func (m *Model) ownLines(width, n int) []string {
	if !m.accountKnown {
		return []string{"not known yet"}
	}
	held := m.positionEntries(width)
	lines := 0
	for _, entry := range held {
		lines += len(entry)
	}
	room := n
	if len(held) > 0 { // a blank line and a head go before the positions
		room = max(n-lines-2, (n+1)/2)
	}
	out := m.orderLines(width, room)
	return append(out, fitPositions(held, n-len(out))...)
}

// fitPositions are as many whole positions as n lines have room for, under a blank line and a head, and how many more
// there are.
func fitPositions(held [][]string, n int) []string {
	out := []string{"", bold.Render("MY POSITIONS")}
	for i, entry := range held {
		left := len(held) - i
		if need := len(out) + len(entry); need > n || left > 1 && need == n {
			if i == 0 { // not even one
				out = []string{trading.Count(left, "position")}
				return out[:min(max(n, 0), 1)]
			}
			return append(out, fmt.Sprintf("and %d more", left))
		}
		out = append(out, entry...)
	}
	if len(held) == 0 {
		return nil
	}
	return out
}

func (m *Model) orderLines(width, n int) (out []string) {
	list := slices.SortedFunc(maps.Values(m.account.Orders), func(a, b schemas.Order) int { return cmp.Compare(*b.OrderID, *a.OrderID) })
	if len(list) == 0 {
		return []string{faint.Render("none")}
	}
	for i, o := range list {
		if i == n-1 && len(list) > n {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		line := fmt.Sprintf("%3d %-4s %s %5s %7s", o.MarketID, o.Side, outcomeStyle(o.Outcome).Render(fmt.Sprintf("%-3s", o.Outcome)), trading.Cents(o.Tick), cli.GroupedIn(o.RemainingQty, 7))
		if width >= 36 {
			line = fmt.Sprintf("%-8s ", m.seriesOf(o.MarketID)) + line
		}
		out = append(out, line)
	}
	return out
}

// outcomeStyle is the color of an outcome.
func outcomeStyle(outcome string) lipgloss.Style {
	if outcome == "yes" {
		return green
	}
	return red
}

// seriesOf is the series that trades in a market; "" if none does.
func (m *Model) seriesOf(market uint32) string {
	for i := range m.rows {
		if m.rows[i].round.MarketID == market && m.rows[i].round.RoundNumber > 0 {
			return allSeries[i].String()
		}
	}
	return ""
}

// holding is what the caller holds of an outcome of a round.
type holding struct {
	name    string // of its series, or of a round that waits for its result while its series is in a later one
	outcome string
	qty     int64
	cost    *schemas.PnLPosition // nil if it is not known
}

// holdings are what the caller holds: in the selected series, in the others, and in earlier rounds.
func (m *Model) holdings() (out []holding) {
	add := func(name string, p *schemas.Position) {
		for _, h := range []holding{{outcome: "yes", qty: p.YesQty}, {outcome: "no", qty: p.NoQty}} {
			if h.qty > 0 {
				h.name, h.cost = name, m.profit.held(p, h.outcome, h.qty)
				out = append(out, h)
			}
		}
	}
	here := m.positionIn(&m.rows[m.selected])
	add(allSeries[m.selected].String(), &here)
	for i := range m.rows {
		if i != m.selected {
			p := m.positionIn(&m.rows[i])
			add(allSeries[i].String(), &p)
		}
	}
	rest := slices.DeleteFunc(slices.Collect(maps.Values(m.account.Positions)), func(p schemas.Position) bool {
		return slices.ContainsFunc(m.rows[:], func(r row) bool { return r.round.MarketID == p.MarketID })
	})
	slices.SortFunc(rest, func(a, b schemas.Position) int { return cmp.Compare(a.RoundNumber, b.RoundNumber) })
	for i := range rest {
		add(fmt.Sprintf("round %d", rest[i].RoundNumber), &rest[i])
	}
	return out
}

// positionEntries are the lines of each holding: its entry, which is what a contract has cost, and its profit at the
// mark are beside it if the width has room for that in all of them, else below it.
func (m *Model) positionEntries(width int) [][]string {
	held := m.holdings()
	wide, tall := make([][]string, len(held)), make([][]string, len(held))
	fits := true
	for i, h := range held {
		what := fmt.Sprintf("%-8s %s %s", h.name, cli.Grouped(h.qty), strings.ToUpper(h.outcome))
		wide[i], tall[i] = []string{what}, []string{what}
		if h.cost != nil {
			at, profit := trading.Cents(h.cost.AvgCost.Int64()), gain(h.cost.Unrealized)
			wide[i] = []string{fmt.Sprintf("%-22s at %6s  %s", what, at, profit)}
			tall[i] = append(tall[i], fmt.Sprintf("  at %s  %s", at, profit))
		}
		fits = fits && lipgloss.Width(wide[i][0]) <= width
	}
	if fits {
		return wide
	}
	return tall
}

// resultLines are the last rounds of the selected series, newest first: when they closed, the
// outcome, and what the settle price is above or below the strike.
func (m *Model) resultLines(width, n int) (out []string) {
	results := m.rows[m.selected].results
	for i := range results[:min(len(results), n)] {
		r := &results[i]
		sign, settled := "void", ""
		if r.Winner != nil {
			sign = strings.ToUpper(*r.Winner)
			settled = priceText(r.SettlePrice)
		}
		line := fmt.Sprintf("%s %s %-4s %10s", m.opt.Zone.Format(r.CloseTs, "15:04"), resultSign(r), sign, settled)
		if width >= 44 && settled != "" {
			line += fmt.Sprintf("  strike %10s", priceText(r.Strike))
		}
		out = append(out, line)
	}
	return out
}

// accountLine is the line with cash, profit and dead-man switch.
func (m *Model) accountLine() string {
	if !m.accountKnown {
		return ""
	}
	a := &m.account
	deadman := "off"
	if a.Deadman.Armed {
		deadman = fmt.Sprintf("%ds", max(0, time.Unix(0, a.Deadman.DeadlineTs.Int64()).Sub(m.now)).Round(time.Second)/time.Second)
	}
	line := fmt.Sprintf(" cash %s  reserved %s%s  dead-man %s", cli.FormatWholeCents(a.Cash.Int64()), cli.FormatWholeCents(a.Reserved.Int64()), m.profit.text(), deadman)
	if lipgloss.Width(line) > m.cols() {
		line = strings.ReplaceAll(line, "  ", " ")
	}
	return padTo(line, m.cols())
}
