package top

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"duplex/schemas"
)

// ladder is the book of the selected market around its spread: offers of YES above,
// bids below, the best next to the line. * marks a level with an own order.
func (m *Model) ladder(n int) []string {
	r := &m.rows[m.selected]
	b, known := m.books[r.round.MarketID]
	switch {
	case r.round.RoundNumber == 0:
		return nil
	case !known || b.Generation != r.round.Generation:
		return []string{" not known for sure"}
	}
	offers := b.No[:min(len(b.No), (n-1)/2)]
	out := make([]string, max(0, (n-1)/2-len(offers)), n)
	for _, l := range slices.Backward(offers) {
		out = append(out, m.level("ask", 10_000-l[0], l[1]))
	}
	out = append(out, " ---- "+spread(m.best(r))+" ----")
	for _, l := range b.Yes[:min(len(b.Yes), n-len(out))] {
		out = append(out, m.level("bid", l[0], l[1]))
	}
	return out
}

func (m *Model) level(side string, yes, qty int64) string {
	mine := " "
	for _, o := range m.account.Orders {
		if offers, tick := inYes(&o); o.MarketID == m.market() && offers == (side == "ask") && tick == yes {
			mine = "*"
		}
	}
	return fmt.Sprintf("%s%s %7s %8d", mine, side, cents(yes), qty)
}

// inYes tells an order as the book has it: a bid for NO is an offer of YES.
func inYes(o *schemas.Order) (offers bool, tick int64) {
	if o.Outcome == "yes" {
		return o.Side == "sell", o.Tick
	}
	return o.Side == "buy", 10_000 - o.Tick
}

func spread(bid, ask int64) string {
	if bid == 0 || ask == 0 {
		return "open"
	}
	return cents(ask-bid) + " apart"
}

// trades are those of the selected market, newest first. ▲ is a taker for YES, ▼ one
// for NO.
func (m *Model) trades(n int) (out []string) {
	list := m.tapes[m.market()].trades
	for _, t := range list[:min(len(list), n)] {
		sign := "▼"
		if (t.TakerSide == "buy") == (t.TakerOutcome == "yes") {
			sign = "▲"
		}
		out = append(out, fmt.Sprintf("%s %s %6s %6d", time.Unix(0, t.Ts.Int64()).UTC().Format("15:04:05"), sign, cents(t.TickYes), t.Qty))
	}
	return out
}

// orders are the caller's that rest, in all markets, newest first.
func (m *Model) orders(n int) (out []string) {
	if !m.known {
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

// money is the account's line.
func (m *Model) money() string {
	if !m.known {
		return ""
	}
	a := &m.account
	deadman := "off"
	if a.Deadman.Armed {
		deadman = fmt.Sprintf("%ds", max(0, time.Unix(0, a.Deadman.DeadlineTs.Int64()).Sub(m.now)).Round(time.Second)/time.Second)
	}
	p := a.Positions[m.market()]
	return fit(fmt.Sprintf(" cash %s  reserved %s  here %d YES, %d NO  dead-man %s", dollars(a.Cash), dollars(a.Reserved), p.YesQty, p.NoQty, deadman), 79)
}

func dollars(pips schemas.U64) string { return fmt.Sprintf("$%d.%02d", pips/10_000, pips/100%100) }
