package core

// Command is a request to change the venue, or the passing of time. The set is closed;
// the journal's codec, the venue's Apply and the audit handle every kind.
type Command interface{ command() }

// PlaceOrder places one order (docs/rules/orders.md#fields). Tick is the limit price, or
// worst_tick of a market order, in the order's own outcome. Fault is a core reject that
// decoding already found: the venue refuses the order with it, keeps the record of the
// refused order and consumes its ids (docs/rules/orders.md#order-of-checks).
type PlaceOrder struct {
	User       UserID
	ClientID   uint64
	Market     MarketID
	Generation uint32 // 0 means the current one
	Side       Side
	Outcome    Outcome
	Type       OrderType
	TIF        TIF
	Flags      Flags
	Tick       Tick
	Qty        Qty
	Expiry     int64  // ns, gtt only
	MaxCost    uint64 // pips; 0 means no bound
	Group      uint32
	Fault      Reject
}

// CancelOrder cancels one resting order of the user (docs/rules/orders.md#cancel).
type CancelOrder struct {
	User  UserID
	Order OrderID
}

// CancelAll cancels the user's resting orders in Market and in Group; 0 means all of
// them (docs/rules/orders.md#cancel-all).
type CancelAll struct {
	User   UserID
	Market MarketID
	Group  uint32
}

// DecreaseOrder lowers the remaining quantity of an order, which keeps its time priority
// (docs/rules/orders.md#decrease). With To set Amount is the new remaining quantity, else
// the quantity to take off.
type DecreaseOrder struct {
	User   UserID
	Order  OrderID
	To     bool
	Amount Qty
}

// ArmDeadman arms the dead-man switch, or restarts its timeout
// (docs/rules/orders.md#dead-man-switch).
type ArmDeadman struct {
	User      UserID
	TimeoutMs uint32
}

// DisarmDeadman disarms the dead-man switch and cancels nothing.
type DisarmDeadman struct{ User UserID }

// Redeem exchanges unreserved pairs of YES and NO for 10000 pips each
// (docs/rules/money.md#redeem).
type Redeem struct {
	User   UserID
	Market MarketID
	Qty    Qty
}

// RequestWithdrawal takes Amount out of free cash until an operator decides the
// withdrawal (docs/rules/money.md#withdrawals).
type RequestWithdrawal struct {
	User        UserID
	ClientID    string
	Amount      Pips
	Destination string
}

// Clock performs everything that is due at its stamp (docs/rules/rounds.md#due).
type Clock struct{}

// PostIndex posts an index tick (docs/rules/prices-sources.md#which-tick-counts).
type PostIndex struct {
	Tick  IndexTick
	Audit Audit // set if an operator posted the tick
}

// SetSession opens or closes a feed's trading session
// (docs/rules/prices-sources.md#sessions). Until is the end of an open session, in ns;
// 0 means that it has none.
type SetSession struct {
	Feed  Feed
	Open  bool
	Until int64
}

// Audit records the operator who gave a command and the reason
// (docs/rules/operation.md#audit).
type Audit struct{ Who, Why string }

// Rules are the settings that outcomes depend on. They are sequenced, so that a replay
// needs no configuration.
type Rules struct {
	Grid           Grid
	DisputeNs      int64  // time from a proposal to its settlement
	CoverageWaitNs int64  // time a frozen round without coverage waits for an operator's price
	StaleNs        int64  // age of a feed's last tick at which its markets pause
	OpenOrders     uint32 // most resting orders of an account
	Contracts      Qty    // most contracts held and bid for, per market, outcome and account

	// MinSources is the number of fresh sources that an index tick of each feed needs;
	// 0 means 1. The encoding omits the zero value, so that a state without this rule
	// keeps the hash that it had before the rule existed.
	MinSources [Feeds]uint8 `cbor:",omitzero"`

	// Revision selects the version of the venue's built-in behavior. A journal that
	// never sets it has RevisionFirst.
	Revision Revision `cbor:",omitempty"`
}

