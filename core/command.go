package core

// Command is a request to change the venue, or the passing of time. The set is closed: a
// command is made in the files that the package documentation lists, and
// TestEveryCommandIsComplete in core/sim refuses one that lacks a part.
type Command interface {
	// class has no default, so that a new command states its priority.
	class() (Class, UserID)
}

// Class is the priority of a command within a group of the journal, the lowest first
// (docs/rules/operation.md#queue-order).
type Class uint8

const (
	ClassSystem    Class = iota // the venue's own commands, operators, prices
	ClassCancel                 // an account reduces what it has in the book
	ClassPlacement              // an account takes on something new

	Classes = iota // the number of classes
)

// ClassOf returns the class of a command and the account that sent it: 0 for the commands of
// ClassSystem, which no account sends, and not 0 otherwise.
func ClassOf(cmd Command) (Class, UserID) { return cmd.class() }

// PlaceOrder places one order (docs/rules/orders.md#fields). Tick is the limit price, or
// worst_tick of a market order, in the order's own outcome. Fault is a core reject that
// decoding already found: the venue refuses the order with it, keeps the record of the
// refused order and consumes its ids (docs/rules/orders.md#order-of-checks).
//
// Unpriced marks a market order that names no worst_tick. Its Tick is then the last tick of
// the domain, and a price collar can replace it (docs/rules/agent-accounts.md#price-collar).
type PlaceOrder struct {
	User       UserID
	Key        KeyNumber
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
	NotAfter   int64  // ns; with a later stamp the order is TooLate; 0 means no bound
	MaxCost    uint64 // pips; 0 means no bound
	Group      uint32
	Fault      Reject
	Unpriced   bool
}

// CancelOrder cancels one resting order of the user (docs/rules/orders.md#cancel).
type CancelOrder struct {
	User  UserID
	Key   KeyNumber
	Order OrderID
}

// CancelAll cancels the user's resting orders in Market and in Group; 0 means all of
// them (docs/rules/orders.md#cancel-all).
type CancelAll struct {
	User   UserID
	Key    KeyNumber
	Market MarketID
	Group  uint32
}

// DecreaseOrder lowers the remaining quantity of an order, which keeps its time priority
// (docs/rules/orders.md#decrease). With To set Amount is the new remaining quantity, else
// the quantity to take off. RequestID is the account's own id of a decrease or a redeem, which
// it uses once (docs/rules/orders.md#client-request-id); 0 is none.
type DecreaseOrder struct {
	User      UserID
	Key       KeyNumber
	Order     OrderID
	To        bool
	Amount    Qty
	RequestID uint64
}

// ReplaceOrder cancels the resting order Old and places an order in its stead
// (docs/rules/orders.md#replace). Market, Side and Outcome of the placement must be those of Old.
//
// Seen is what remained of Old when the caller read it; 0 if Qty is the quantity as it is. The new order
// then has Qty less what Old has lost since, so that what filled on the way is not bought again. The total
// and the fills would say the same, but the book does not keep what an order has filled.
type ReplaceOrder struct {
	PlaceOrder
	Old  OrderID
	Seen Qty
}

// PlacementOf returns the placement of a command that places an order, else nil.
func PlacementOf(cmd Command) *PlaceOrder {
	switch c := cmd.(type) {
	case *PlaceOrder:
		return c
	case *ReplaceOrder:
		return &c.PlaceOrder
	case *QuoteSide:
		if !c.Cancel {
			return &c.PlaceOrder
		}
	}
	return nil
}

// SubmitForecast records what the user expects of a round that trades
// (docs/rules/forecasts.md). It changes nothing but the record. Generation is that of the round;
// 0 is none.
type SubmitForecast struct {
	User       UserID
	Key        KeyNumber
	Market     MarketID
	Generation uint32
	P          Probability
}

