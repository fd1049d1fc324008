package core

// Limits of what waits for an owner (docs/rules/agent-accounts.md#approvals).
const (
	AsksMax   = 20             // orders of one agent that wait
	AskWaitNs = 300 * NsPerSec // the longest wait
)

// Ask is a placement of an agent that waits for its owner, because the agent may not put as much at stake in one
// round unasked (docs/rules/agent-accounts.md#approvals). On the wire it is an approval; Approval is that of
// operators. Place has the generation of the round, and the tick that a price collar chose if one did. Nothing is
// reserved. An Ask that is shared is read-only.
type Ask struct {
	ID       uint64 // seq of the command that asked
	Place    PlaceOrder
	Number   uint64 // of the round
	Category uint16
	Cost     Pips  // what the order can cost at most, fees included
	OpenCost Pips  // what the agent had at stake in the round
	Created  int64 // ns
	Expires  int64 // ns; no decision counts from then on
}

// AskStatus is the state of an ask. All but AskWaiting are final.
type AskStatus uint8

const (
	AskWaiting  AskStatus = iota
	AskPlaced             // approved and admitted
	AskRefused            // approved, but a check of the placement rejects it
	AskRejected           // by the owner
	AskExpired
	AskCanceled // with what cancels the orders of the agent, of the market or of the group

	askStatuses
)

var askStatusNames = [askStatuses]string{"waiting", "placed", "refused", "rejected", "expired", "canceled"}

// String is the name on the wire, or "" if there is no such status.
func (s AskStatus) String() string {
	if s >= askStatuses {
		return ""
	}
	return askStatusNames[s]
}

// AskStatuses lists the name of every status.
func AskStatuses() []string { return askStatusNames[:] }

// DecideAsk approves or rejects what an agent of Owner asks. Only the account token of the owner sends it.
type DecideAsk struct {
	Owner   UserID
	Ask     uint64
	Approve bool
}

func (c *DecideAsk) class() (Class, UserID) {
	if c.Approve {
		return ClassPlacement, c.Owner
	}
	return ClassCancel, c.Owner
}

// AskChanged carries an ask that is new or has ended.
type AskChanged struct {
	Ask     Ask
	Owner   UserID
	Agent   string // its name
	Status  AskStatus
	Reason  Reason  // of AskCanceled
	Reject  Reject  // of AskRefused
	Decided int64   // ns; 0 while it waits
	Order   OrderID // of AskPlaced
}

func (*AskChanged) event() {}

// Why is the reason on the wire, "" for an end that needs none.
func (e *AskChanged) Why() string {
	if e.Reject != OK {
		return e.Reject.String()
	}
	return e.Reason.String()
}
