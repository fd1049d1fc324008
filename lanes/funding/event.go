package funding

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// The types of events.
const (
	TypeDeposit   = "deposit.credited"     // the amount is in the account's cash
	TypeRequested = "withdrawal.requested" // the amount is out of the account's cash, and an operator decides
	TypeApproved  = "withdrawal.approved"  // pay
	TypeSent      = "withdrawal.sent"      // the payment is on its way
	TypeCompleted = "withdrawal.completed" // the payment has arrived
	TypeFailed    = "withdrawal.failed"    // the payment failed: the amount is back in the account's cash
	TypeRejected  = "withdrawal.rejected"  // nothing is paid: the amount is back in the account's cash
)

// Event is the body of a delivery (docs/rules/funding.md#events). Either Deposit or Withdrawal is set.
type Event struct {
	Type       string      `json:"type"`
	Seq        schemas.U64 `json:"seq"` // of the command behind the event
	Ts         schemas.U64 `json:"ts"`  // of the command, ns
	Deposit    *Deposit    `json:"deposit,omitzero"`
	Withdrawal *Withdrawal `json:"withdrawal,omitzero"`
}

// Deposit is a deposit in an Event.
type Deposit struct {
	UserID    uint32      `json:"user_id"`
	DepositID string      `json:"deposit_id"`
	Amount    schemas.U64 `json:"amount"` // pips
}

// Withdrawal is a withdrawal in an Event.
type Withdrawal struct {
	UserID             uint32      `json:"user_id"`
	WithdrawalID       schemas.U64 `json:"withdrawal_id"`
	ClientWithdrawalID string      `json:"client_withdrawal_id"`
	Amount             schemas.U64 `json:"amount"` // pips
	Destination        string      `json:"destination"`
	Reference          string      `json:"reference"` // of the payment, "" before it
}

// types are the events of the states of a withdrawal.
var types = map[core.WithdrawalState]string{
	core.WithdrawalPending: TypeRequested, core.WithdrawalApproved: TypeApproved, core.WithdrawalSent: TypeSent,
	core.WithdrawalCompleted: TypeCompleted, core.WithdrawalFailed: TypeFailed, core.WithdrawalRejected: TypeRejected,
}

// id is the id of a delivery. The time tells events apart that have the same seq, because the journal
// was restored from an older copy between them.
func (e *Event) id() string { return fmt.Sprintf("%d-%d", e.Seq, e.Ts) }

// eventOf converts what happened at a stamp. ok is false if it is not an event of this package: also
// for the repeat of a request, which shows a withdrawal again that had changed before.
func eventOf(at core.Stamp, what core.Event) (e Event, ok bool) {
	switch x := what.(type) {
	case *core.Deposited:
		return depositEvent(x.User, &view.Deposit{ID: x.DepositID, Amount: x.Amount, Seq: at.Seq, Ts: at.Ts}), true
	case *core.WithdrawalChanged:
		return withdrawalEvent(&x.Withdrawal), x.Withdrawal.Seq == at.Seq
	}
	return e, false
}

func depositEvent(u core.UserID, d *view.Deposit) Event {
	return Event{
		Type: TypeDeposit, Seq: schemas.U64(d.Seq), Ts: schemas.U64(d.Ts),
		Deposit: &Deposit{UserID: uint32(u), DepositID: d.ID, Amount: schemas.U64(d.Amount)},
	}
}

func withdrawalEvent(w *core.Withdrawal) Event {
	return Event{
		Type: types[w.State], Seq: schemas.U64(w.Seq), Ts: schemas.U64(w.Ts),
		Withdrawal: &Withdrawal{
			UserID: uint32(w.User), WithdrawalID: schemas.U64(w.ID), ClientWithdrawalID: w.ClientID,
			Amount: schemas.U64(w.Amount), Destination: w.Destination, Reference: w.Reference,
		},
	}
}

// eventsAfter returns the first limit events after seq, oldest first, and whether there are more. A
// withdrawal has one event, the one of its last change. missed is the number of accounts of which memory
// no longer has all deposits after seq. At most 2*limit events are in memory at a time.
func eventsAfter(seq uint64, limit int, v *venue.Venue, w *view.View) (out []Event, more bool, missed int) {
	highest := schemas.U64(math.MaxUint64) // later events are not among the first
	cut := func() {
		slices.SortFunc(out, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
		if len(out) > limit {
			out, more, highest = out[:limit], true, out[limit-1].Seq
		}
	}
	add := func(at uint64, event func() Event) {
		if schemas.U64(at) > highest {
			return // more is true already
		}
		if out = append(out, event()); len(out) == 2*limit {
			cut()
		}
	}
	for u := range v.Users() {
		for _, x := range w.Withdrawals(u.ID) {
			if x.Seq > seq {
				add(x.Seq, func() Event { return withdrawalEvent(&x) })
			}
		}
		if r := w.DepositsReleased(u.ID); r.Seq > seq {
			missed++
		}
		for at, d := range w.Deposits(u.ID, 0) {
			if at <= seq {
				break
			}
			add(at, func() Event { return depositEvent(u.ID, d) })
		}
	}
	cut()
	return out, more, missed
}
