package view

import (
	"duplex/core"
)

// View is the read model. See the package comment for its locking.
type View struct {
	caps       RetentionCaps
	accounts   []*account              // by user id; index 0 is nil
	resting    map[core.OrderID]*Order // the resting orders of all accounts
	incoming   *Order                  // placed by the command being folded and not ended; not in resting yet
	tapes      map[core.MarketID]*ring[Trade]
	rounds     rounds
	auditTrail auditTrail
	prices     [core.Feeds]history[PriceTick]
	seconds    roundSeconds

	traders     map[uint64][]core.UserID // accounts with a row of a round that is not final, by its number
	forecasters map[uint64][]core.UserID // accounts with a forecast of a round that is not final, by its number

	contracts uint64 // filled; a snapshot does not have it

	sink      Sink  // nil: there is none
	secondEnd int64 // ns; end of the second of the last command, or 0 if EndSeconds was not called yet

	stamp   core.Stamp // of the command being folded
	image   *Image     // the image being written, if any
	scratch []byte     // for encoding chunks
}

// account holds the rows of one user.
type account struct {
	rows        rows
	fills       history[Fill]
	settlements history[Settlement]
	withdrawals []core.Withdrawal
	events      history[UserEvent]
	volume      volume
	keys        keyIDs
	balance     core.Pips // cash and reservations after the last row of the ledger
	ledger      history[LedgerRow]
	rounds      accountRounds

	finalRounds    int // of rounds
	roundsReleased Released
	deposits       history[Deposit]
	owner          core.UserID // of an agent; 0 for an owner

	forecasts forecasts

	activity history[Activity] // of an agent
	asks     asks              // of an agent
}

func newAccount(c RetentionCaps) *account {
	return &account{
		fills: newHistory[Fill](c.Fills), settlements: newHistory[Settlement](c.Settlements), events: newHistory[UserEvent](c.Events + 1),
		activity: newHistory[Activity](activityCap), ledger: newHistory[LedgerRow](c.Ledger), deposits: newHistory[Deposit](c.Deposits),
		forecasts: newForecasts(c.Forecasts), asks: asks{ended: newHistory[Ask](askCap)},
	}
}

// New returns an empty view.
func New(caps RetentionCaps) *View {
	return &View{caps: caps, accounts: []*account{nil}, resting: map[core.OrderID]*Order{}, tapes: map[core.MarketID]*ring[Trade]{}, rounds: newRounds(caps.Rounds), auditTrail: newAuditTrail(caps), prices: newPrices(), traders: map[uint64][]core.UserID{}, forecasters: map[uint64][]core.UserID{}}
}

// Contracts returns how many contracts were filled since the view was made or read from a snapshot.
func (w *View) Contracts() uint64 { return w.contracts }

// Caps returns the caps in force.
func (w *View) Caps() RetentionCaps { return w.caps }

// account returns the account of u, or an empty one if the view knows none.
func (w *View) account(u core.UserID) *account {
	if u == 0 || int(u) >= len(w.accounts) {
		return newAccount(w.caps)
	}
	return w.accounts[u]
}

// mutableAccount returns the account of u, which the caller may change. It creates a missing
// account, and copies it for the image being written.
func (w *View) mutableAccount(u core.UserID) *account {
	if w.image != nil {
		w.image.copyAccount(u)
	}
	for int(u) >= len(w.accounts) {
		w.accounts = append(w.accounts, newAccount(w.caps))
	}
	return w.accounts[u]
}

// Fold applies the events of the command with stamp st. Commands are
// folded in the order of their seqs. It panics with
// core.InvariantViolation if it does not know the type of an event.
func (w *View) Fold(st core.Stamp, events []core.Event) {
	w.stamp = st
	for _, e := range events {
		w.fold(e)
	}
	if w.incoming != nil { // the order rests
		w.resting[w.incoming.ID], w.incoming = w.incoming, nil
	}
}

