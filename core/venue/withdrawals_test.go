package venue

import (
	"slices"
	"testing"

	"duplex/core"
)

// stepsVenue is a venue of a revision with one account, which has 10,000 pips.
type stepsVenue struct {
	t  *testing.T
	v  *Venue
	at core.Stamp
}

func newStepsVenue(t *testing.T, revision core.Revision, settings ...core.Setting) *stepsVenue {
	x := &stepsVenue{t: t, v: New(), at: core.Stamp{Ts: origin}}
	x.want(core.OK, &core.ActivateRules{Revision: revision, Settings: settings})
	x.want(core.OK, &core.CreateUser{Name: "alice"})
	x.want(core.OK, &core.Deposit{User: 1, DepositID: "d", Amount: 10_000})
	return x
}

func (x *stepsVenue) want(r core.Reject, cmd core.Command) (seq uint64, events []core.Event) {
	x.t.Helper()
	x.at.Seq++
	x.at.Ts++
	var ev core.Events
	if got := x.v.Apply(x.at, cmd, &ev); got != r {
		x.t.Fatalf("%+v: %v, want %v", cmd, got, r)
	}
	return x.at.Seq, ev.List
}

func (x *stepsVenue) withdraw(id string) (seq uint64) {
	x.t.Helper()
	seq, _ = x.want(core.OK, &core.RequestWithdrawal{User: 1, ClientID: id, Amount: 100, Destination: "bank"})
	return seq
}

func (x *stepsVenue) step(r core.Reject, w uint64, to core.WithdrawalState) {
	x.t.Helper()
	x.want(r, &core.DecideWithdrawal{Withdrawal: w, To: to, Reference: "payment"})
}

func (x *stepsVenue) ask(kind core.ApprovalKind, w uint64) (id uint64) {
	x.t.Helper()
	id, _ = x.want(core.OK, &core.RequestApproval{Action: core.ApprovalAction{Kind: kind, Withdrawal: w}, Audit: core.Audit{Who: "ann"}})
	return id
}

func (x *stepsVenue) approve(r core.Reject, id uint64) (events []core.Event) {
	x.t.Helper()
	a, _ := x.v.Approval(id, x.at.Ts)
	_, events = x.want(r, &core.DecideApproval{Approval: id, Approve: true, Action: a.Action, Audit: core.Audit{Who: "bob"}})
	return events
}

func openIDs(v *Venue) (ids []uint64) {
	for w := range v.OpenWithdrawals(0) {
		ids = append(ids, w.ID)
	}
	return ids
}

// TestStepsBeforeTheRevision checks that an older revision has no steps, no sums and no settings, also in its encoding.
func TestStepsBeforeTheRevision(t *testing.T) {
	x := newStepsVenue(t, core.RevisionGrants, core.Setting{Name: "signup", Value: "off"})
	w := x.withdraw("a")
	x.step(core.InvalidTransition, w, core.WithdrawalApproved)
	x.want(core.OK, &core.Deposit{User: 1, DepositID: "alone", Amount: 5, Alone: core.AloneBound{Set: true}})
	x.want(core.InvalidTransition, &core.ChangeSetting{Name: "signup", Value: "open"})
	x.ask(core.ApproveWithdrawal, w)
	x.want(core.OK, &core.DecideWithdrawal{Withdrawal: w}) // over an open approval
	again := x.withdraw("b")
	x.step(core.OK, again, core.WithdrawalCompleted) // named, and not by Complete
	if len(x.v.Settings()) != 0 || x.v.AloneSums() != nil {
		t.Errorf("settings %v, sums %v", x.v.Settings(), x.v.AloneSums())
	}
	m, err := x.v.Image()
	if err != nil {
		t.Fatal(err)
	}
	for b := range m.Pieces() {
		if n, err := readArrayHead(b); err != nil || n != 22 {
			t.Errorf("the state has %d fields, %v", n, err)
		}
		break
	}
	restored(t, x.v)
}

