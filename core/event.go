package core

// Event is something that did happen. Views, receipts and frames are all made
// from events, so they cannot contradict each other. The set is closed.
type Event interface{ event() }

// Cause says why cash or reservations of an account moved. Where several
// causes meet in one command, the highest stands.
type Cause uint8

const (
	CauseOrder Cause = iota
	CauseDecrease
	CauseCancel
	CauseExpiry
	CauseFill
	CauseRebate
	CauseReferral
	CauseRedeem
	CauseDeposit
	CauseWithdrawal
	CauseSettlement
)

var causeNames = [...]string{"order", "decrease", "cancel", "expiry", "fill", "rebate", "referral", "redeem", "deposit", "withdrawal", "settlement"}

func (c Cause) String() string { return causeNames[c] }

// OrderPlaced records a NEW_ORDER, also one that was rejected. The order's id is
// the seq of the command.
type OrderPlaced struct {
	Place      *PlaceOrder
	Generation uint32
	Reject     Reject
}

// Filled is one fill, at the maker's price. MakerLeft 0 ends the maker.
type Filled struct {
	Taker, Maker               OrderID
	TakerFee, MakerFee         Pips
	Rebate, Referral           Pips // paid out of TakerFee
	Qty, MakerLeft             Qty
	TakerUser, MakerUser       UserID
	Generation                 uint32
	TickYes                    Tick
	Market                     MarketID
	TakerSide, MakerSide       Side
	TakerOutcome, MakerOutcome Outcome
	Path                       Path
}

// OrderClosed ends an order otherwise than by fills. Left is what was taken out.
type OrderClosed struct {
	Order  OrderID
	Left   Qty
	User   UserID
	Status OrderStatus
	Reason Reason
}

// OrderDecreased lowers what is left of a resting order.
type OrderDecreased struct {
	Order OrderID
	Left  Qty
	User  UserID
}

// LevelChanged is the change of one price level by one command, in YES space.
type LevelChanged struct {
	Delta, Qty Qty
	Generation uint32
	Tick       Tick
	Market     MarketID
	Bid        bool
}

// BalanceChanged carries an account's cash as it is after the command. Change is
// that of free cash.
type BalanceChanged struct {
	Cash, Reserved, Change Pips
	User                   UserID
	Cause                  Cause
}

// PositionChanged carries a position as it is after the command.
type PositionChanged struct {
	User     UserID
	Position Position
}

// Position is what an account holds in one life of a slot.
type Position struct {
	Market                  MarketID
	Generation              uint32
	Number                  uint64
	Yes, No                 Qty
	YesReserved, NoReserved Qty
	Cost                    Pips // average cost, fees included
}

// RoundChanged carries the round after a transition or a change of its pause.
// Evidence is set when it freezes and when a price is proposed.
type RoundChanged struct {
	Round    Round
	Evidence []IndexTick
}

// AccountSettled is one account's end of a round.
type AccountSettled struct {
	User       UserID
	Market     MarketID
	Generation uint32
	Number     uint64
	Status     RoundStatus
	Winner     Outcome
	Yes, No    Qty
	Payout     Pips
}

// Redeemed turns pairs into cash.
type Redeemed struct {
	User       UserID
	Market     MarketID
	Generation uint32
	Qty        Qty
	Credit     Pips
}

type (
	// Indexed is an index tick that counted.
	Indexed struct{ Tick IndexTick }
	// SessionChanged opens or closes a feed's session.
	SessionChanged struct {
		Feed  Feed
		Open  bool
		Until int64
	}
	// DeadmanChanged tells of the switch. Fired is set when it went off.
	DeadmanChanged struct {
		User         UserID
		Armed, Fired bool
		TimeoutMs    uint32
		Deadline     int64
	}
	Deposited struct {
		User      UserID
		DepositID string
		Amount    Pips
	}
	WithdrawalChanged struct{ Withdrawal Withdrawal }
	UserChanged       struct{ User User }
	KeyChanged        struct {
		Key      Key
		Resealed bool // its secret alone changed
	}
	FeesChanged     struct{ Fees Fees }
	ScheduleChanged struct{ Windows []Window }
)

