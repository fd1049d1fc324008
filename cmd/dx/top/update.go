package top

import (
	"cmp"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

// Update returns the model after a message and a command to run, if any. m is unchanged.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if m.ticket.phase != closed {
			return m.onTicketKey(msg)
		}
		return m.onKey(msg.String())
	case PricesMsg:
		m.onPrices(msg)
	case PreviewMsg:
		m.onPreview(msg)
	case PlacedMsg:
		m.onPlaced(msg)
	case CanceledMsg:
		m.onCanceled(msg)
	case RedeemedMsg:
		m.onRedeemed(msg)
	case ProfitMsg:
		m.onProfit(msg)
	case MembersMsg:
		m.members.onRead(msg)
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case ClockMsg:
		return m.onClock(time.Time(msg))
	case RefreshMsg:
		return m.onRefresh(msg)
	case TradesMsg:
		m.onTrades(msg)
	case BookMsg:
		m.onBook(msg)
	case TradeMsg:
		m.onTrade(schemas.Trade(msg))
	case IndexMsg:
		m.onIndex(schemas.WSOracle(msg))
	case RoundMsg:
		return m.onRound(schemas.Round(msg))
	case AccountMsg:
		m.account, m.accountKnown = client.Account(msg), true
		m.noteSeq(msg.Seq)
	case DisconnectedMsg:
		m.state, m.books, m.needsRefresh, m.disconnected = "reconnecting", nil, true, true
		m.pricesRead = [core.Feeds]bool{}
	case StreamEndedMsg:
		m.err = msg.Err
		return m, tea.Quit
	}
	return m, nil
}

// onClock sets the time and refreshes if something was missed.
func (m Model) onClock(now time.Time) (tea.Model, tea.Cmd) {
	m.now = now
	m.expireTicket()
	commands := []tea.Cmd{m.tick(), m.previewAgain(), m.readMembers(), m.readProfit()}
	if !m.needsRefresh || m.refreshing {
		return m, tea.Batch(commands...)
	}
	m.needsRefresh = false
	next, refresh := m.requestRefresh()
	return next, tea.Batch(append(commands, refresh)...)
}

func (m Model) onKey(name string) (tea.Model, tea.Cmd) {
	if m.help {
		m.help = false
		name = map[string]string{"ctrl+c": name}[name]
	}
	switch name {
	case "?":
		m.help = true
		return m, nil
	case "c":
		return m.openClose()
	case "q", "ctrl+c", "esc":
		return m, tea.Quit
	case "down", "j":
		m.selected = (m.selected + 1) % len(m.rows)
	case "up", "k":
		m.selected = (m.selected + len(m.rows) - 1) % len(m.rows)
	case "b":
		m.openTicket("buy")
		return m, nil
	case "s":
		m.openTicket("sell")
		return m, nil
	case "x":
		m.openCancel(false)
		return m, nil
	case "X":
		m.openCancel(true)
		return m, nil
	default:
		if len(name) != 1 || name[0] < '1' || name[0] > '9' {
			return m, nil
		}
		m.selected = int(name[0] - '1')
	}
	return m, m.readMarket()
}

// readMarket reads the trades of the selected market, and the prices of its feed.
func (m Model) readMarket() tea.Cmd { return tea.Batch(m.readTrades(), m.readPrices()) }

// readPrices reads the prices of the selected series' feed unless they were read before.
func (m Model) readPrices() tea.Cmd {
	feed := allSeries[m.selected].Feed
	if m.pricesRead[feed] || m.opt.ReadPrices == nil {
		return nil
	}
	return func() tea.Msg { return m.opt.ReadPrices(feed) }
}

// onPrices adds the prices of a read. A venue that keeps no history has none, and then the chart
// begins with the stream.
func (m *Model) onPrices(p PricesMsg) {
	m.pricesRead[p.Feed] = true
	if p.Err != nil {
		return
	}
	var read []point
	for _, row := range p.Prices {
		read = append(read, point{row.Ts.Int64() / 1e9, row.Close})
	}
	m.prices[p.Feed] = addPoints(m.prices[p.Feed], read)
}

// readTrades reads the trades of the selected market unless they were read before.
func (m Model) readTrades() tea.Cmd {
	id := m.market()
	if m.trades[id].asOf > 0 || id == 0 {
		return nil
	}
	return func() tea.Msg { return m.opt.ReadTrades(id) }
}

// requestRefresh refreshes, or schedules a further refresh after the one under way.
func (m Model) requestRefresh() (tea.Model, tea.Cmd) {
	if m.refreshing {
		m.refreshAgain = true
		return m, nil
	}
	m.refreshing = true
	return m, m.refresh
}

