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

// panes are a line of heads and n-1 lines of panes, side by side.
func (m *Model) panes(n int) []string {
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
	line := fmt.Sprintf("%s%s %s %8d", mine, side, style.Render(fmt.Sprintf("%7s", trading.Cents(yes))), qty)
	if room := int64(width - 23); room > 2 {
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
		out = append(out, fmt.Sprintf("%s %s %6d", m.opt.Zone.Format(t.Ts, time.TimeOnly), style.Render(fmt.Sprintf("%s %6s", sign, trading.Cents(t.TickYes))), t.Qty))
	}
	return out
}

// ownLines are the caller's resting orders in all markets, newest first, and below them what the
// caller holds.
func (m *Model) ownLines(width, n int) []string {
	if !m.accountKnown {
		return []string{"not known yet"}
	}
	held := m.positionLines(width)
	if len(held) > 0 {
		held = append([]string{bold.Render("MY POSITIONS")}, held...)
	}
	room := max(n-len(held)-1, (n+1)/2)
	if len(held) == 0 {
		room = n
	}
	out := m.orderLines(width, room)
	if len(held) > 0 && n-len(out) >= 2 {
		out = append(out, "")
		if len(held) > n-len(out) {
			held = append(held[:max(n-len(out)-1, 0)], fmt.Sprintf("and %d more", len(held)-max(n-len(out)-1, 0)))
		}
		out = append(out, held...)
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
		line := fmt.Sprintf("%3d %-4s %s %6s %5d", o.MarketID, o.Side, outcomeStyle(o.Outcome).Render(fmt.Sprintf("%-3s", o.Outcome)), trading.Cents(o.Tick), o.RemainingQty)
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

// positionLines are what the caller holds, with its entry, which is what a contract has cost, and its profit at the
// mark: by series, then in rounds that wait for their result while their series is in a later one.
func (m *Model) positionLines(width int) (out []string) {
	add := func(name string, p *schemas.Position) {
		for _, of := range []struct {
			outcome string
			qty     int64
		}{{"yes", p.YesQty}, {"no", p.NoQty}} {
			if of.qty == 0 {
				continue
			}
			line := fmt.Sprintf("%-8s %d %s", name, of.qty, strings.ToUpper(of.outcome))
			x := m.profit.held(p, of.outcome, of.qty)
			switch {
			case x == nil:
				out = append(out, line)
			case width >= 36:
				out = append(out, fmt.Sprintf("%-20s at %6s  %s", line, trading.Cents(x.AvgCost.Int64()), gain(x.Unrealized)))
			default:
				out = append(out, fmt.Sprintf("%s at %s", line, trading.Cents(x.AvgCost.Int64())), padTo("", len("BTC 60s  "))+gain(x.Unrealized))
			}
		}
	}
	for i := range m.rows {
		p := m.positionIn(&m.rows[i])
		add(allSeries[i].String(), &p)
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
	return padTo(fmt.Sprintf(" cash %s  reserved %s%s  dead-man %s", dollars(a.Cash), dollars(a.Reserved), m.profit.text(), deadman), m.cols())
}

func dollars(pips schemas.U64) string {
	return fmt.Sprintf("$%s.%02d", cli.Grouped(uint64(pips/10_000)), pips/100%100)
}
