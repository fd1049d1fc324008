package view

import "duplex/core"

// Order is a row of an account's orders (docs/rules/rest.md#list_orders). A rejected order
// has ID 0. Qty, Filled and Left are in contracts, MaxCost is in pips, Expiry and CreatedTs
// are in ns since the Unix epoch. Fields are sorted by size, to keep rows small.
type Order struct {
	ID         core.OrderID
	ClientID   uint64
	Qty        core.Qty
	Filled     core.Qty
	Left       core.Qty // 0 in a final status
	Expiry     int64
	MaxCost    uint64
	CreatedSeq uint64
	CreatedTs  int64
	UpdateSeq  uint64
	Key        core.KeyNumber // 0 if the row is older than key numbers
	APIKey     *string        `json:"-"` // the id of Key; nil if it is not known
	User       core.UserID
	Generation uint32
	Group      uint32
	Tick       core.Tick // of a market order: worst_tick
	Market     core.MarketID
	Reject     core.Reject
	Side       core.Side
	Outcome    core.Outcome
	Type       core.OrderType
	TIF        core.TIF
	Flags      core.Flags
	Status     core.OrderStatus
	Reason     core.Reason
}

// Fill is one account's side of a fill (docs/rules/rest.md#list_fills). Qty is in contracts,
// Fee in pips, Ts in ns.
type Fill struct {
	Seq      uint64
	Ts       int64
	Market   core.MarketID
	Order    core.OrderID
	ClientID uint64
	Maker    bool
	Side     core.Side
	Outcome  core.Outcome
	Qty      core.Qty
	TickYes  core.Tick
	Path     core.Path
	Fee      core.Pips
	Key      core.KeyNumber // of the order
	APIKey   *string        `json:"-"` // the id of Key; nil if it is not known

	N uint64 // counts the fills of the account, from 1

	Generation uint32
	Number     uint64 // of the round
	Category   uint16
	Group      uint32 // of the order
}

// Trade is a fill on the public tape (docs/rules/rest.md#list_trades). It names no account.
type Trade struct {
	Seq          uint64
	Ts           int64
	Market       core.MarketID
	Generation   uint32
	TickYes      core.Tick
	Qty          core.Qty
	Path         core.Path
	TakerSide    core.Side
	TakerOutcome core.Outcome
}

// Settlement is what one account held when a round was settled or void, in contracts, and
// its payout in pips (docs/rules/rest.md#list_settlements).
type Settlement struct {
	Seq        uint64
	Ts         int64
	Market     core.MarketID
	Generation uint32
	Number     uint64
	Status     core.RoundStatus
	Winner     core.Outcome
	Yes, No    core.Qty
	Payout     core.Pips

	Category    uint16
	Cost        core.Pips  // paid for what was held, fees included
	SettlePrice core.Price // of the round; 0 if it has none
	Strike      core.Price
}

// Profit returns what the account made with what it held, in pips.
func (s *Settlement) Profit() core.Pips { return s.Payout - s.Cost }

// Balance is an account's cash after a change, in pips, with the change and its cause
// (docs/rules/events.md#event-balance).
type Balance struct {
	Cash, Reserved, Change core.Pips
	Cause                  core.Cause
}

// UserEvent is one event of an account (docs/rules/events.md#channel-user). What is an
// *Order, *Fill, *Balance, *core.Position, *Settlement, *core.Deposited,
// *core.Withdrawal, *core.DeadmanChanged, *core.GroupChanged, *core.Transferred, *core.AgentChanged, *Ask or
// KeyRevoked, and read-only. Ts is in ns.
type UserEvent struct {
	Seq  uint64
	Ts   int64
	What any
}

// KeyRevoked is the id of a key that was revoked (docs/rules/accounts.md#revocation).
type KeyRevoked string

// Round is a round with the index ticks behind its strike and its settle price
// (docs/rules/rounds.md#evidence).
type Round struct {
	core.Round
	Strikes  []core.IndexTick // recorded at the opening
	Evidence []core.IndexTick // recorded at the freeze
	Seq      uint64           // of the last change
}
