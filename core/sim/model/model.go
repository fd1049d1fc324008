package model

import (
	"maps"
	"math/big"
	"slices"

	"duplex/core"
)

// slots is the number of market slots.
const slots = 32

// Venue is the state of the model.
type Venue struct {
	now          core.Stamp
	rules        core.Rules
	fees         core.Fees
	windows      []core.Window
	users        []user // by id; 0 is no account
	orders       map[core.OrderID]order
	markets      map[core.MarketID]market
	free         []core.MarketID // free slots, the longest free first
	feeds        [core.Feeds]feed
	last         map[uint16]int64 // by series: start of its last round's period, ns
	rounds       uint64
	keys         map[string]key // by id
	depositsByID map[string]core.Deposit
	requests     map[uint64]core.Withdrawal

	collected, deposits, withdrawals *big.Int // pips; collected are fees

	out *Outcome
}

type user struct {
	cash      *big.Int
	held      map[lot]stake
	used      map[uint64]bool
	referrer  core.UserID
	suspended bool
	timeout   uint32
	deadline  int64
}

// lot is one outcome of one market.
type lot struct {
	market  core.MarketID
	outcome core.Outcome
}

// stake is how many contracts of a lot a user holds, and what they cost with fees.
type stake struct {
	n    core.Qty
	cost *big.Int
}

type key struct {
	user    core.UserID
	sealed  string // the sealed secret
	revoked bool
}

// order is a resting order.
type order struct {
	id core.OrderID
	core.PlaceOrder
	left    core.Qty
	maker   core.Rate // the maker rate when it was placed
	clipped bool      // reduce_only canceled part of it
}

type market struct {
	core.Round
	halted   bool
	lastTick core.Tick
	volume   core.Qty
}

type feed struct {
	ticks map[int64]core.IndexTick // by second
	last  int64                    // the newest second
	fresh int64                    // stamp of the last tick with a fresh source
	stale bool
	open  bool
	until int64
}

// Fill is one expected fill.
type Fill struct {
	Maker                                core.OrderID
	TickYes                              core.Tick
	Qty                                  core.Qty
	Path                                 core.Path
	TakerFee, MakerFee, Rebate, Referral core.Pips
}

// End is the expected end of an order that was canceled or expired.
type End struct {
	Status core.OrderStatus
	Reason core.Reason
	Left   core.Qty
}

// Outcome is the expected result of a command: its rejection, fills and ended orders.
type Outcome struct {
	Reject core.Reject
	Fills  []Fill
	Ended  map[core.OrderID]End
}

// New returns an empty venue.
func New() *Venue {
	rules := core.DefaultRules()
	rules.Revision = core.RevisionFirst // until the first SetRules
	v := &Venue{
		rules: rules, fees: core.Fees{Taker: 250}, users: make([]user, 1), orders: map[core.OrderID]order{},
		markets: map[core.MarketID]market{}, last: map[uint16]int64{}, keys: map[string]key{},
		depositsByID: map[string]core.Deposit{}, requests: map[uint64]core.Withdrawal{},
		collected: amount(0), deposits: amount(0), withdrawals: amount(0),
	}
	for m := core.MarketID(1); m <= slots; m++ {
		v.free = append(v.free, m)
	}
	for f := range v.feeds {
		v.feeds[f] = feed{ticks: map[int64]core.IndexTick{}, last: -1, stale: true}
	}
	for _, s := range core.AllSeries() {
		v.last[s.Category] = -1
	}
	return v
}

// Apply executes a command at its stamp and returns the expected result.
func (v *Venue) Apply(at core.Stamp, cmd core.Command) Outcome {
	v.now, v.out = at, &Outcome{Ended: map[core.OrderID]End{}}
	v.out.Reject = v.apply(cmd)
	return *v.out
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
		return v.decrease(c)
	case *core.ArmDeadman:
		return v.setDeadman(c.User, c.TimeoutMs)
	case *core.DisarmDeadman:
		return v.setDeadman(c.User, 0)
	case *core.Redeem:
		return v.redeem(c)
	case *core.Deposit:
		return v.deposit(*c)
	case *core.RequestWithdrawal:
		return v.requestWithdrawal(c)
	case *core.DecideWithdrawal:
		return v.decideWithdrawal(c)
	case *core.Clock:
		v.advance()
	case *core.PostIndex:
		v.advance()
		v.applyIndexTick(c.Tick)
	case *core.SetSession:
		f := &v.feeds[c.Feed]
		f.open, f.until = c.Open, c.Until
	case *core.SetRules:
		v.rules = c.Rules
		v.removeRevokedKeys()
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
	case *core.ResealKey:
		return v.resealKey(c)
	case *core.Checkpoint:
	default:
		panic("unknown command type")
	}
	return core.OK
}

func (v *Venue) userExists(u core.UserID) bool { return u > 0 && int(u) < len(v.users) }

// copy returns an independent venue in the same state, on which match can be tried.
func (v *Venue) copy() *Venue {
	w := *v
	w.users = slices.Clone(v.users)
	for i := range w.users {
		w.users[i].held, w.users[i].used = maps.Clone(w.users[i].held), nil
	}
	w.orders, w.markets = maps.Clone(v.orders), maps.Clone(v.markets)
	w.out = &Outcome{Ended: map[core.OrderID]End{}}
	return &w
}