// ArmDeadman arms the dead-man switch of the account, or of a group if Group is set, or restarts its timeout
// (docs/rules/orders.md#dead-man-switch).
type ArmDeadman struct {
	User      UserID
	Key       KeyNumber `cbor:",omitempty"`
	TimeoutMs uint32
	Group     uint32 `cbor:",omitempty"`
}

// DisarmDeadman disarms the dead-man switch of the account, or of a group, and cancels nothing.
type DisarmDeadman struct {
	User  UserID
	Key   KeyNumber `cbor:",omitempty"`
	Group uint32    `cbor:",omitempty"`
}

// Redeem exchanges unreserved pairs of YES and NO for 10000 pips each
// (docs/rules/money.md#redeem). RequestID is that of DecreaseOrder.
type Redeem struct {
	User      UserID
	Key       KeyNumber `cbor:",omitempty"`
	Market    MarketID
	Qty       Qty
	RequestID uint64 `cbor:",omitempty"`
}

// RequestWithdrawal takes Amount out of free cash until an operator decides the
// withdrawal (docs/rules/money.md#withdrawals).
type RequestWithdrawal struct {
	User        UserID
	Key         KeyNumber `cbor:",omitempty"`
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

// WhoAccount is Audit.Who of a command that an owner gave with the account token.
const WhoAccount = "account"

// The commands of an operator and of the accounts service (docs/rules/operation.md#actions).
type (
	SetRules struct {
		Rules Rules
		Audit Audit
	}
	// ActivateRules puts a revision of the rules in force, with everything that it changes.
	// A revision that is not above the one in force changes nothing. The first Environment
	// that is not 0 is that of the venue for good. Settings are recorded if there are none yet.
	ActivateRules struct {
		Revision    Revision
		Environment Environment `cbor:",omitempty"`
		Settings    []Setting   `cbor:",omitempty"`
		Audit       Audit
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
		Grant  Grant `cbor:",omitzero"` // of a key for an OAuth client; zero: the key signs requests
		Audit  Audit
	}
	// RenewGrant exchanges the code of a grant, or a refresh token, for the next pair of tokens
	// (docs/rules/oauth.md#tokens). Generation is that of the refresh token, 0 of the code.
	RenewGrant struct {
		User       UserID
		Key        string
		Generation uint32 `cbor:",omitempty"`
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
		Alone     AloneBound `cbor:",omitzero"`
		Audit     Audit
	}
	// DecideWithdrawal takes a withdrawal one step on (docs/rules/money.md#withdrawals).
	DecideWithdrawal struct {
		Withdrawal uint64
		Complete   bool            // if To is not set: to WithdrawalCompleted, else to WithdrawalRejected
		To         WithdrawalState `cbor:",omitempty"`
		Reference  string          `cbor:",omitempty"` // of the payment, with WithdrawalSent
		Alone      AloneBound      `cbor:",omitzero"`
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
	// The commands of an owner about its agents (docs/rules/agent-accounts.md). Owner sends
	// them; an agent of another owner is UnknownAgent.
	CreateAgent struct {
		Owner   UserID
		Name    string
		Fund    Pips // moved from the owner in the same command; 0 moves nothing
		Mandate Mandate
		Audit   Audit
	}
	// Transfer moves free cash between the owner and one of its agents, in either direction.
	Transfer struct {
		Owner    UserID
		ClientID string // the owner's own id of the transfer
		From, To UserID
		Amount   Pips
		Audit    Audit
	}
	// SetMandate replaces the agent's mandate if IfRev is the revision of the present one.
	SetMandate struct {
		Owner, Agent UserID
		IfRev        uint32
		Mandate      Mandate
		Audit        Audit
	}
	HaltAgent struct {
		Owner, Agent UserID
		Audit        Audit
	}
	ResumeAgent struct {
		Owner, Agent UserID
		Audit        Audit
	}
	CloseAgent struct {
		Owner, Agent UserID
		Audit        Audit
	}
	// AddOperator adds a named operator (docs/rules/operation.md#operators).
	AddOperator struct {
		Name      string
		Role      Role
		TokenHash [32]byte
		Audit     Audit
	}
	// RevokeOperator removes a named operator. A name that no operator has is a no-op.
	RevokeOperator struct {
		Name  string
		Audit Audit
	}
	// RequestApproval asks for a second operator. Audit.Who is the first.
	RequestApproval struct {
		Action ApprovalAction
		Audit  Audit
	}
	// DecideApproval approves an action, and executes it, or rejects it. Action is the one
	// that the deciding operator, Audit.Who, has seen.
	DecideApproval struct {
		Approval uint64
		Approve  bool
		Action   ApprovalAction
		Audit    Audit
	}
	// DropApproval removes a pending approval, whose operator is about to be revoked.
	DropApproval struct {
		Approval uint64
		Audit    Audit
	}
	// ResetToken replaces the token of an owner's account
	// (docs/rules/accounts.md#account-token).
	ResetToken struct {
		User      UserID
		TokenHash [32]byte
		Audit     Audit
	}
	// CancelUserOrders cancels every resting order of an account by order of an operator.
	CancelUserOrders struct {
		User  UserID
		Audit Audit
	}
	// ChangeSetting records a setting of the server (docs/rules/operation.md#settings-that-weaken). It
	// is InvalidTransition if the state does not have Before, which is "" for a setting without a
	// record.
	ChangeSetting struct {
		Name, Before, Value string
		Audit               Audit
	}
	// Checkpoint begins the hash of the state after it. It carries the hash at the seq of the
	// Checkpoint before. A replay compares that with its own hash and stops if they differ
	// (docs/rules/operation.md#determinism). In a log of several machines Hash is zero, because
	// no machine's hash is authoritative: each sends an Attest. Such a Checkpoint has no effect
	// if Seq is not that of the Checkpoint before, so that two machines may send the same one.
	Checkpoint struct {
		Seq  uint64
		Hash [32]byte
	}
	// Attest is what one machine of several computed for the Checkpoint at Seq: the hash of the
	// state after it, and the chain of the log after its group. The machine is the node that
	// proposed the group of the Attest. The venue does nothing with it. Each machine compares
	// the attestations with its own result and decides only about itself, so that the decision
	// is no part of the state (docs/rules/operation.md#attestation).
	Attest struct {
		Seq         uint64
		Hash, Chain [32]byte
	}
)

func (c *PlaceOrder) class() (Class, UserID)        { return ClassPlacement, c.User }
func (c *ReplaceOrder) class() (Class, UserID)      { return ClassPlacement, c.User }
func (c *SubmitForecast) class() (Class, UserID)    { return ClassPlacement, c.User }
func (c *Redeem) class() (Class, UserID)            { return ClassPlacement, c.User }
func (c *RequestWithdrawal) class() (Class, UserID) { return ClassPlacement, c.User }
func (c *CreateAgent) class() (Class, UserID)       { return ClassPlacement, c.Owner }
func (c *Transfer) class() (Class, UserID)          { return ClassPlacement, c.Owner }
func (c *ResumeAgent) class() (Class, UserID)       { return ClassPlacement, c.Owner }
func (c *RenewGrant) class() (Class, UserID)        { return ClassPlacement, c.User }

func (c *CancelOrder) class() (Class, UserID)   { return ClassCancel, c.User }
func (c *CancelAll) class() (Class, UserID)     { return ClassCancel, c.User }
func (c *DecreaseOrder) class() (Class, UserID) { return ClassCancel, c.User }
func (c *ArmDeadman) class() (Class, UserID)    { return ClassCancel, c.User }
func (c *DisarmDeadman) class() (Class, UserID) { return ClassCancel, c.User }
func (c *SetMandate) class() (Class, UserID)    { return ClassCancel, c.Owner }
func (c *HaltAgent) class() (Class, UserID)     { return ClassCancel, c.Owner }
func (c *CloseAgent) class() (Class, UserID)    { return ClassCancel, c.Owner }

func (*Clock) class() (Class, UserID)            { return ClassSystem, 0 }
func (*PostIndex) class() (Class, UserID)        { return ClassSystem, 0 }
func (*SetSession) class() (Class, UserID)       { return ClassSystem, 0 }
func (*SetRules) class() (Class, UserID)         { return ClassSystem, 0 }
func (*ActivateRules) class() (Class, UserID)    { return ClassSystem, 0 }
func (*SetFees) class() (Class, UserID)          { return ClassSystem, 0 }
func (*SetSchedule) class() (Class, UserID)      { return ClassSystem, 0 }
func (*CreateUser) class() (Class, UserID)       { return ClassSystem, 0 }
func (*CreateKey) class() (Class, UserID)        { return ClassSystem, 0 }
func (*RevokeKey) class() (Class, UserID)        { return ClassSystem, 0 }
func (*ResealKey) class() (Class, UserID)        { return ClassSystem, 0 }
func (*SuspendUser) class() (Class, UserID)      { return ClassSystem, 0 }
func (*Deposit) class() (Class, UserID)          { return ClassSystem, 0 }
func (*DecideWithdrawal) class() (Class, UserID) { return ClassSystem, 0 }
func (*PauseMarket) class() (Class, UserID)      { return ClassSystem, 0 }
func (*VoidMarket) class() (Class, UserID)       { return ClassSystem, 0 }
func (*ProposePrice) class() (Class, UserID)     { return ClassSystem, 0 }
func (*AddOperator) class() (Class, UserID)      { return ClassSystem, 0 }
func (*RevokeOperator) class() (Class, UserID)   { return ClassSystem, 0 }
func (*RequestApproval) class() (Class, UserID)  { return ClassSystem, 0 }
func (*DecideApproval) class() (Class, UserID)   { return ClassSystem, 0 }
func (*ResetToken) class() (Class, UserID)       { return ClassSystem, 0 }
func (*DropApproval) class() (Class, UserID)     { return ClassSystem, 0 }
func (*ChangeSetting) class() (Class, UserID)    { return ClassSystem, 0 }
func (*CancelUserOrders) class() (Class, UserID) { return ClassSystem, 0 }
func (*Checkpoint) class() (Class, UserID)       { return ClassSystem, 0 }
func (*Attest) class() (Class, UserID)           { return ClassSystem, 0 }

// Step returns the state to which the command takes the withdrawal.
func (c *DecideWithdrawal) Step() WithdrawalState {
	switch {
	case c.To != 0:
		return c.To
	case c.Complete:
		return WithdrawalCompleted
	}
	return WithdrawalRejected
}

// KeyOf returns the key that signed a command, or 0 if none did.
func KeyOf(cmd Command) KeyNumber {
	if k := KeyField(Unmarked(cmd)); k != nil {
		return *k
	}
	return 0
}

// KeyField returns the field of a command for the key that signs it, or nil if no key signs commands of
// its kind.
func KeyField(cmd Command) *KeyNumber {
	switch c := cmd.(type) {
	case *PlaceOrder:
		return &c.Key
	case *CancelOrder:
		return &c.Key
	case *CancelAll:
		return &c.Key
	case *DecreaseOrder:
		return &c.Key
	case *ReplaceOrder:
		return &c.Key
	case *QuoteSide:
		return &c.Key
	case *BindOrders:
		return &c.Key
	case *SubmitForecast:
		return &c.Key
	case *ArmDeadman:
		return &c.Key
	case *DisarmDeadman:
		return &c.Key
	case *Redeem:
		return &c.Key
	case *RequestWithdrawal:
		return &c.Key
	case *SetGroup:
		return &c.Key
	case *ResetGroup:
		return &c.Key
	case *DeleteGroup:
		return &c.Key
	}
	return nil
}
