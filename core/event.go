package core

// Event is one change that a command made. Views, receipts and frames all derive from
// events, so they cannot contradict each other. The set is closed.
type Event interface{ event() }

// Cause is the reason why cash or reservations of an account moved
// (docs/rules/events.md#the-account). If one command has several causes for an account,
// the event carries the highest.
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
	CauseTransfer
)

var causeNames = [...]string{"order", "decrease", "cancel", "expiry", "fill", "rebate", "referral", "redeem", "deposit", "withdrawal", "settlement", "transfer"}

func (c Cause) String() string { return causeNames[c] }

// Causes lists every cause in the order of its number.
func Causes() []string { return causeNames[:] }

// OrderPlaced records a placement, accepted or rejected. The order's id is the seq of
// the command (docs/rules/orders.md#order-id). Tick is that of the command, unless a price
// collar chose it. Violation is set if Reject is MandateViolation.
type OrderPlaced struct {
	Place      *PlaceOrder
	Violation  *Violation
	Generation uint32
	Tick       Tick
	Reject     Reject
}

// Filled is one fill, at the maker's price. With MakerLeft 0 the maker has ended:
// executed, or canceled with MakerReason if that is set.
type Filled struct {
	Taker, Maker               OrderID
	TakerFee, MakerFee         Pips
	Rebate, Referral           Pips // parts of TakerFee
	Qty, MakerLeft             Qty
	TakerUser, MakerUser       UserID
	Referrer                   UserID // who gets Referral; 0 if it is 0
	Generation                 uint32
	TickYes                    Tick
	Market                     MarketID
	TakerSide, MakerSide       Side
	TakerOutcome, MakerOutcome Outcome
	Path                       Path
	MakerReason                Reason
}

// OrderClosed ends an order in any way but by a fill. Left is the quantity that was
// removed from the book.
type OrderClosed struct {
	Order  OrderID
	Left   Qty
	User   UserID
	Status OrderStatus
	Reason Reason
}

// OrderDecreased carries the new remaining quantity of a resting order.
type OrderDecreased struct {
	Order OrderID
	Left  Qty
	User  UserID
}

// Quoted is what a QuoteSide did: Canceled orders of the side and of those that it would have met are gone, and
// Order rests with Left contracts. Order is 0 if the quote is empty. With Kept it is an older order, else that of
// the command, which has ended if Reason is set. Ahead is how many contracts are before a new one at its price.
type Quoted struct {
	Order       OrderID
	Left, Ahead Qty
	User        UserID
	Canceled    uint32
	Kept        bool
	Reason      Reason
}

// LevelChanged is the change of one price level by one command. Tick is in YES space,
// Qty the new total.
type LevelChanged struct {
	Delta, Qty Qty
	Generation uint32
	Tick       Tick
	Market     MarketID
	Bid        bool
}

// BalanceChanged carries an account's cash and reservations after the command. Change
// is the change of free cash.
type BalanceChanged struct {
	Cash, Reserved, Change Pips
	User                   UserID
	Cause                  Cause
}

// PositionChanged carries a position after the command.
type PositionChanged struct {
	User     UserID
	Position Position
}

// Position is what an account holds in one generation of a slot.
type Position struct {
	Market                  MarketID
	Generation              uint32
	Number                  uint64
	Yes, No                 Qty
	YesReserved, NoReserved Qty
	Cost                    Pips // paid for what is held, fees included (docs/rules/money.md#average-cost)
}

// RoundChanged carries the round after a transition, a pause or a resume. Evidence is
// set at the freeze and at each proposal (docs/rules/rounds.md#evidence).
type RoundChanged struct {
	Round    Round
	Evidence []IndexTick
}

// AccountSettled is what one account held and received when a round ended, and what it had paid for
// that.
type AccountSettled struct {
	User       UserID
	Market     MarketID
	Generation uint32
	Number     uint64
	Status     RoundStatus
	Winner     Outcome
	Yes, No    Qty
	Payout     Pips
	Cost       Pips
}

// Redeemed records the exchange of pairs for cash.
type Redeemed struct {
	User       UserID
	Market     MarketID
	Generation uint32
	Qty        Qty
	Credit     Pips
	RequestID  uint64 // the account's own id of the request; 0 without one
}

// ForecastSubmitted is a forecast that was accepted. The venue keeps none and does not count them:
// N is 0 until the view folds the event, which sets it to the forecast's number among those of the
// account, from 1.
type ForecastSubmitted struct {
	User       UserID
	Market     MarketID
	Generation uint32
	P          Probability
	N          uint64
}

