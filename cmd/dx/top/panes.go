package top

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"duplex/schemas"
)

// bookLines is the book of the selected market: asks of YES above the spread, bids below
// it, the best next to it. A * means that the level has an own order.
func (m *Model) bookLines(n int) []string {
	r := &m.rows[m.selected]
	b, known := m.books[r.round.MarketID]
	switch {
	case r.round.RoundNumber == 0:
		return nil
	case !known || b.Generation != r.round.Generation:
		return []string{" book is unknown"}
	}
	offers := b.No[:min(len(b.No), (n-1)/2)]
	out := make([]string, max(0, (n-1)/2-len(offers)), n)
	for _, l := range slices.Backward(offers) {
		out = append(out, m.levelLine("ask", 10_000-l[0], l[1]))
	}
	out = append(out, " ---- "+bidAskText(m.bestPrices(r))+" ----")
	for _, l := range b.Yes[:min(len(b.Yes), n-len(out))] {
		out = append(out, m.levelLine("bid", l[0], l[1]))
	}
	return out
}

func (m *Model) levelLine(side string, yes, qty int64) string {
	mine := " "
	for _, o := range m.account.Orders {
		if offers, tick := yesSide(&o); o.MarketID == m.market() && offers == (side == "ask") && tick == yes {
			mine = "*"
		}
	}
	return fmt.Sprintf("%s%s %7s %8d", mine, side, cents(yes), qty)
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
	return cents(ask-bid) + " apart"
}

// tradeLines are the trades of the selected market, newest first. ▲ is a taker who bought
// YES or sold NO, ▼ the opposite.
func (m *Model) tradeLines(n int) (out []string) {
	list := m.trades[m.market()].trades
	for _, t := range list[:min(len(list), n)] {
		sign := "▼"
		if (t.TakerSide == "buy") == (t.TakerOutcome == "yes") {
			sign = "▲"
		}
		out = append(out, fmt.Sprintf("%s %s %6s %6d", time.Unix(0, t.Ts.Int64()).UTC().Format("15:04:05"), sign, cents(t.TickYes), t.Qty))
	}
	return out
}

// orderLines are the caller's resting orders in all markets, newest first.
func (m *Model) orderLines(n int) (out []string) {
	if !m.accountKnown {
		return []string{"not known yet"}
	}
	var list []schemas.Order
	for _, o := range m.account.Orders {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b schemas.Order) int { return cmp.Compare(*b.OrderID, *a.OrderID) })
	for i, o := range list {
		if i == n-1 && len(list) > n {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, fmt.Sprintf("%3d %-4s %-3s %6s %5d", o.MarketID, o.Side, o.Outcome, cents(o.Tick), o.RemainingQty))
	}
	return out
}

// accountLine is the line with cash, position and dead-man switch.
func (m *Model) accountLine() string {
	if !m.accountKnown {
		return ""
	}
	a := &m.account
	deadman := "off"
	if a.Deadman.Armed {
		deadman = fmt.Sprintf("%ds", max(0, time.Unix(0, a.Deadman.DeadlineTs.Int64()).Sub(m.now)).Round(time.Second)/time.Second)
	}
	p := a.Positions[m.market()]
	return padTo(fmt.Sprintf(" cash %s  reserved %s  here %d YES, %d NO  dead-man %s", dollars(a.Cash), dollars(a.Reserved), p.YesQty, p.NoQty, deadman), 79)
}

func dollars(pips schemas.U64) string { return fmt.Sprintf("$%d.%02d", pips/10_000, pips/100%100) }
