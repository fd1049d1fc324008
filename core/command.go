package core

// Command is something that may happen to the venue. The set is closed: the
// journal's codec, the venue's Apply and the audit know every one of them.
type Command interface{ command() }

// PlaceOrder is NEW_ORDER. Tick is the limit, or a market order's worst_tick.
// Fault is a core reject that decoding already found (contract core: core codes
// are per item also when decoding finds them); the order then leaves its row and
// uses its id up like any other that the core refuses.
type PlaceOrder struct {
	User       UserID
	ClientID   uint64
	Market     MarketID
	Generation uint32 // 0: whichever life the slot is in
	Side       Side
	Outcome    Outcome
	Type       OrderType
	TIF        TIF
	Flags      Flags
	Tick       Tick
	Qty        Qty
	Expiry     int64  // ns, gtt only
	MaxCost    uint64 // pips, 0 unset; capped only by what fits the wire
	Group      uint32
	Fault      Reject
}

// CancelOrder cancels one resting order of the user.
type CancelOrder struct {
	User  UserID
	Order OrderID
}

// CancelAll is MASS_CANCEL. A zero Market or Group means all of them.
type CancelAll struct {
	User   UserID
	Market MarketID
	Group  uint32
}

// DecreaseOrder lowers the remaining quantity and keeps time priority. With To
// set, Amount is what shall remain; else what is taken away.
type DecreaseOrder struct {
	User   UserID
	Order  OrderID
	To     bool
	Amount Qty
}

// ArmDeadman sets or refreshes the dead-man switch.
type ArmDeadman struct {
	User      UserID
	TimeoutMs uint32
}

// DisarmDeadman takes it off without a cancel.
type DisarmDeadman struct{ User UserID }

// Redeem turns free pairs of YES and NO into 10000 pips each.
type Redeem struct {
	User   UserID
	Market MarketID
	Qty    Qty
}

// RequestWithdrawal takes Amount out of free cash until it is decided.
type RequestWithdrawal struct {
	User        UserID
	ClientID    string
	Amount      Pips
	Destination string
}

// Clock lets what is due happen. It carries nothing: its stamp is the time.
type Clock struct{}

// PostIndex brings an index tick.
type PostIndex struct {
	Tick  IndexTick
	Audit Audit // of an operator's tick
}

// SetSession opens or closes a feed's trading session. Until is when an open
// session ends, in ns; 0 means never.
type SetSession struct {
	Feed  Feed
	Open  bool
	Until int64
}

// Audit says who gave an operator's command, and why.
type Audit struct{ Who, Why string }

// Rules are the settings of the venue that its outcomes depend on; they are
// sequenced so that a replay needs no configuration.
type Rules struct {
	Grid           Grid
	DisputeNs      int64 // how long a proposal stands before it settles
	CoverageWaitNs int64 // how long a frozen round waits for an operator's price
	StaleNs        int64 // how long a feed may be silent before its markets pause
	OpenOrders     uint32
	Contracts      Qty // per market, outcome and account
}

// DefaultRules are those of contract core.
func DefaultRules() Rules {
	return Rules{Grid: Narrow(), DisputeNs: 5 * NsPerSec, CoverageWaitNs: 30 * NsPerSec, StaleNs: 5 * NsPerSec, OpenOrders: 200, Contracts: 1_000_000}
}

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
	// Checkpoint carries the state hash at the checkpoint before it. Whoever
	// replays compares it with its own and stops if they differ.
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
