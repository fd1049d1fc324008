package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/schemas"
)

// Series names the nine, by category less one (spec 1.4).
var Series = [9]string{"BTC 60s", "BTC 5m", "BTC 15m", "gold 60s", "gold 5m", "gold 15m", "WTI 60s", "WTI 5m", "WTI 15m"}

// tapeMost is how many trades of a market are kept.
const tapeMost = 100

// Options of a Model: where and as whom, and the reads it may ask for.
type Options struct {
	Where, Who string
	Look       func() Looked
	Tape       func(market uint32) Taped
	Now        func() time.Time // the venue's clock
}

// Model is what the screen shows. It is a value: Update gives a new one.
type Model struct {
	o             Options
	width, height int
	now           time.Time
	state         string // of the stream
	seq           schemas.U64
	rows          [9]row
	index         [3]schemas.U64 // by feed, at 1e8
	books         map[uint32]schemas.WSBook
	tapes         map[uint32]tape
	account       client.Account
	known         bool // the account
	selected      int
	asOf          schemas.U64 // of the last look
	missed        bool        // a look failed, or a connection that ended may have hidden transitions
	looking       bool        // a look is on its way
	stale         bool        // and what it will show is old already
	err           error
}

// tape is a market's trades, newest first: those that a read as of a seq gave, and
// those that came after it.
type tape struct {
	asOf   schemas.U64
	trades []schemas.Trade
}

// row is a series: its newest round, and the market of that.
type row struct {
	round  schemas.Round
	market schemas.Market
}

// New makes the model of a venue not yet heard of.
func New(o Options) Model {
	return Model{o: o, width: 80, height: 24, now: o.Now(), state: "connecting"}
}

// Err is why the program ended by itself; nil if it was asked to.
func (m Model) Err() error { return m.err }

// What the stream and the reads tell.
type (
	// Looked is a read of all rounds and markets.
	Looked struct {
		Rounds  []schemas.Round
		Markets []schemas.Market
		AsOf    schemas.U64 // of the markets
		Err     error
	}
	// Taped is a read of a market's trades, newest first.
	Taped struct {
		Market uint32
		Trades []schemas.Trade
		AsOf   schemas.U64
		Err    error
	}
	// Booked is a market's book; not Known behind a gap.
	Booked struct {
		Market uint32
		Seq    schemas.U64
		Book   schemas.WSBook
		Known  bool
	}
	// Traded is a public trade.
	Traded schemas.Trade
	// Indexed is a tick of a feed.
	Indexed schemas.WSOracle
	// Changed is a transition of a round.
	Changed schemas.Round
	// Accounted is the caller's account.
	Accounted client.Account
	// Broke is why a connection ended; another is tried.
	Broke struct{ Err error }
	// Ended is why the stream will not come back.
	Ended struct{ Err error }
	// Ticked is a second of the screen's clock.
	Ticked time.Time
)

// Init asks for the first look, and starts the clock.
func (m Model) Init() tea.Cmd { return tea.Batch(m.look, m.tick()) }

func (m Model) look() tea.Msg { return m.o.Look() }

func (m Model) tick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return Ticked(m.o.Now()) })
}

// market is the id of the selected series' market; 0 if it has none.
func (m *Model) market() uint32 { return m.rows[m.selected].round.MarketID }
