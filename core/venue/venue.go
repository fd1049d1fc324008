package venue

import (
	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
)

// Slots is the number of market slots, which rounds use in turn (docs/rules/rounds.md#slots).
const Slots = ledger.Slots

const _ = uint8(Slots) // book.Order stores the market in one byte

// Venue is the state of the exchange after the commands so far. See the package comment for which
// methods need exclusive access.
type Venue struct {
	now          core.Stamp
	rules        core.Rules
	legal        [core.TickMax + 1]bool // by tick: whether it is on the grid
	fees         core.Fees
	reservation  [core.TickMax + 1]core.Pips // by tick: per contract, at the taker rate
	windows      []core.Window
	ledger       *ledger.Ledger
	pool         *book.Pool
	accounts     []account     // by user id
	closedAgents bool          // there is a closed agent, whose cash must be returned
	owners       []core.UserID // by user id: the owner of its family; dense, for matching
	keys         keys
	markets      [Slots + 1]market
	free         []core.MarketID // free slots, the longest free first
	feeds        [core.Feeds]feedState
	trading      [core.SeriesCount]core.MarketID // by series: the slot that trades it, 0 if none does
	last         [core.SeriesCount]int64         // by series: the start of its last round's period, ns; -1 before the first
	rounds       uint64                          // opened so far

	expiryTimers  timers // by order id
	deadmanTimers timers // by groupKey
	mandateTimers timers // by user id
	grantTimers   timers // by key number

	asks asks

	// Deposits and withdrawals are never removed. The trees are copied on write and their values
	// are never modified, so an Image can share them.
	deposits    tree[string, core.Deposited]
	withdrawals tree[uint64, *core.Withdrawal]
	clientWds   map[clientWithdrawal]uint64

	// transfers are the owners' transfers by seq. None is ever removed, and like withdrawals they
	// are never modified.
	transfers       tree[uint64, *core.Transferred]
	clientTransfers map[clientTransfer]uint64

	operators []core.Operator              // sorted by name
	approvals tree[uint64, *core.Approval] // by id; like withdrawals they are never modified
	open      tree[uint64, struct{}]       // ids of the withdrawals that are not over; not part of the state
	alone     aloneSums
	settings  []core.Setting // by name; replaced, never modified
	marks     marks
	requests  map[core.UserID]*idSet // the client_request_ids of the accounts that have used one

	groups  tree[uint64, *group] // by groupKey
	bounded bool                 // there are such groups: one look for each fill, if there are none
	tripped []uint64             // groupKeys of those that the present command has tripped
	members tree[uint32, member] // by node, those that send beats

	quoted     []book.Ref // the list of quotesOf
	lastQuotes map[quoteKey]*lastQuotes

	ev    *core.Events
	level *core.LevelChanged // the command's newest; the next change of the same level is added to it

	prefetched uint32 // result of the reads of Prefetch, so that the compiler keeps them
}

// New returns an empty venue under the default rules, of which no revision is active yet.
func New() *Venue {
	v := &Venue{
		fees:   core.DefaultFees(),
		ledger: ledger.New(), pool: book.NewPool(1024), accounts: make([]account, 1), owners: make([]core.UserID, 1),
		keys:     keys{numbers: map[string]uint64{}, all: newTree[uint64, *core.Key]()},
		deposits: newTree[string, core.Deposited](), withdrawals: newTree[uint64, *core.Withdrawal](),
		transfers: newTree[uint64, *core.Transferred](), approvals: newTree[uint64, *core.Approval](),
		open: newTree[uint64, struct{}](), alone: aloneSums{sums: newTree[string, core.AloneSum]()},
		clientWds: map[clientWithdrawal]uint64{}, clientTransfers: map[clientTransfer]uint64{},
		requests: map[core.UserID]*idSet{}, groups: newTree[uint64, *group](), lastQuotes: map[quoteKey]*lastQuotes{}, members: newTree[uint32, member](),
		asks: asks{all: newTree[uint64, *core.Ask](), of: map[core.UserID][]*core.Ask{}},
	}
	for m := core.MarketID(1); m <= Slots; m++ {
		v.free = append(v.free, m)
	}
	for f := range v.feeds {
		v.feeds[f].Stale = true
	}
	for s := range v.last {
		v.last[s] = -1
	}
	v.putRules(core.DefaultRules())
	v.computeReservations()
	return v
}

// Apply executes one command at its stamp and appends its events to ev in the order in which they
// happened. Both parts of st must exceed those of the previous command. Apply returns core.OK or
// the reason of the rejection. If the command breaks an invariant, or is of an unknown type, Apply
// panics with core.InvariantViolation and the venue must not be used again.
func (v *Venue) Apply(st core.Stamp, cmd core.Command, ev *core.Events) core.Reject {
	v.now, v.ev, v.level = st, ev, nil
	v.ledger.Begin(core.DayOf(st.Ts))
	if v.marks.n > 0 {
		v.marks.forget(st.Ts)
	}
	r := v.apply(cmd)
	if v.closedAgents {
		v.returnClosedCash()
	}
	v.emitAccountChanges()
	return r
}

