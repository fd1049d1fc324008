package model

import (
	"maps"
	"math/big"
	"slices"

	"duplex/core"
)

// slots is the number of market slots (docs/rules/rounds.md#slots).
const slots = 32

// Venue is the whole state.
type Venue struct {
	now             core.Stamp
	rules           core.Rules
	fees            core.Fees
	windows         []core.Window
	users           []user // by id; index 0 is unused
	orders          map[core.OrderID]order
	markets         map[core.MarketID]market
	free            []core.MarketID // the slot free for the longest time first
	feeds           [core.Feeds]feed
	lastStart       map[uint16]int64 // by category: start of the period of the newest round, ns
	rounds          uint64
	keys            map[string]key // by id
	depositsByID    map[string]core.Deposit
	withdrawalsByID map[uint64]core.Withdrawal
	transfers       map[transferID]transfer
	lastKey         core.KeyNumber
	operators       map[string]core.Operator // by name
	approvals       map[uint64]Approval      // by id
	doneAlone       []done
	settings        map[string]string
	marks           []mark // of every command that had one, the newest last
	requests        map[request]bool
	groups          map[groupID]group
	asks            map[uint64]core.Ask
	filledIn        map[groupID]bool // groups with a fill of the present command
	deadmen         map[groupID]deadman
	lines           map[groupID]core.Line // what cancels the orders at its end
	beats           map[uint32]beat       // by node

	feesCollected, deposits, withdrawals *big.Int

	out *Outcome
}

type user struct {
	cash      *big.Int
	held      map[contract]position
	used      map[uint64]bool
	referrer  core.UserID
	suspended bool
	agent     *agent // nil for an owner
	token     [32]byte

	realized, fees, rebates, transfersNet *big.Int
	fills                                 uint64
	book                                  book
	realizedOn                            map[int32]*big.Int // by UTC day
	ordersOn                              map[int32]uint32   // by UTC day: placements that were not rejected
}

// contract names the contracts of one outcome of a market.
type contract struct {
	market  core.MarketID
	outcome core.Outcome
}

// position is the number of contracts a user holds, and their cost with fees, in pips.
type position struct {
	n    core.Qty
	cost *big.Int
}

// request is a client_request_id that an account has used.
type request struct {
	user core.UserID
	id   uint64
}

type key struct {
	user   core.UserID
	sealed string // the secret
	number core.KeyNumber
	grant  *grant // nil: the key signs
}

// order is a resting order.
type order struct {
	id core.OrderID
	core.PlaceOrder
	left    core.Qty
	maker   core.Rate // the maker rate when it was placed
	clipped bool      // reduce_only took contracts from it
}

type market struct {
	core.Round
	halted   bool
	lastTick core.Tick
	volume   core.Qty
}

type feed struct {
	ticks map[int64]core.IndexTick // by second
	last  int64                    // the newest second with a tick
	fresh int64                    // time of the newest tick with a fresh source, ns
	stale bool
	open  bool
	until int64 // end of the session, ns; 0: unknown
}

// Fill is a fill that the venue should make.
type Fill struct {
	Maker                                core.OrderID
	TickYes                              core.Tick
	Qty                                  core.Qty
	Path                                 core.Path
	TakerFee, MakerFee, Rebate, Referral core.Pips
}

// End is how an order ended that was canceled or expired.
type End struct {
	Status core.OrderStatus
	Reason core.Reason
	Left   core.Qty
}

// Transfer names the money that the command at Seq moved between two accounts. ClientID is ""
// if the venue moved it.
type Transfer struct {
	ClientID string
	From, To core.UserID
	Seq      uint64
}