func (*OrderPlaced) event()       {}
func (*Filled) event()            {}
func (*OrderClosed) event()       {}
func (*OrderDecreased) event()    {}
func (*LevelChanged) event()      {}
func (*BalanceChanged) event()    {}
func (*PositionChanged) event()   {}
func (*RoundChanged) event()      {}
func (*AccountSettled) event()    {}
func (*Redeemed) event()          {}
func (*Indexed) event()           {}
func (*SessionChanged) event()    {}
func (*DeadmanChanged) event()    {}
func (*Deposited) event()         {}
func (*WithdrawalChanged) event() {}
func (*UserChanged) event()       {}
func (*KeyChanged) event()        {}
func (*FeesChanged) event()       {}
func (*ScheduleChanged) event()   {}

// Events collects what commands did, in order. The frequent kinds live in slabs,
// so that emitting one allocates nothing once the slabs have grown. An Events is
// filled by one goroutine; when it is not Reset, what it holds may be kept and
// read by others for good.
//
// A cell comes as it was left: whoever takes one sets every field, one by one,
// where a composite literal would be built aside and copied.
type Events struct {
	List []Event

	placed    slab[OrderPlaced]
	filled    slab[Filled]
	closed    slab[OrderClosed]
	decreased slab[OrderDecreased]
	levels    slab[LevelChanged]
	balances  slab[BalanceChanged]
	positions slab[PositionChanged]
}

// NewEvents has room for what n placements or cancels mostly do.
func NewEvents(n int) *Events {
	e := &Events{List: make([]Event, 0, 4*n)}
	e.placed.cells = make([]OrderPlaced, 0, n)
	e.levels.cells = make([]LevelChanged, 0, n)
	e.balances.cells = make([]BalanceChanged, 0, n)
	return e
}

// slab hands out cells. When one is full a larger takes its place; the cells of
// the old stay where they are.
type slab[T any] struct{ cells []T }

func (s *slab[T]) next() *T {
	if len(s.cells) == cap(s.cells) {
		s.cells = make([]T, 0, max(16, 2*cap(s.cells)))
	}
	s.cells = s.cells[:len(s.cells)+1]
	return &s.cells[len(s.cells)-1]
}

// Reset empties e for reuse. Events handed out before become invalid.
func (e *Events) Reset() {
	e.List = e.List[:0]
	e.placed.cells = e.placed.cells[:0]
	e.filled.cells = e.filled.cells[:0]
	e.closed.cells = e.closed.cells[:0]
	e.decreased.cells = e.decreased.cells[:0]
	e.levels.cells = e.levels.cells[:0]
	e.balances.cells = e.balances.cells[:0]
	e.positions.cells = e.positions.cells[:0]
}

// Add appends an event of a rare kind.
func (e *Events) Add(x Event) { e.List = append(e.List, x) }

func (e *Events) Placed() *OrderPlaced {
	p := e.placed.next()
	e.List = append(e.List, p)
	return p
}

func (e *Events) Filled() *Filled {
	p := e.filled.next()
	e.List = append(e.List, p)
	return p
}

func (e *Events) Closed() *OrderClosed {
	p := e.closed.next()
	e.List = append(e.List, p)
	return p
}

func (e *Events) Decreased() *OrderDecreased {
	p := e.decreased.next()
	e.List = append(e.List, p)
	return p
}

func (e *Events) Level() *LevelChanged {
	p := e.levels.next()
	e.List = append(e.List, p)
	return p
}

func (e *Events) Balance() *BalanceChanged {
	p := e.balances.next()
	e.List = append(e.List, p)
	return p
}

func (e *Events) Position() *PositionChanged {
	p := e.positions.next()
	e.List = append(e.List, p)
	return p
}