func (v *Venue) apply(cmd core.Command) core.Reject {
	if c, ok := cmd.(*core.PlaceOrder); ok { // these two come first: they are most commands, and a large type switch is slower
		return v.place(c)
	}
	if c, ok := cmd.(*core.CancelOrder); ok {
		return v.cancel(c)
	}
	switch c := cmd.(type) {
	case *core.CancelAll:
		return v.cancelAll(c)
	case *core.DecreaseOrder:
		return v.decrease(c)
	case *core.ReplaceOrder:
		return v.replace(c)
	case *core.QuoteSide:
		return v.quote(c)
	case *core.BindOrders:
		return v.bind(c)
	case *core.EndConnection:
		return v.endConnection(c)
	case *core.Beat:
		v.beat(c.Node, c.Session)
		return core.OK
	case *core.SubmitForecast:
		return v.forecast(c)
	case *core.ArmDeadman:
		return v.setDeadman(c.User, c.Group, c.TimeoutMs)
	case *core.DisarmDeadman:
		return v.setDeadman(c.User, c.Group, 0)
	case *core.Redeem:
		return v.redeem(c)
	case *core.RequestWithdrawal:
		return v.requestWithdrawal(c)
	case *core.SetGroup:
		return v.setGroup(c)
	case *core.ResetGroup:
		return v.resetGroup(c)
	case *core.DeleteGroup:
		return v.deleteGroup(c)
	case *core.Clock:
		v.advance()
		return core.OK
	case *core.PostIndex:
		v.advance()
		return v.applyIndexTick(&c.Tick)
	case *core.SetSession:
		return v.setSession(c)
	case *core.SetRules:
		return v.setRules(c.Rules)
	case *core.ActivateRules:
		return v.activateRules(c)
	case *core.CreateAgent:
		return v.createAgent(c)
	case *core.Transfer:
		return v.transfer(c)
	case *core.SetMandate:
		return v.setMandate(c)
	case *core.HaltAgent:
		return v.haltAgent(c)
	case *core.ResumeAgent:
		return v.resumeAgent(c)
	case *core.CloseAgent:
		return v.closeAgent(c)
	case *core.DecideAsk:
		return v.decideAsk(c)
	case *core.SetFees:
		return v.setFees(c)
	case *core.SetSchedule:
		v.windows = c.Windows
		v.ev.Add(&core.ScheduleChanged{Windows: c.Windows})
		return core.OK
	case *core.CreateUser:
		return v.createUser(c)
	case *core.CreateKey:
		return v.createKey(c)
	case *core.RenewGrant:
		return v.renewGrant(c)
	case *core.RevokeKey:
		return v.revokeKey(c)
	case *core.ResealKey:
		return v.resealKey(c)
	case *core.SuspendUser:
		return v.suspend(c)
	case *core.Deposit:
		return v.deposit(c)
	case *core.DecideWithdrawal:
		return v.decideWithdrawal(c)
	case *core.PauseMarket:
		return v.pause(c)
	case *core.VoidMarket:
		return v.voidMarket(c)
	case *core.ProposePrice:
		return v.proposePrice(c)
	case *core.AddOperator:
		return v.addOperator(c)
	case *core.RevokeOperator:
		return v.revokeOperator(c)
	case *core.RequestApproval:
		return v.requestApproval(c)
	case *core.DecideApproval:
		return v.decideApproval(c)
	case *core.DropApproval:
		return v.dropApproval(c)
	case *core.ChangeSetting:
		return v.changeSetting(c)
	case *core.ResetToken:
		return v.resetToken(c)
	case *core.CancelUserOrders:
		return v.cancelUserOrders(c)
	case *core.Checkpoint:
		return core.OK // the engine compares the hash
	case *core.Marked:
		return v.applyMarked(c)
	case *core.Attest:
		return core.OK // the engine compares it with its own
	default:
		panic(core.InvariantViolation{Detail: "unknown command type"})
	}
}

// emitAccountChanges emits an event for each balance and position that the command changed, and
// checks the invariant (docs/rules/money.md#the-invariant).
func (v *Venue) emitAccountChanges() {
	accounts, holdings := v.ledger.Touched()
	for i := range accounts {
		t := &accounts[i]
		cash, reserved := v.ledger.Balance(t.User)
		if cash != t.Cash || reserved != t.Reserved {
			e := v.ev.Balance()
			e.User, e.Cash, e.Reserved, e.Change, e.Cause = t.User, cash, reserved, cash-t.Cash, t.Cause
		}
	}
	for _, t := range holdings {
		e := v.ev.Position()
		e.User = t.User
		v.position(t.User, t.Market, &e.Position)
		if !v.ledger.CheckMarket(t.Market) {
			panic(core.InvariantViolation{Detail: "a market's YES, NO and pair counts differ"})
		}
		if !v.ledger.CheckAccount(t.User) {
			panic(core.InvariantViolation{Detail: "an account's profit and loss does not add up"})
		}
	}
	if !v.ledger.Check() {
		panic(core.InvariantViolation{Detail: "money was created or lost"})
	}
}

// emitLevelChange emits the change of a price level. Consecutive changes of the same level become
// one event, with the sum of the deltas and the last total.
func (v *Venue) emitLevelChange(m *market, bid bool, t core.Tick, delta, total core.Qty) {
	m.bookSeq = v.now.Seq
	if was := v.level; was != nil && was.Tick == t && was.Market == m.Market && was.Bid == bid {
		was.Delta += delta
		was.Qty = total
		return
	}
	l := v.ev.Level()
	l.Market, l.Generation, l.Bid, l.Tick, l.Delta, l.Qty = m.Market, m.Generation, bid, t, delta, total
	v.level = l
}