// Outcome is what a command should do. Ended has the canceled and expired orders, not the
// executed ones.
type Outcome struct {
	Reject    core.Reject
	Violation *core.Violation // if the mandate rejected a placement
	Tick      core.Tick       // of a placement that was not rejected
	Fills     []Fill
	Ended     map[core.OrderID]End
	Transfers map[Transfer]core.Pips
	Agents    map[core.UserID]AgentChange
	Ledger    map[core.UserID][]Row
	Forecast  *Forecast // that was accepted
	Quoted    *core.Quoted
	Asks      map[uint64]core.AskChanged // new or ended, by id

	realized []realized
}

// realized is a profit or a loss of an account in a round.
type realized struct {
	user   core.UserID
	number uint64
	profit *big.Int
}

// AgentChange is the state of an agent and the revision of its mandate after a command that
// changed one of them, or that canceled its orders when the mandate expired.
type AgentChange struct {
	State core.AgentState
	Rev   uint32
}

// New returns an empty venue. No revision of the rules is active yet.
func New() *Venue {
	v := &Venue{
		rules: core.DefaultRules(), fees: core.Fees{Taker: 250}, users: make([]user, 1), orders: map[core.OrderID]order{},
		markets: map[core.MarketID]market{}, lastStart: map[uint16]int64{}, keys: map[string]key{},
		depositsByID: map[string]core.Deposit{}, withdrawalsByID: map[uint64]core.Withdrawal{}, transfers: map[transferID]transfer{},
		operators: map[string]core.Operator{}, approvals: map[uint64]Approval{}, settings: map[string]string{}, requests: map[request]bool{}, groups: map[groupID]group{}, asks: map[uint64]core.Ask{},
		deadmen: map[groupID]deadman{}, lines: map[groupID]core.Line{}, beats: map[uint32]beat{},
		feesCollected: integer(0), deposits: integer(0), withdrawals: integer(0),
	}
	for m := core.MarketID(1); m <= slots; m++ {
		v.free = append(v.free, m)
	}
	for f := range v.feeds {
		v.feeds[f] = feed{ticks: map[int64]core.IndexTick{}, last: -1, stale: true}
	}
	for _, s := range core.AllSeries() {
		v.lastStart[s.Category] = -1
	}
	return v
}

// Apply applies a command and returns what the venue should do. Stamps must rise.
func (v *Venue) Apply(at core.Stamp, cmd core.Command) Outcome {
	v.now, v.out, v.filledIn = at, newOutcome(), map[groupID]bool{}
	before := v.shown()
	v.out.Reject = v.apply(cmd)
	v.sweepClosed()
	v.closeBooks()
	for u, is := range v.shown() {
		if was, existed := before[u]; existed && is != was {
			v.out.Agents[u] = is.AgentChange
		}
	}
	return *v.out
}

func newOutcome() *Outcome {
	return &Outcome{Ended: map[core.OrderID]End{}, Transfers: map[Transfer]core.Pips{}, Agents: map[core.UserID]AgentChange{}, Ledger: map[core.UserID][]Row{}, Asks: map[uint64]core.AskChanged{}}
}

