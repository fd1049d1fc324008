package view

import "duplex/core"

// Order is a row of an account's orders (docs/rules/rest.md#list_orders). A rejected order has
// ID 0. Prices are ticks, quantities contracts, times ns since the Unix epoch. The fields are sorted by
// size, which makes the rows smaller.
type Order struct {
	ID         core.OrderID
	ClientID   uint64
	Qty        core.Qty
	Filled     core.Qty
	Left       core.Qty // 0 if terminal
	Expiry     int64
	MaxCost    uint64
	CreatedSeq uint64
	CreatedTs  int64
	UpdateSeq  uint64
	User       core.UserID
	Generation uint32
	Group      uint32
	Tick       core.Tick // a market order's worst_tick
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

// Fill is one side of a fill (docs/rules/rest.md#list_fills). Maker is false for the taker's side. Fee is
// what this side paid.
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
}

// Trade is a fill as the public sees it, without accounts and orders.
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

// Settlement is what an account held and was paid at the end of a round
// (docs/rules/rounds.md#settlement).
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
}

// Balance is an account's balance after a change of its cash.
type Balance struct {
	Cash, Reserved, Change core.Pips
	Cause                  core.Cause
}

// UserEvent is one entry of an account's private stream (docs/rules/events.md#channel-user). What is an
// *Order, *Fill, *Balance, *core.Position, *Settlement, *core.Deposited,
// *core.Withdrawal, *core.DeadmanChanged or KeyRevoked.
type UserEvent struct {
	Seq  uint64
	Ts   int64
	What any
}

// KeyRevoked is the id of a revoked key.
type KeyRevoked string

// Round is a round with the index ticks behind its strike and its settle price
// (docs/rules/rounds.md#evidence).
type Round struct {
	core.Round
	Strikes  []core.IndexTick // at the opening
	Evidence []core.IndexTick // at the freeze
	Seq      uint64           // of the last change
}
