package core

// Role is what an operator may do (docs/rules/operation.md#roles).
type Role uint8

const (
	RoleViewer Role = iota
	RoleSupport
	RoleTreasurer
	RoleAdmin
	RoleService // a funding service, which is no person

	roles
)

var roleNames = [roles]string{"viewer", "support", "treasurer", "admin", "service"}

// String is the name of the role, or "" if there is no such role.
func (r Role) String() string {
	if r >= roles {
		return ""
	}
	return roleNames[r]
}

// RoleOf returns the role of a name; false if there is none of that name.
func RoleOf(name string) (Role, bool) {
	for i, n := range roleNames {
		if n == name {
			return Role(i), true
		}
	}
	return 0, false
}

// RoleNames lists every role.
func RoleNames() []string { return roleNames[:] }

// Operator is a person who operates the venue, or a funding service
// (docs/rules/operation.md#operators). The name is the one that the audit shows.
type Operator struct {
	Name      string
	Role      Role
	TokenHash [32]byte // SHA-256 of the operator's token
	Created   int64    // ns
}

// ApprovalKind is an action that may need a second operator
// (docs/rules/operation.md#two-person-approval).
type ApprovalKind uint8

const (
	ApproveDeposit ApprovalKind = iota
	ApproveWithdrawal
	ApproveVoid
	ApprovePrice
	ApproveTick
	ApprovePayment // of a withdrawal
	ApproveFailure // of a payment
	ApproveReturn  // rejection of an approved withdrawal
	ApproveFees

	approvalKinds
)

// The names are those of the operator's actions (docs/rules/operation.md#actions).
var approvalKindNames = [approvalKinds]string{
	"deposit", "complete_withdrawal", "void_market", "propose_price", "post_tick", "approve_withdrawal", "fail_withdrawal", "reject_withdrawal", "set_fees",
}

// String is the name of the action, or "" if there is no such kind.
func (k ApprovalKind) String() string {
	if k >= approvalKinds {
		return ""
	}
	return approvalKindNames[k]
}

// ApprovalAction is an action that waits for a second operator. A field that its kind does
// not have is zero, so that equal actions are ==.
type ApprovalAction struct {
	Kind       ApprovalKind
	User       UserID   `cbor:",omitempty"` // of a deposit
	DepositID  string   `cbor:",omitempty"`
	Amount     Pips     `cbor:",omitempty"` // of a deposit
	Withdrawal uint64   `cbor:",omitempty"`
	Market     MarketID `cbor:",omitempty"` // of a void or a price
	Price      Price    `cbor:",omitempty"` // of a price or a tick
	Feed       Feed     `cbor:",omitempty"` // of a tick
	Source     string   `cbor:",omitempty"` // of a tick
	Fees       Fees     `cbor:",omitzero"`
}

// WithdrawalStep returns the step that an action is; false if it is none.
func (a *ApprovalAction) WithdrawalStep() (to WithdrawalState, ok bool) {
	switch a.Kind {
	case ApproveWithdrawal:
		return WithdrawalCompleted, true
	case ApprovePayment:
		return WithdrawalApproved, true
	case ApproveFailure:
		return WithdrawalFailed, true
	case ApproveReturn:
		return WithdrawalRejected, true
	}
	return 0, false
}

// ApprovalStatus is the status of an approval.
type ApprovalStatus uint8

const (
	ApprovalPending ApprovalStatus = iota
	ApprovalApproved
	ApprovalRejected
)

var approvalStatusNames = [...]string{"pending", "approved", "rejected"}

func (s ApprovalStatus) String() string { return approvalStatusNames[s] }

// Approval is a request of one operator that another one decides
// (docs/rules/operation.md#two-person-approval).
type Approval struct {
	ID        uint64 // seq of the request
	Action    ApprovalAction
	Round     uint64 `cbor:",omitempty"` // number of the round that Action.Market had at the request
	By, Why   string // of the request
	Created   int64  // ns
	Status    ApprovalStatus
	DecidedBy string `cbor:",omitempty"`
	DecidedTs int64  `cbor:",omitempty"` // ns
}

// ApprovalNs is the time that an approval may be decided and is remembered, in ns.
const ApprovalNs = NsPerDay

// Expires is when the approval ends, in ns.
func (a *Approval) Expires() int64 { return a.Created + ApprovalNs }

// AloneSum is what operators did without a second one on one UTC day: one operator to all accounts, or
// all operators to one account (docs/rules/operation.md#alone).
type AloneSum struct {
	Operator string `cbor:",omitempty"`
	User     UserID `cbor:",omitempty"`
	Returned bool   `cbor:",omitempty"` // of withdrawals; else of deposits and payments
	Sum      Pips
}

// AloneBound is the most that sums of AloneSum may be after a command; the zero AloneBound is none.
type AloneBound struct {
	Set  bool
	Most Pips
}

// Setting is a setting of the server as the state keeps it, so that a change over a restart is audited
// (docs/rules/operation.md#settings-that-weaken).
type Setting struct{ Name, Value string }

// SettingMasterKey is the setting with the fingerprint of the master key.
const SettingMasterKey = "master_key"