func (v *Venue) apply(cmd core.Command) core.Reject {
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		return v.place(*c)
	case *core.CancelOrder:
		return v.cancel(c)
	case *core.CancelAll:
		return v.cancelAll(c)
	case *core.DecreaseOrder:
		return v.once(c.User, c.RequestID, func() core.Reject { return v.decrease(c) })
	case *core.ReplaceOrder:
		return v.replace(c)
	case *core.QuoteSide:
		return v.quoteSide(*c)
	case *core.BindOrders:
		return v.bind(c)
	case *core.EndConnection:
		v.end(func(id groupID, l core.Line) bool { return id.user == c.User && l == c.Line })
	case *core.Beat:
		v.beat(c.Node, c.Session)
	case *core.SubmitForecast:
		return v.forecast(c)
	case *core.ArmDeadman:
		return v.arm(c.User, c.Group, c.TimeoutMs)
	case *core.DisarmDeadman:
		return v.arm(c.User, c.Group, 0)
	case *core.Redeem:
		return v.once(c.User, c.RequestID, func() core.Reject { return v.redeem(c) })
	case *core.Deposit:
		return v.deposit(*c)
	case *core.RequestWithdrawal:
		return v.withdraw(c)
	case *core.SetGroup:
		return v.setGroup(c)
	case *core.ResetGroup:
		return v.resetGroup(c)
	case *core.DeleteGroup:
		return v.deleteGroup(c)
	case *core.DecideWithdrawal:
		return v.decide(c)
	case *core.Clock:
		v.advance()
	case *core.PostIndex:
		v.advance()
		v.index(c.Tick)
	case *core.SetSession:
		if !v.hasFeed(c.Feed) {
			return core.OK
		}
		f := &v.feeds[c.Feed]
		f.open, f.until = c.Open, c.Until
	case *core.SetRules:
		v.setRules(c.Rules)
	case *core.ActivateRules:
		v.activate(c.Revision)
		if len(v.settings) == 0 && v.rules.Revision >= core.RevisionSteps {
			for _, s := range c.Settings {
				v.settings[s.Name] = s.Value
			}
		}
		if v.rules.Environment == 0 {
			v.rules.Environment = c.Environment
		}
	case *core.SetFees:
		return v.setFees(c.Fees)
	case *core.SetSchedule:
		v.windows = c.Windows
	case *core.CreateUser:
		return v.createUser(c)
	case *core.SuspendUser:
		return v.suspend(c)
	case *core.PauseMarket:
		return v.pause(c)
	case *core.VoidMarket:
		return v.voidMarket(c)
	case *core.ProposePrice:
		return v.proposePrice(c)
	case *core.CreateKey:
		return v.createKey(c)
	case *core.RevokeKey:
		return v.revokeKey(c)
	case *core.RenewGrant:
		return v.renewGrant(c)
	case *core.ResealKey:
		return v.resealKey(c)
	case *core.CreateAgent:
		return v.createAgent(c)
	case *core.Transfer:
		return v.transfer(*c)
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
	case *core.AddOperator:
		return v.addOperator(c)
	case *core.RevokeOperator:
		v.revokeOperator(c.Name)
	case *core.DropApproval:
		return v.dropApproval(c.Approval)
	case *core.ChangeSetting:
		return v.changeSetting(c)
	case *core.RequestApproval:
		return v.requestApproval(c)
	case *core.DecideApproval:
		return v.decideApproval(c)
	case *core.ResetToken:
		return v.resetToken(c)
	case *core.CancelUserOrders:
		return v.cancelUserOrders(c)
	case *core.Marked:
		v.marks = append(v.keptMarks(v.now.Ts), mark{c.Mark, c.SignedAt})
		return v.apply(c.Command)
	case *core.Checkpoint, *core.Attest:
	default:
		panic("the model does not know the type of a command")
	}
	return core.OK
}

// once executes a command under a client_request_id, which is used up unless the command is rejected
// (docs/rules/orders.md#client-request-id).
func (v *Venue) once(u core.UserID, id uint64, do func() core.Reject) core.Reject {
	if v.requests[request{u, id}] {
		return core.DuplicateClientRequestID
	}
	r := do()
	if r == core.OK && id != 0 && v.rules.Revision >= core.RevisionMakers {
		v.requests[request{u, id}] = true
	}
	return r
}

func (v *Venue) userExists(u core.UserID) bool { return u > 0 && int(u) < len(v.users) }

// copy returns an independent copy for a trial match; it has no used client_order_ids.
func (v *Venue) copy() *Venue {
	w := *v
	w.users = slices.Clone(v.users)
	for i := range w.users {
		u := &w.users[i]
		u.held, u.realizedOn, u.used = maps.Clone(u.held), maps.Clone(u.realizedOn), nil
	}
	w.orders, w.markets = maps.Clone(v.orders), maps.Clone(v.markets)
	w.groups, w.filledIn = maps.Clone(v.groups), map[groupID]bool{}
	w.out = newOutcome()
	return &w
}