type (
	// Indexed is an index tick that was accepted.
	Indexed struct{ Tick IndexTick }
	// SessionChanged records that a feed's session opened or closed.
	SessionChanged struct {
		Feed  Feed
		Open  bool
		Until int64 // ns; 0 means no end
	}
	// DeadmanChanged carries the state of the dead-man switch of an account, or of a group if Group is set,
	// after the command. Fired is set if it canceled the orders.
	DeadmanChanged struct {
		User         UserID
		Group        uint32
		Armed, Fired bool
		TimeoutMs    uint32
		Deadline     int64 // ns
	}
	Deposited struct {
		User      UserID
		DepositID string
		Amount    Pips
	}
	WithdrawalChanged struct{ Withdrawal Withdrawal }
	// UserChanged carries the identity of an account. TokenWas is the token hash that a new one
	// replaced, else zero.
	UserChanged struct {
		User     User
		TokenWas [32]byte
	}
	// KeyChanged carries a key that is new, revoked, sealed anew, or whose grant was renewed.
	KeyChanged struct{ Key Key }
	// AgentChanged carries the state and the revision of an agent's mandate after a command
	// that changed one of them.
	AgentChanged struct {
		User  UserID
		State AgentState
		Rev   uint32
	}
	// OperatorChanged carries an operator who was added or, with Revoked, removed.
	OperatorChanged struct {
		Operator Operator
		Revoked  bool
	}
	// ApprovalChanged carries an approval that was requested, decided or, with Dropped, removed because
	// its operator was revoked.
	ApprovalChanged struct {
		Approval Approval
		Dropped  bool
	}
	SettingChanged  struct{ Setting Setting }
	FeesChanged     struct{ Fees Fees }
	ScheduleChanged struct{ Windows []Window }
)

func (*OrderPlaced) event()       {}
func (*Filled) event()            {}
func (*OrderClosed) event()       {}
func (*OrderDecreased) event()    {}
func (*Quoted) event()            {}
func (*LevelChanged) event()      {}
func (*BalanceChanged) event()    {}
func (*PositionChanged) event()   {}
func (*RoundChanged) event()      {}
func (*AccountSettled) event()    {}
func (*Redeemed) event()          {}
func (*ForecastSubmitted) event() {}
func (*Indexed) event()           {}
func (*SessionChanged) event()    {}
func (*DeadmanChanged) event()    {}
func (*Deposited) event()         {}
func (*WithdrawalChanged) event() {}
func (*UserChanged) event()       {}
func (*KeyChanged) event()        {}
func (*AgentChanged) event()      {}
func (*OperatorChanged) event()   {}
func (*ApprovalChanged) event()   {}
func (*SettingChanged) event()    {}
func (*FeesChanged) event()       {}
func (*ScheduleChanged) event()   {}

// Events collects the events of commands, in order. Events of the frequent kinds come
// from arenas, so that emitting one does not allocate once the arenas have grown. One
// goroutine fills an Events. Its events stay valid until Reset; without a Reset they may
// be kept and read by other goroutines.
//
// The methods that return a pointer append an event and return its cell uncleared: the
// caller assigns every field. Assigning field by field avoids the copy of a composite
// literal.
type Events struct {
	List []Event

	placed    arena[OrderPlaced]
	filled    arena[Filled]
	closed    arena[OrderClosed]
	decreased arena[OrderDecreased]
	levels    arena[LevelChanged]
	balances  arena[BalanceChanged]
	positions arena[PositionChanged]
	quoted    arena[Quoted]
	orders    arena[PlaceOrder]
}

// NewEvents returns an Events with room for the usual events of n placements or cancels.
func NewEvents(n int) *Events {
	e := &Events{List: make([]Event, 0, 4*n)}
	e.placed.cells = make([]OrderPlaced, 0, n)
	e.levels.cells = make([]LevelChanged, 0, n)
	e.balances.cells = make([]BalanceChanged, 0, n)
	return e
}

// arena allocates cells from a slice. A full slice is replaced by a larger one; cells of
// the old slice stay valid.
type arena[T any] struct{ cells []T }

func (s *arena[T]) next() *T {
	if len(s.cells) == cap(s.cells) {
		s.cells = make([]T, 0, max(16, 2*cap(s.cells)))
	}
	s.cells = s.cells[:len(s.cells)+1]
	return &s.cells[len(s.cells)-1]
}

// Reset empties e for reuse. It invalidates every event of e.
func (e *Events) Reset() {
	e.List = e.List[:0]
	e.placed.cells = e.placed.cells[:0]
	e.filled.cells = e.filled.cells[:0]
	e.closed.cells = e.closed.cells[:0]
	e.decreased.cells = e.decreased.cells[:0]
	e.levels.cells = e.levels.cells[:0]
	e.balances.cells = e.balances.cells[:0]
	e.positions.cells = e.positions.cells[:0]
	e.quoted.cells = e.quoted.cells[:0]
	e.orders.cells = e.orders.cells[:0]
}

// Add appends x, an event of a kind without an arena.
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

func (e *Events) Quoted() *Quoted {
	p := e.quoted.next()
	e.List = append(e.List, p)
	return p
}

// Order returns a cell for the placement of an event, which is no event itself.
func (e *Events) Order() *PlaceOrder { return e.orders.next() }
