package top

import (
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/schemas"
)

// Update takes one message.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.key(msg.String())
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case Ticked:
		return m.ticked(time.Time(msg))
	case Looked:
		return m.looked(msg)
	case Taped:
		m.taped(msg)
	case Booked:
		m.booked(msg)
	case Traded:
		m.traded(schemas.Trade(msg))
	case Indexed:
		m.indexed(schemas.WSOracle(msg))
	case Changed:
		return m.changed(schemas.Round(msg))
	case Accounted:
		m.account, m.known = client.Account(msg), true
		m.heard(msg.Seq)
	case Broke:
		m.state, m.books, m.missed = "broken, coming back", nil, true
	case Ended:
		m.err = msg.Err
		return m, tea.Quit
	}
	return m, nil
}

// ticked moves the clock, and looks again where something was missed.
func (m Model) ticked(now time.Time) (tea.Model, tea.Cmd) {
	m.now = now
	if !m.missed || m.looking {
		return m, m.tick()
	}
	m.missed = false
	next, look := m.again()
	return next, tea.Batch(m.tick(), look)
}

func (m Model) key(name string) (tea.Model, tea.Cmd) {
	switch name {
	case "q", "ctrl+c", "esc":
		return m, tea.Quit
	case "down", "j":
		m.selected = (m.selected + 1) % len(m.rows)
	case "up", "k":
		m.selected = (m.selected + len(m.rows) - 1) % len(m.rows)
	default:
		return m, nil
	}
	return m, m.readTape()
}

// readTape reads the selected market's trades, where only the stream's are known.
func (m Model) readTape() tea.Cmd {
	id := m.market()
	if m.tapes[id].asOf > 0 || id == 0 {
		return nil
	}
	return func() tea.Msg { return m.o.Tape(id) }
}

// again asks for a look, or for one more after that on its way.
func (m Model) again() (tea.Model, tea.Cmd) {
	if m.looking {
		m.stale = true
		return m, nil
	}
	m.looking = true
	return m, m.look
}

// looked takes all rounds, newest first, and markets.
func (m Model) looked(l Looked) (tea.Model, tea.Cmd) {
	m.looking = false
	if l.Err != nil {
		m.state, m.missed = l.Err.Error(), true
	}
	m.asOf = max(m.asOf, l.AsOf)
	for _, r := range slices.Backward(l.Rounds) {
		m.enter(r)
	}
	for i := range m.rows {
		at := slices.IndexFunc(l.Markets, func(k schemas.Market) bool { return k.RoundNumber == m.rows[i].round.RoundNumber })
		if at >= 0 {
			m.rows[i].market = l.Markets[at]
		}
	}
	if m.stale {
		m.stale = false
		return m.again()
	}
	return m, m.readTape()
}

// enter puts a round into its series' row, unless a newer one is there.
func (m *Model) enter(r schemas.Round) {
	i := int(r.Category) - 1
	if i < 0 || i >= len(m.rows) || r.RoundNumber < m.rows[i].round.RoundNumber {
		return
	}
	if m.rows[i].round.RoundNumber != r.RoundNumber {
		m.rows[i].market = schemas.Market{}
		m.tapes = without(m.tapes, r.MarketID) // of the slot's life before
	}
	m.rows[i].round = r
}

// changed takes a transition. The market of a new round is looked up.
func (m Model) changed(r schemas.Round) (tea.Model, tea.Cmd) {
	m.enter(r)
	if r.Status == "trading" {
		return m.again()
	}
	return m, nil
}

func (m *Model) booked(b Booked) {
	m.heard(b.Seq)
	m.books = without(m.books, b.Market)
	if b.Known {
		m.books[b.Market] = b.Book
	}
}

// traded adds a trade, unless a read has told it before the stream did.
func (m *Model) traded(t schemas.Trade) {
	m.heard(t.Seq)
	if of := m.tapes[t.MarketID]; t.Seq > of.asOf {
		m.keep(t.MarketID, of.asOf, append([]schemas.Trade{t}, of.trades...))
	}
	for i := range m.rows {
		if k := &m.rows[i].market; k.MarketID == t.MarketID && k.Generation == t.Generation && t.Seq > m.asOf {
			k.LastTickYes = t.TickYes
			k.Volume += schemas.U64(t.Qty)
		}
	}
}

// taped takes a read, and keeps what the stream told since.
func (m *Model) taped(t Taped) {
	if t.Err != nil {
		m.state = t.Err.Error()
		return
	}
	later := slices.DeleteFunc(slices.Clone(m.tapes[t.Market].trades), func(k schemas.Trade) bool { return k.Seq <= t.AsOf })
	m.keep(t.Market, t.AsOf, append(later, t.Trades...))
}

func (m *Model) keep(market uint32, asOf schemas.U64, trades []schemas.Trade) {
	m.tapes = without(m.tapes, market)
	m.tapes[market] = tape{asOf, trades[:min(len(trades), tapeMost)]}
}

func (m *Model) indexed(t schemas.WSOracle) {
	if int(t.Feed) < len(m.index) {
		m.index[t.Feed] = t.Price
	}
	m.state = "live"
}

// heard notes the newest seq.
func (m *Model) heard(seq schemas.U64) { m.seq, m.state = max(m.seq, seq), "live" }

// without is a copy of a map, less a market: what Update was given stays as it was.
func without[V any](old map[uint32]V, market uint32) map[uint32]V {
	out := maps.Clone(old)
	if out == nil {
		out = map[uint32]V{}
	}
	delete(out, market)
	return out
}
