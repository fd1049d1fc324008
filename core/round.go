package core

// RoundStatus as spec 3.2 names it. NeverOpened marks a slot without a life yet.
type RoundStatus uint8

const (
	NeverOpened RoundStatus = iota
	Trading
	Frozen
	Proposed
	Settled
	Void
)

var roundStatusNames = [...]string{"", "trading", "frozen", "proposed", "settled", "void"}

func (s RoundStatus) String() string { return roundStatusNames[s] }

// Final tells whether the round can change no more.
func (s RoundStatus) Final() bool { return s == Settled || s == Void }

// Feed names an oracle feed (spec 1.4).
type Feed uint8

const (
	BTC Feed = iota
	Gold
	WTI
	Feeds = 3
)

func (f Feed) String() string { return [...]string{"BTC", "gold", "WTI"}[f] }

// Series is one of the nine: an asset at a cadence (spec 1.4).
type Series struct {
	Category uint16 // 1–9, as rounds carry it
	Feed     Feed
	Cadence  int64 // minutes
	Window   int64 // seconds of the settle TWAP
}

// AllSeries lists the nine in the order of their category. Windows: contract
// core, Rounds.
func AllSeries() [9]Series {
	return [9]Series{
		{1, BTC, 1, 10}, {2, BTC, 5, 30}, {3, BTC, 15, 60},
		{4, Gold, 1, 10}, {5, Gold, 5, 30}, {6, Gold, 15, 60},
		{7, WTI, 1, 10}, {8, WTI, 5, 30}, {9, WTI, 15, 60},
	}
}

// Round is one life of a market slot (spec 2.4).
type Round struct {
	Market     MarketID
	Generation uint32
	Number     uint64 // one sequence over all series
	Category   uint16
	Feed       Feed
	Window     int64 // seconds
	Status     RoundStatus
	Strike     Price
	Settle     Price // known from Frozen, shown from Proposed
	Winner     Outcome
	FreshCount uint8 // sources behind the last index tick at the freeze
	Gen        uint32
	OpenTs     int64
	CloseTs    int64 // the boundary at which it will freeze
	FreezeTs   int64
	ResolveTs  int64
	ProposedTs int64
	Paused     bool
	Covered    int64 // seconds of the window that have a price
	ByOperator bool  // the standing proposal is an operator's price
}

// SourcePrice is one source's part of an index tick.
type SourcePrice struct {
	Name  string
	Price Price
}

// IndexTick is the index of a feed for one second (contract oracle).
type IndexTick struct {
	Feed    Feed
	Second  int64 // Unix seconds the tick stands for
	Price   Price
	Count   uint8 // fresh sources behind it
	Manual  bool  // posted by an operator: replaces the tick of its second
	Sources []SourcePrice
}
