package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// allSeries has the series by row.
var allSeries = core.AllSeries()

// maxTrades bounds the trades kept of a market.
const maxTrades = 100

// maxRounds bounds the results kept of a series.
const maxRounds = 100

// Options are the options of a Model.
type Options struct {
	Address, Account string // as the title shows them
	Zone             cli.Zone
	Series           int // the index of the series that is selected first
	Refresh          func() RefreshMsg
	ReadTrades       func(market uint32) TradesMsg
	ReadPrices       func(feed core.Feed) PricesMsg
	Preview          func(id int, o schemas.PlaceOrder) PreviewMsg // gives the order its client_order_id
	Place            func(id int, o schemas.PlaceOrder) PlacedMsg
	CancelAll        func(id int, market uint32) CanceledMsg // 0: in all markets
	Redeem           func(id int, market uint32, pairs int64) RedeemedMsg
	ReadProfit       func() ProfitMsg
	ReadMembers      func() MembersMsg // nil: the members of a cluster are not shown
	Now              func() time.Time  // the venue's clock
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
	prices        [core.Feeds][]point
	pricesRead    [core.Feeds]bool // since the last gap
	books         map[uint32]schemas.WSBook
	trades        map[uint32]tradeList
	account       client.Account
	accountKnown  bool
	selected      int
	ticket        ticket
	tickets       int         // opened or edited so far: the id of the newest
	message       string      // what the last action did
	asOf          schemas.U64 // of the last refresh
	members       members
	profit        profit
	help          bool // the keys are shown instead of the screen
	disconnected  bool // no event since the connection was lost
	needsRefresh  bool // a refresh failed, or transitions were missed while disconnected
	refreshing    bool // a refresh is under way
	refreshAgain  bool // refresh again after the one under way
	err           error
}

// tradeList is a market's trades, newest first: those of a read as of a seq, and later ones
// from the stream.
type tradeList struct {
	asOf   schemas.U64
	trades []schemas.Trade
}

// row is one series: its newest round, the market of that round, and its final rounds, newest
// first.
type row struct {
	round   schemas.Round
	market  schemas.Market
	results []schemas.Round
}

// New returns the model of a venue before the first message.
func New(o Options) Model {
	return Model{opt: o, width: 80, height: 24, now: o.Now(), state: "connecting", selected: o.Series}
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
	// PricesMsg is a read of the last prices of a feed.
	PricesMsg struct {
		Feed   core.Feed
		Prices []schemas.PriceRow
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
	// PreviewMsg is the preview of the order of a ticket, which has its client_order_id now.
	PreviewMsg struct {
		Ticket  int
		Order   schemas.PlaceOrder
		Preview schemas.Preview
		Err     error
	}
	// PlacedMsg is the result of the order of a ticket.
	PlacedMsg struct {
		Ticket int
		Order  schemas.PlaceOrder
		Placed schemas.Placed
		Err    error
	}
	// CanceledMsg is the result of a cancel-all.
	CanceledMsg struct {
		Ticket int
		Err    error
	}
	// RedeemedMsg is the result of a redemption of pairs.
	RedeemedMsg struct {
		Ticket int
		Err    error
	}
	// ProfitMsg is a read of the account's profit and loss.
	ProfitMsg struct {
		PnL schemas.PnL
		Err error
	}
	// MembersMsg is a read of the members of a cluster. Single means that the venue has none.
	MembersMsg struct {
		Members []schemas.ClusterMember
		Single  bool
		Err     error
	}
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