// Revision numbers the versions of the behavior that is not a setting
// (docs/rules/operation.md#revision). A journal replays under the revision that was in
// force when it was written, so that an older journal keeps its outcomes and its state
// hashes. A server puts the newest revision in force when it starts.
type Revision uint8

const (
	// RevisionFirst is the behavior of journals that were begun before rules had a revision.
	RevisionFirst Revision = iota
	// RevisionStrict changes three things. A placement stamped at or after its market's
	// close is refused, even before the command that freezes the market. An order that
	// lost contracts to reduce_only ends canceled, never executed. A revoked key is
	// removed from the state.
	RevisionStrict

	// RevisionNewest is the newest revision that this program knows.
	RevisionNewest = RevisionStrict
)

// LeastSources is the number of fresh sources that an index tick of f needs, at least 1
// (docs/rules/prices-sources.md#minimum-of-sources).
func (r *Rules) LeastSources(f Feed) uint8 { return max(1, r.MinSources[f]) }

// DefaultRules are the rules of a new venue, under the newest revision.
func DefaultRules() Rules {
	return Rules{
		Grid: Narrow(), DisputeNs: 5 * NsPerSec, CoverageWaitNs: 30 * NsPerSec, StaleNs: 5 * NsPerSec, OpenOrders: 200, Contracts: 1_000_000,
		Revision: RevisionNewest,
	}
}

// The commands of an operator and of the accounts service (docs/rules/operation.md#actions).
type (
	SetRules struct {
		Rules Rules
		Audit Audit
	}
	SetFees struct {
		Fees  Fees
		Audit Audit
	}
	SetSchedule struct {
		Windows []Window
		Audit   Audit
	}
	CreateUser struct {
		Name      string
		Referrer  UserID
		TokenHash [32]byte
		Audit     Audit
	}
	CreateKey struct {
		User   UserID
		Key    string
		Scopes Scopes
		Label  string
		Sealed []byte
		Audit  Audit
	}
	// RevokeKey revokes one key of the user, or with Key "" all of them.
	RevokeKey struct {
		User  UserID
		Key   string
		Audit Audit
	}
	// ResealKey replaces the sealed secret when the master key is rotated.
	ResealKey struct {
		Key    string
		Sealed []byte
		Audit  Audit
	}
	SuspendUser struct {
		User  UserID
		Lift  bool
		Audit Audit
	}
	Deposit struct {
		User      UserID
		DepositID string
		Amount    Pips
		Audit     Audit
	}
	DecideWithdrawal struct {
		Withdrawal uint64
		Complete   bool
		Audit      Audit
	}
	PauseMarket struct {
		Market MarketID
		Lift   bool
		Audit  Audit
	}
	VoidMarket struct {
		Market MarketID
		Audit  Audit
	}
	ProposePrice struct {
		Market MarketID
		Price  Price
		Audit  Audit
	}
	// Checkpoint carries the state hash at Seq. A replay compares it with its own hash
	// and stops if they differ (docs/rules/operation.md#determinism).
	Checkpoint struct {
		Seq  uint64
		Hash [32]byte
	}
)

func (*PlaceOrder) command()        {}
func (*CancelOrder) command()       {}
func (*CancelAll) command()         {}
func (*DecreaseOrder) command()     {}
func (*ArmDeadman) command()        {}
func (*DisarmDeadman) command()     {}
func (*Redeem) command()            {}
func (*RequestWithdrawal) command() {}
func (*Clock) command()             {}
func (*PostIndex) command()         {}
func (*SetSession) command()        {}
func (*SetRules) command()          {}
func (*SetFees) command()           {}
func (*SetSchedule) command()       {}
func (*CreateUser) command()        {}
func (*CreateKey) command()         {}
func (*RevokeKey) command()         {}
func (*ResealKey) command()         {}
func (*SuspendUser) command()       {}
func (*Deposit) command()           {}
func (*DecideWithdrawal) command()  {}
func (*PauseMarket) command()       {}
func (*VoidMarket) command()        {}
func (*ProposePrice) command()      {}
func (*Checkpoint) command()        {}
