package view

import "duplex/core"

// Order is a row of an account's orders (docs/rules/rest.md#list_orders). A rejected order has
// ID 0. The fields are in the order of their size, to keep the many rows small.
type Order struct {
	ID         core.OrderID
	ClientID   uint64
	Qty        core.Qty
	Filled     core.Qty
	Left       core.Qty // 0 once terminal
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

// Fill is one side of a fill (docs/rules/rest.md#list_fills).
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

// Trade is a fill as everybody sees it.
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

// Settlement is one account's end of a round.
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

// Balance is a change of an account's cash.
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

// KeyRevoked is the id of a key that no longer opens anything.
type KeyRevoked string

// Round is a round with the ticks behind its strike and its settlement.
type Round struct {
	core.Round
	Strikes  []core.IndexTick // at the open
	Evidence []core.IndexTick // at the freeze
	Seq      uint64           // of the last change
}
