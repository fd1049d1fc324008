package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

// allSeries has the series by row.
var allSeries = core.AllSeries()

// maxTrades bounds the trades kept of a market.
const maxTrades = 100

// Options are the options of a Model.
type Options struct {
	Address, Account string // as the title shows them
	Refresh          func() RefreshMsg
	ReadTrades       func(market uint32) TradesMsg
	Now              func() time.Time // the venue's clock
}

// Model is the state of the screen. It is a value: Update returns a new one.
type Model struct {
	opt           Options
	width, height int
	now           time.Time
	state         string // of the stream
	seq           schemas.U64
	rows          [core.SeriesCount]row
	index         [core.Feeds]schemas.U64 // by feed, at 1e8
	books         map[uint32]schemas.WSBook
	trades        map[uint32]tradeList
	account       client.Account
	accountKnown  bool
	selected      int
	asOf          schemas.U64 // of the last refresh
	needsRefresh  bool        // a refresh failed, or transitions were missed while disconnected
	refreshing    bool        // a refresh is under way
	refreshAgain  bool        // refresh again after the one under way
	err           error
}

// tradeList is a market's trades, newest first: those of a read as of a seq, and later ones
// from the stream.
type tradeList struct {
	asOf   schemas.U64
	trades []schemas.Trade
}

// row is one series: its newest round and the market of that round.
type row struct {
	round  schemas.Round
	market schemas.Market
}

// New returns the model of a venue before the first message.
func New(o Options) Model {
	return Model{opt: o, width: 80, height: 24, now: o.Now(), state: "connecting"}
}

// Err is the error that ended the program; nil if the user quit.
func (m Model) Err() error { return m.err }

// The messages of the stream, the reads and the clock.
type (
	// RefreshMsg is a read of all rounds and markets.
	RefreshMsg struct {
		Rounds  []schemas.Round
		Markets []schemas.Market
		AsOf    schemas.U64 // of the markets
		Err     error
	}
	// TradesMsg is a read of a market's trades, newest first.
	TradesMsg struct {
		Market uint32
		Trades []schemas.Trade
		AsOf   schemas.U64
		Err    error
	}
	// BookMsg is a market's book; Known is false after a gap in its events.
	BookMsg struct {
		Market uint32
		Seq    schemas.U64
		Book   schemas.WSBook
		Known  bool
	}
	// TradeMsg is a public trade.
	TradeMsg schemas.Trade
	// IndexMsg is a tick of a feed.
	IndexMsg schemas.WSOracle
	// RoundMsg is a transition of a round.
	RoundMsg schemas.Round
	// AccountMsg is the caller's account.
	AccountMsg client.Account
	// DisconnectedMsg has the error that ended a connection; the client reconnects.
	DisconnectedMsg struct{ Err error }
	// StreamEndedMsg has the error that ended the stream for good.
	StreamEndedMsg struct{ Err error }
	// ClockMsg is the time, once a second.
	ClockMsg time.Time
)

// Init requests the first refresh and starts the clock.
func (m Model) Init() tea.Cmd { return tea.Batch(m.refresh, m.tick()) }

func (m Model) refresh() tea.Msg { return m.opt.Refresh() }

func (m Model) tick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return ClockMsg(m.opt.Now()) })
}

// market is the id of the selected series' market; 0 if it has none.
func (m *Model) market() uint32 { return m.rows[m.selected].round.MarketID }
