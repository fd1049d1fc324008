package view

import (
	"duplex/core"
)

// View is the read model of the venue. Its methods need the same lock as the venue: Fold, RecordAudit
// and Image exclusive access, reads shared access.
type View struct {
	caps       RetentionCaps
	users      []*account              // by id
	resting    map[core.OrderID]*Order // the orders that rest
	placing    *Order                  // placed by the command being folded, until it ends or is in resting
	tapes      map[core.MarketID]*ring[Trade]
	rounds     rounds
	auditTrail auditTrail

	stamp   core.Stamp // of the command being folded
	image   *Image     // the image in progress, or nil
	scratch []byte     // buffer for encoding
}

// account has the rows of one user.
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

// New returns an empty view.
func New(caps RetentionCaps) *View {
	return &View{caps: caps, users: []*account{nil}, resting: map[core.OrderID]*Order{}, tapes: map[core.MarketID]*ring[Trade]{}, rounds: newRounds(caps.Rounds), auditTrail: newTrail(caps)}
}

// Caps returns the retention in force.
func (w *View) Caps() RetentionCaps { return w.caps }

// user returns an account that is about to change. If an image is in progress it copies the account
// first.
func (w *View) user(u core.UserID) *account {
	if w.image != nil {
		w.image.copyAccount(u)
	}
	for int(u) >= len(w.users) {
		w.users = append(w.users, newAccount(w.caps))
	}
	return w.users[u]
}

// Fold updates the view with the events of one command, in order. Of events it keeps only
// the slices of a round's evidence, which are read-only.
func (w *View) Fold(st core.Stamp, events []core.Event) {
	w.stamp = st
	for _, e := range events {
		w.fold(e)
	}
	if w.placing != nil { // the command's order rests
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
	case *core.LevelChanged: // readers read the book itself
	case *core.BalanceChanged:
		w.addEvent(e.User, &Balance{Cash: e.Cash, Reserved: e.Reserved, Change: e.Change, Cause: e.Cause})
	case *core.PositionChanged:
		p := e.Position
		w.addEvent(e.User, &p)
	case *core.RoundChanged:
		w.rounds.fold(w.stamp, e)
	case *core.AccountSettled:
		w.settled(e)
	case *core.Redeemed, *core.Indexed, *core.SessionChanged, *core.FeesChanged, *core.ScheduleChanged:
		// readers read these from the venue; a change of an account has its own event
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
		panic(core.InvariantViolation{Detail: "unknown event type"})
	}
}

// addEvent appends to the account's events.
func (w *View) addEvent(u core.UserID, what any) {
	w.user(u).events.add(UserEvent{w.stamp.Seq, w.stamp.Ts, what}, &w.scratch)
}

// withdrawal adds a withdrawal or replaces its earlier state.
func (w *View) withdrawal(x *core.Withdrawal) {
	a := w.user(x.User)
	for i := len(a.withdrawals) - 1; i >= 0; i-- {
		if a.withdrawals[i].ID == x.ID {
			if a.withdrawals[i] == *x {
				return // a repeated request changed nothing
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
		Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Generation: e.Generation, Number: e.Number,
		Status: e.Status, Winner: e.Winner, Yes: e.Yes, No: e.No, Payout: e.Payout,
	}
	w.user(e.User).settlements.add(s, &w.scratch)
	w.addEvent(e.User, &s)
}

func ptr[T any](x T) *T { return &x }