// TestStepsAreRestored checks that a restored venue has the same open withdrawals, sums and settings.
func TestStepsAreRestored(t *testing.T) {
	x := newStepsVenue(t, core.RevisionSteps, core.Setting{Name: "signup", Value: "off"}, core.Setting{Name: "four_eyes", Value: "5"})
	x.want(core.OK, &core.ActivateRules{Revision: core.RevisionSteps, Settings: []core.Setting{{Name: "signup", Value: "open"}}}) // there are some
	before := x.v.Settings()
	x.want(core.OK, &core.ChangeSetting{Name: "signup", Before: "off", Value: "open"})
	x.want(core.OK, &core.ChangeSetting{Name: "replay_guard", Value: "false"})
	if want := []core.Setting{{Name: "four_eyes", Value: "5"}, {Name: "signup", Value: "off"}}; !slices.Equal(before, want) {
		t.Errorf("the settings that a reader has are %v, want %v", before, want)
	}
	a, b, c := x.withdraw("a"), x.withdraw("b"), x.withdraw("c")
	bound := core.AloneBound{Set: true, Most: 1000}
	x.want(core.OK, &core.DecideWithdrawal{Withdrawal: a, To: core.WithdrawalApproved, Alone: bound, Audit: core.Audit{Who: "ann"}})
	x.want(core.OK, &core.DecideWithdrawal{Withdrawal: a, To: core.WithdrawalRejected, Alone: bound, Audit: core.Audit{Who: "ann"}})
	x.step(core.OK, b, core.WithdrawalApproved)
	x.step(core.OK, b, core.WithdrawalSent)
	settings := []core.Setting{{Name: "four_eyes", Value: "5"}, {Name: "replay_guard", Value: "false"}, {Name: "signup", Value: "open"}}
	sums := []core.AloneSum{{Operator: "ann", Sum: 100}, {Operator: "ann", Returned: true, Sum: 100}, {User: 1, Sum: 100}, {User: 1, Returned: true, Sum: 100}}
	for _, v := range []*Venue{x.v, restored(t, x.v)} {
		if got := openIDs(v); !slices.Equal(got, []uint64{b, c}) {
			t.Errorf("open are %v, want %v", got, []uint64{b, c})
		}
		if got := v.Settings(); !slices.Equal(got, settings) {
			t.Errorf("the settings are %v, want %v", got, settings)
		}
		if got := v.AloneSums(); !slices.Equal(got, sums) {
			t.Errorf("the sums are %v, want %v", got, sums)
		}
	}
	x.at.Ts += core.NsPerDay
	x.want(core.OK, &core.Clock{})
	if got := x.v.AloneSums(); got != nil {
		t.Errorf("on the next day the sums are %v", got)
	}
	x.step(core.OK, b, core.WithdrawalCompleted)
	if got := openIDs(x.v); !slices.Equal(got, []uint64{c}) {
		t.Errorf("open are %v, want %v", got, c)
	}
}

// TestExpiredApprovals checks that an approval counts until the last moment before it expires, and no longer.
func TestExpiredApprovals(t *testing.T) {
	for _, late := range []bool{false, true} {
		x := newStepsVenue(t, core.RevisionSteps)
		x.want(core.OK, &core.AddOperator{Name: "ann"})
		w := x.withdraw("a")
		id := x.ask(core.ApprovePayment, w)
		a, _ := x.v.Approval(id, x.at.Ts)
		x.at.Ts = a.Expires() - 1 // of the next command, one more
		if !late {
			x.at.Ts--
			x.step(core.InvalidTransition, w, core.WithdrawalRejected)
			x.at.Ts--
			x.want(core.OK, &core.DropApproval{Approval: id})
			continue
		}
		x.step(core.OK, w, core.WithdrawalRejected)
		x.at.Ts--
		x.want(core.UnknownApproval, &core.DropApproval{Approval: id})
		x.at.Ts--
		_, events := x.want(core.OK, &core.RevokeOperator{Name: "ann"})
		if len(events) != 1 {
			t.Errorf("a revocation after the expiry: %v", events)
		}
	}
}

// TestExpiredApprovalsAreForgotten checks that the state does not keep approvals for ever.
func TestExpiredApprovalsAreForgotten(t *testing.T) {
	x := newStepsVenue(t, core.RevisionSteps)
	w := x.withdraw("a")
	x.ask(core.ApprovePayment, w)
	x.at.Ts += core.ApprovalNs
	x.ask(core.ApprovePayment, w)
	if n := x.v.approvals.Len(); n != 1 {
		t.Errorf("the state has %d approvals, want 1", n)
	}
}

// TestApprovalOfAStepThatIsMade checks that an approval of a step that was made meanwhile does nothing, and that one of
// a step that is no longer possible is refused.
func TestApprovalOfAStepThatIsMade(t *testing.T) {
	x := newStepsVenue(t, core.RevisionSteps)
	made, gone := x.withdraw("a"), x.withdraw("b")
	first, second := x.ask(core.ApprovePayment, made), x.ask(core.ApprovePayment, gone)
	x.step(core.OK, made, core.WithdrawalApproved)
	if events := x.approve(core.OK, first); len(events) != 1 {
		t.Errorf("an approval of a step that is made: %v", events)
	}
	x.step(core.OK, gone, core.WithdrawalApproved)
	x.step(core.OK, gone, core.WithdrawalSent)
	x.approve(core.InvalidTransition, second)
	if cash := x.v.ledger.Cash(1); cash != 9_800 {
		t.Errorf("cash %d", cash)
	}
}