// onRefresh applies a read of all rounds, newest first, and markets.
func (m Model) onRefresh(l RefreshMsg) (tea.Model, tea.Cmd) {
	m.refreshing = false
	if l.Err != nil {
		m.state, m.needsRefresh = l.Err.Error(), true
	}
	m.asOf = max(m.asOf, l.AsOf)
	for _, r := range slices.Backward(l.Rounds) {
		m.setRound(r)
		m.addResult(r)
	}
	for i := range m.rows {
		at := slices.IndexFunc(l.Markets, func(k schemas.Market) bool { return k.RoundNumber == m.rows[i].round.RoundNumber })
		if at >= 0 {
			m.rows[i].market = l.Markets[at]
		}
	}
	if m.refreshAgain {
		m.refreshAgain = false
		return m.requestRefresh()
	}
	return m, m.readMarket()
}

// setRound sets the round of its series unless the row has a newer one.
func (m *Model) setRound(r schemas.Round) {
	i := int(r.Category) - 1
	if i < 0 || i >= len(m.rows) || r.RoundNumber < m.rows[i].round.RoundNumber {
		return
	}
	if m.rows[i].round.RoundNumber != r.RoundNumber {
		m.rows[i].market = schemas.Market{}
		m.trades = without(m.trades, r.MarketID) // they belong to an earlier generation
	}
	m.rows[i].round = r
	m.expireTicket()
}

// addResult adds a final round to the results of its series, or replaces it.
func (m *Model) addResult(r schemas.Round) {
	i := int(r.Category) - 1
	if i < 0 || i >= len(m.rows) || r.Status != "settled" && r.Status != "void" {
		return
	}
	old := m.rows[i].results
	at, found := slices.BinarySearchFunc(old, r.RoundNumber, func(x schemas.Round, n schemas.U64) int { return cmp.Compare(n, x.RoundNumber) })
	next := slices.Clone(old)
	if found {
		next[at] = r
	} else {
		next = slices.Insert(next, at, r)
	}
	m.rows[i].results = next[:min(len(next), maxRounds)]
}

// onRound applies a transition. A new round needs a refresh to read its market.
func (m Model) onRound(r schemas.Round) (tea.Model, tea.Cmd) {
	m.setRound(r)
	m.addResult(r)
	if r.Status == "trading" {
		return m.requestRefresh()
	}
	return m, nil
}

func (m *Model) onBook(b BookMsg) {
	m.noteSeq(b.Seq)
	m.books = without(m.books, b.Market)
	if b.Known {
		m.books[b.Market] = b.Book
	}
}

// onTrade adds a trade unless a read already included it.
func (m *Model) onTrade(t schemas.Trade) {
	m.noteSeq(t.Seq)
	if of := m.trades[t.MarketID]; t.Seq > of.asOf {
		m.setTrades(t.MarketID, of.asOf, append([]schemas.Trade{t}, of.trades...))
	}
	for i := range m.rows {
		if k := &m.rows[i].market; k.MarketID == t.MarketID && k.Generation == t.Generation && t.Seq > m.asOf {
			k.LastTickYes = t.TickYes
			k.Volume += schemas.U64(t.Qty)
		}
	}
}

// onTrades applies a read of trades and keeps later ones of the stream.
func (m *Model) onTrades(t TradesMsg) {
	if t.Err != nil {
		m.state = t.Err.Error()
		return
	}
	later := slices.DeleteFunc(slices.Clone(m.trades[t.Market].trades), func(k schemas.Trade) bool { return k.Seq <= t.AsOf })
	m.setTrades(t.Market, t.AsOf, append(later, t.Trades...))
}

func (m *Model) setTrades(market uint32, asOf schemas.U64, trades []schemas.Trade) {
	m.trades = without(m.trades, market)
	m.trades[market] = tradeList{asOf, trades[:min(len(trades), maxTrades)]}
}

func (m *Model) onIndex(t schemas.WSOracle) {
	if int(t.Feed) < len(m.index) {
		m.index[t.Feed] = t.Price
		m.prices[t.Feed] = addPoints(m.prices[t.Feed], []point{{t.Ts.Int64() / 1e9, t.Price}})
	}
	m.noteSeq(0)
}

// noteSeq records the highest seq and that the stream is live. What happened while it was not is in no
// event, so everything is read again.
func (m *Model) noteSeq(seq schemas.U64) {
	m.seq, m.state = max(m.seq, seq), "live"
	if m.disconnected {
		m.disconnected, m.needsRefresh, m.trades = false, true, nil
	}
}

// without returns a copy of a map without a market; the old model keeps its map.
func without[V any](old map[uint32]V, market uint32) map[uint32]V {
	out := maps.Clone(old)
	if out == nil {
		out = map[uint32]V{}
	}
	delete(out, market)
	return out
}
