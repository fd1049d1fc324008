package view

import (
	"duplex/core"
)

// RetentionCaps bound what is kept. Per account: Terminal, Rejects, Fills, Settlements and
// Events. Per market: Tape. Per series: Rounds. Of the whole venue: Actions, and
// Routine for those that come by the thousand.
type RetentionCaps struct {
	Tape, Terminal, Rejects, Fills int
	Settlements, Events, Rounds    int
	Actions, Routine               int
}

// DefaultRetentionCaps returns the caps of docs/rules/limits.md#retention.
func DefaultRetentionCaps() RetentionCaps {
	return RetentionCaps{Tape: 1000, Terminal: 1000, Rejects: 200, Fills: 2000, Settlements: 1000, Events: 4096, Rounds: 1024, Actions: 10_000, Routine: 1000}
}

// View is the read model.
type View struct {
	caps       RetentionCaps
	users      []*account              // by id
	resting    map[core.OrderID]*Order // those that rest
	placing    *Order                  // placed by the command being folded, and not among live yet
	tapes      map[core.MarketID]*ring[Trade]
	rounds     rounds
	auditTrail auditTrail

	at      core.Stamp // of the command being folded
	image   *Image     // being taken; nil: none
	scratch []byte     // for encoding
}

// account is what is kept of one user.
type account struct {
	rows        rows
	fills       history[Fill, *Fill]
	settlements history[Settlement, *Settlement]
	withdrawals []core.Withdrawal
	events      history[UserEvent, *UserEvent]
	volume      volume
}

func newAccount(c RetentionCaps) *account {
	return &account{
		fills: newHistory[Fill](c.Fills), settlements: newHistory[Settlement](c.Settlements), events: newHistory[UserEvent](c.Events + 1),
	}
}

// New makes an empty view.
func New(caps RetentionCaps) *View {
	return &View{caps: caps, users: []*account{nil}, resting: map[core.OrderID]*Order{}, tapes: map[core.MarketID]*ring[Trade]{}, rounds: newRounds(caps.Rounds), auditTrail: newTrail(caps)}
}

// Caps gives the retention in force.
func (w *View) Caps() RetentionCaps { return w.caps }

// user gives an account that is about to change.
func (w *View) user(u core.UserID) *account {
	if w.image != nil {
		w.image.keep(u)
	}
	for int(u) >= len(w.users) {
		w.users = append(w.users, newAccount(w.caps))
	}
	return w.users[u]
}

// Fold takes in what one command did.
func (w *View) Fold(st core.Stamp, events []core.Event) {
	w.at = st
	for _, e := range events {
		w.fold(e)
	}
	if w.placing != nil { // it rests
		w.resting[w.placing.ID], w.placing = w.placing, nil
	}
}

func (w *View) fold(e core.Event) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		w.placed(e)
	case *core.Filled:
		w.filled(e)
	case *core.OrderClosed:
		w.closed(e)
	case *core.OrderDecreased:
		w.decreased(e)
	case *core.LevelChanged: // the book itself answers for levels
	case *core.BalanceChanged:
		w.addEvent(e.User, &Balance{Cash: e.Cash, Reserved: e.Reserved, Change: e.Change, Cause: e.Cause})
	case *core.PositionChanged:
		p := e.Position
		w.addEvent(e.User, &p)
	case *core.RoundChanged:
		w.rounds.fold(w.at, e)
	case *core.AccountSettled:
		w.settled(e)
	case *core.Redeemed, *core.Indexed, *core.SessionChanged, *core.FeesChanged, *core.ScheduleChanged:
		// the venue holds these; what they did to an account comes as its own event
	case *core.DeadmanChanged:
		d := *e
		w.addEvent(e.User, &d)
	case *core.Deposited:
		d := *e
		w.addEvent(e.User, &d)
	case *core.WithdrawalChanged:
		w.withdrawal(&e.Withdrawal)
	case *core.UserChanged:
		w.user(e.User.ID)
	case *core.KeyChanged:
		if e.Key.Revoked && !e.Resealed {
			w.addEvent(e.Key.User, KeyRevoked(e.Key.ID))
		}
	default:
		panic(core.InvariantViolation{Detail: "an event the view does not know"})
	}
}

// addEvent appends to the account's events.
func (w *View) addEvent(u core.UserID, what any) {
	w.user(u).events.add(UserEvent{w.at.Seq, w.at.Ts, what}, &w.scratch)
}

func (w *View) withdrawal(x *core.Withdrawal) {
	a := w.user(x.User)
	for i := len(a.withdrawals) - 1; i >= 0; i-- {
		if a.withdrawals[i].ID == x.ID {
			if a.withdrawals[i] == *x {
				return // a repeated request: nothing happened
			}
			a.withdrawals[i] = *x
			w.addEvent(x.User, ptr(*x))
			return
		}
	}
	a.withdrawals = append(a.withdrawals, *x)
	w.addEvent(x.User, ptr(*x))
}

func (w *View) settled(e *core.AccountSettled) {
	s := Settlement{
		Seq: w.at.Seq, Ts: w.at.Ts, Market: e.Market, Generation: e.Generation, Number: e.Number,
		Status: e.Status, Winner: e.Winner, Yes: e.Yes, No: e.No, Payout: e.Payout,
	}
	w.user(e.User).settlements.add(s, &w.scratch)
	w.addEvent(e.User, &s)
}

func ptr[T any](x T) *T { return &x }
