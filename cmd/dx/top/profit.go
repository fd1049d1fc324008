package top

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// markEvery is how often profit is read while contracts are held: their mark moves with the book of others.
const markEvery = 5 * time.Second

// profit is the account's profit and loss as the last read had it. What contracts have cost is in no event.
type profit struct {
	schemas.PnL
	known   bool
	reading bool
	seq     schemas.U64 // of the account at the last read
	at      time.Time   // of the last read
}

// readProfit reads the profit, unless a read is under way, if the account has changed since the last one or
// holds contracts. It has the second of the clock as its shortest interval.
func (m *Model) readProfit() tea.Cmd {
	p := &m.profit
	moves := len(p.Positions) > 0 && m.now.Sub(p.at) >= markEvery
	if m.opt.ReadProfit == nil || p.reading || !m.accountKnown || p.known && p.seq >= m.account.Seq && !moves {
		return nil
	}
	p.reading, p.seq, p.at = true, m.account.Seq, m.now
	return func() tea.Msg { return m.opt.ReadProfit() }
}

// onProfit applies a read. After one that failed the next second reads again; the figures of before stay.
func (m *Model) onProfit(r ProfitMsg) {
	m.profit.reading = false
	if r.Err != nil {
		m.profit.seq = 0
		return
	}
	m.profit.PnL, m.profit.known = r.PnL, true
}

// held returns what is held of an outcome of a round with its cost, or nil if the read does not have it as it is now.
func (p *profit) held(of *schemas.Position, outcome string, qty int64) *schemas.PnLPosition {
	for i := range p.Positions {
		if x := &p.Positions[i]; x.MarketID == of.MarketID && x.Generation == of.Generation && x.Outcome == outcome && x.Qty == qty {
			return x
		}
	}
	return nil
}

// gain is a profit or a loss in dollars and whole cents, with its sign and color.
func gain(pips schemas.Signed) string {
	switch text := cli.FormatWholeCents(int64(pips)); {
	case text == cli.FormatWholeCents(0):
		return text
	case pips > 0:
		return green.Render("+" + text)
	default:
		return red.Render(text)
	}
}

// text is what the account has made today and what it would make on what it holds at the mark; "" if it is
// not known.
func (p *profit) text() string {
	if !p.known {
		return ""
	}
	return fmt.Sprintf("  today %s  open %s", gain(p.RealizedToday), gain(p.Unrealized))
}
