package core

// RoundStatus is the status of a round (docs/rules/rounds.md#statuses). NeverOpened is
// that of a slot that has had no round.
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

// Final reports whether a round of this status can no longer change.
func (s RoundStatus) Final() bool { return s == Settled || s == Void }

// Round is one round of a market slot (docs/rules/rounds.md#what-a-round-shows). Fields
// ending in Ts are stamps in ns since the Unix epoch, 0 until they are known.
type Round struct {
	Market     MarketID
	Generation uint32
	Number     uint64 // counts the rounds of all series, from 1
	Category   uint16
	Feed       Feed
	Window     int64 // seconds of the settle window
	Status     RoundStatus
	Strike     Price
	Settle     Price // set at the freeze, public from the first proposal
	Winner     Outcome
	FreshCount uint8  // sources behind the last index tick before the boundary
	Gen        uint32 // number of prices proposed so far
	OpenTs     int64
	CloseTs    int64 // the boundary: no placement is accepted from here on
	FreezeTs   int64
	ResolveTs  int64
	ProposedTs int64
	Paused     bool
	Covered    int64 // seconds of the window that have a price
	ByOperator bool  // an operator gave the proposed price
}

// Quote is the state of a round that is trading. Prices are those of YES; a price is 0 if
// there is none.
type Quote struct {
	Number   uint64
	Category uint16
	CloseTs  int64 // the boundary, in ns
	Index    Price // of the feed's newest tick
	Bid, Ask Tick  // best prices of the book
	Last     Tick  // of the last fill
	Volume   Qty   // contracts filled so far
}

// SourcePrice is the price of one source behind an index tick.
type SourcePrice struct {
	Name  string
	Price Price
}

// IndexTick is the index of a feed for one second (docs/rules/prices-sources.md#index).
type IndexTick struct {
	Feed    Feed
	Second  int64 // Unix seconds; the tick is the index of [Second, Second+1)
	Price   Price
	Count   uint8 // sources behind the price
	Manual  bool  // posted by an operator; replaces the tick of its second
	Sources []SourcePrice
}