func (w *View) fold(e core.Event) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		w.foldPlaced(e)
	case *core.Filled:
		w.foldFilled(e)
	case *core.OrderClosed:
		w.foldClosed(e)
	case *core.OrderDecreased:
		w.foldDecreased(e)
	case *core.LevelChanged: // reads take levels from the venue's book
	case *core.BalanceChanged:
		w.addEvent(e.User, &Balance{Cash: e.Cash, Reserved: e.Reserved, Change: e.Change, Cause: e.Cause})
	case *core.PositionChanged:
		p := e.Position
		w.addEvent(e.User, &p)
	case *core.RoundChanged:
		w.foldRound(e)
	case *core.AccountSettled:
		w.foldSettled(e)
	case *core.Transferred:
		w.foldTransferred(e)
	case *core.AgentChanged:
		w.addEvent(e.User, new(*e))
	case *core.AskChanged:
		w.foldAsk(e)
	case *core.Indexed:
		w.foldTick(&e.Tick)
	case *core.Redeemed:
		w.foldRedeemed(e)
	case *core.ForecastSubmitted:
		w.foldForecast(e)
	case *core.SessionChanged, *core.SettingChanged, *core.FeesChanged, *core.ScheduleChanged, *core.OperatorChanged, *core.ApprovalChanged, *core.Quoted:
		// The venue keeps these. Their effects on an account are events of their own.
	case *core.DeadmanChanged:
		d := *e
		w.addEvent(e.User, &d)
	case *core.GroupChanged:
		w.addEvent(e.User, new(*e))
	case *core.Deposited:
		w.foldDeposited(e)
	case *core.WithdrawalChanged:
		w.foldWithdrawal(&e.Withdrawal)
	case *core.UserChanged:
		a := w.mutableAccount(e.User.ID)
		if e.User.Agent != nil {
			a.owner = e.User.Agent.Owner
		}
		if w.sink != nil {
			w.sink.User(&e.User)
		}
	case *core.KeyChanged:
		w.mutableAccount(e.Key.User).keys.fold(&e.Key)
		if e.Key.Revoked {
			w.addEvent(e.Key.User, KeyRevoked(e.Key.ID))
		}
	default:
		panic(core.InvariantViolation{Detail: "the view does not know the type of an event"})
	}
}

// addEvent appends to the events of account u (docs/rules/events.md#channel-user).
func (w *View) addEvent(u core.UserID, what any) {
	w.mutableAccount(u).events.add(UserEvent{w.stamp.Seq, w.stamp.Ts, what}, &w.scratch)
}

func (w *View) foldWithdrawal(x *core.Withdrawal) {
	a := w.mutableAccount(x.User)
	for i := len(a.withdrawals) - 1; i >= 0; i-- {
		if a.withdrawals[i].ID == x.ID {
			if a.withdrawals[i] == *x {
				return // the request was a repeat and changed nothing
			}
			a.withdrawals[i] = *x
			w.addWithdrawal(x)
			return
		}
	}
	a.withdrawals = append(a.withdrawals, *x)
	w.addWithdrawal(x)
}

// addWithdrawal adds the event and the ledger row of a withdrawal that has changed.
func (w *View) addWithdrawal(x *core.Withdrawal) {
	w.addEvent(x.User, new(*x))
	if r, ok := withdrawalRow(x); ok {
		w.addLedger(x.User, r)
	}
}

// foldRound applies a change of a round. When the round is final, so are the rows of the accounts
// that traded it.
func (w *View) foldRound(e *core.RoundChanged) {
	x := w.rounds.fold(w.stamp, e)
	if x.Status.Final() {
		w.endAccountRounds(&x.Round)
		w.endForecasts(&x.Round)
	}
	if w.sink != nil {
		if x.Status == core.Frozen || x.Status == core.Proposed {
			w.reportTraders(&x.Round)
		}
		w.sink.Round(x)
	}
}

func (w *View) foldSettled(e *core.AccountSettled) {
	s := Settlement{
		Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Generation: e.Generation, Number: e.Number,
		Status: e.Status, Winner: e.Winner, Yes: e.Yes, No: e.No, Payout: e.Payout,
	}
	if r := w.rounds.newestOf[e.Market]; r != nil {
		s.Category, s.Cost, s.Strike = r.Category, e.Cost, r.Strike
		if r.Gen > 0 { // the settle price is public once it is proposed
			s.SettlePrice = r.Settle
		}
	}
	a := w.mutableAccount(e.User)
	n := a.settlements.end()
	a.settlements.add(s, &w.scratch)
	w.addEvent(e.User, &s)
	if w.sink != nil {
		w.sink.Settlement(e.User, n, &s)
	}
	kind := LedgerSettlement
	if e.Status == core.Void {
		kind = LedgerVoid
	}
	w.addLedger(e.User, w.roundRow(kind, e.Payout, e.Market))
	if x := w.mutableAccountRound(e.User, e.Market, false); x != nil {
		x.Payout += e.Payout
	}
}
