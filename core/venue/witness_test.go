package venue

import (
	"maps"
	"slices"

	"duplex/core"
)

// witness follows a venue by its events alone, as its readers do, and holds them
// against the commands and against what the venue answers.
type witness struct {
	fatalf   func(string, ...any)
	orders   map[core.OrderID]*seen
	levels   map[level]core.Qty
	balances map[core.UserID][2]core.Pips
	held     map[holder]core.Position
	rounds   map[core.MarketID]core.Round
	users    map[core.UserID]core.User
	keys     []core.Key
	paid     []*core.AccountSettled // until their round's end is told
}

// seen is a resting order.
type seen struct {
	core.PlaceOrder
	generation uint32
	left       core.Qty
	unit       core.Pips // reserved per contract
	clipped    bool      // lowered by another's order: reduce_only took contracts
}

type level struct {
	market core.MarketID
	bid    bool
	tick   core.Tick
}

type holder struct {
	user   core.UserID
	market core.MarketID
}

func newWitness(fatalf func(string, ...any)) *witness {
	return &witness{
		fatalf: fatalf, orders: map[core.OrderID]*seen{}, levels: map[level]core.Qty{}, balances: map[core.UserID][2]core.Pips{},
		held: map[holder]core.Position{}, rounds: map[core.MarketID]core.Round{}, users: map[core.UserID]core.User{},
	}
}

func (w *witness) hold(ok bool, e any, why string) {
	if !ok {
		w.fatalf("%s: %T %+v", why, e, e)
	}
}

// saw takes in one command with what it did. fees are those before it.
func (w *witness) saw(v *Venue, st core.Stamp, fees core.Fees, cmd core.Command, r core.Reject, ev *core.Events) {
	for _, e := range ev.List {
		w.event(st, fees, cmd, r, e)
	}
	w.hold(len(w.paid) == 0, w.paid, "paid for a round that did not end")
	w.agree(v)
}

func (w *witness) event(st core.Stamp, fees core.Fees, cmd core.Command, r core.Reject, e core.Event) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		w.placed(st, fees, cmd, r, e)
	case *core.Filled:
		w.filled(st, fees, e)
	case *core.OrderClosed:
		o := w.order(e.Order, e)
		w.hold(o.User == e.User && o.left == e.Left, e, "closed otherwise than it stood")
		w.hold((e.Status == core.Expired) == (e.Reason == core.ExpiryReached) && (e.Status == core.Canceled || e.Status == core.Expired), e, "status and reason differ")
		w.hold(!o.clipped || e.Status == core.Canceled && e.Reason == core.ReduceOnlyExceeded, e, "clipped, and ended for another reason")
		delete(w.orders, e.Order)
	case *core.OrderDecreased:
		o := w.order(e.Order, e)
		w.hold(o.User == e.User && 0 < e.Left && e.Left < o.left, e, "not lowered")
		o.left = e.Left
		if c, ok := cmd.(*core.PlaceOrder); ok {
			w.hold(o.Flags.Has(core.ReduceOnly) && o.User != c.User, e, "lowered by a placement")
			o.clipped = true
		}
	case *core.LevelChanged:
		k := level{e.Market, e.Bid, e.Tick}
		w.levels[k] += e.Delta
		w.hold(w.levels[k] == e.Qty && e.Qty >= 0 && e.Generation == w.rounds[e.Market].Generation, e, "a level that does not add up")
		if e.Qty == 0 {
			delete(w.levels, k)
		}
	case *core.BalanceChanged:
		w.hold(w.balances[e.User][0]+e.Change == e.Cash, e, "cash that does not add up")
		w.balances[e.User] = [2]core.Pips{e.Cash, e.Reserved}
	case *core.PositionChanged:
		m := w.rounds[e.Position.Market]
		w.hold(e.Position.Generation == m.Generation && e.Position.Number == m.Number, e, "of another life")
		w.held[holder{e.User, e.Position.Market}] = e.Position
	case *core.RoundChanged:
		w.round(st, cmd, &e.Round)
	case *core.AccountSettled:
		w.paid = append(w.paid, e)
	default:
		w.rare(st, cmd, e)
	}
}

func (w *witness) order(id core.OrderID, e any) *seen {
	o := w.orders[id]
	w.hold(o != nil, e, "no such order")
	return o
}

func (w *witness) placed(st core.Stamp, fees core.Fees, cmd core.Command, r core.Reject, e *core.OrderPlaced) {
	w.hold(e.Place == cmd && e.Reject == r && e.Generation == w.rounds[e.Place.Market].Generation, e, "not the order that was placed")
	if r == core.OK {
		w.orders[core.OrderID(st.Seq)] = &seen{*e.Place, e.Generation, e.Place.Qty, core.ReservationPerContract(fees.Maker, e.Place.Tick), false}
	}
}

func (w *witness) filled(st core.Stamp, fees core.Fees, e *core.Filled) {
	t, m := w.order(e.Taker, e), w.order(e.Maker, e)
	w.hold(e.Taker == core.OrderID(st.Seq), e, "a taker of another command")
	w.hold(e.TakerUser == t.User && e.TakerSide == t.Side && e.TakerOutcome == t.Outcome, e, "not the taker")
	w.hold(e.MakerUser == m.User && e.MakerSide == m.Side && e.MakerOutcome == m.Outcome, e, "not the maker")
	w.hold(t.User != m.User && t.Market == m.Market && e.Market == t.Market, e, "no such meeting")
	w.hold(e.Generation == t.generation && e.Generation == m.generation, e, "of another life")
	w.hold(e.TickYes == core.InYes(m.Outcome, m.Tick) && e.Path == core.PathOf(t.Side, m.Side), e, "not at the maker's price, or of another path")
	w.hold(e.Qty > 0 && e.Qty <= t.left && e.Qty <= m.left && e.MakerLeft == m.left-e.Qty, e, "quantities that do not add up")
	w.hold(e.TakerFee == core.Fee(fees.Taker, e.Qty, e.TickYes), e, "taker fee")
	w.hold(e.Rebate == core.Percent(e.TakerFee, fees.RebatePct), e, "rebate")
	referral := core.Pips(0)
	if w.users[t.User].Referrer != 0 {
		referral = core.Percent(e.TakerFee, fees.ReferPct)
	}
	w.hold(e.Referral == referral, e, "referral")
	t.left -= e.Qty
	m.left -= e.Qty
	w.hold((e.MakerReason == core.ReduceOnlyExceeded) == (m.left == 0 && m.clipped) && (e.MakerReason == core.NoReason || m.clipped), e, "clipped or not, the maker ended otherwise")
	for id, o := range map[core.OrderID]*seen{e.Taker: t, e.Maker: m} {
		if o.left == 0 {
			delete(w.orders, id)
		}
	}
}

// round holds a round to the transitions of docs/rules/rounds.md.
func (w *witness) round(st core.Stamp, cmd core.Command, r *core.Round) {
	was := w.rounds[r.Market]
	_, byOperator := cmd.(*core.ProposePrice)
	switch {
	case was.Status == core.NeverOpened || was.Status.Final():
		s := core.AllSeries()[r.Category-1]
		w.hold(r.Status == core.Trading && r.Generation == was.Generation+1 && r.OpenTs == st.Ts && r.Winner == core.NoOutcome, r, "not opened")
		w.hold(r.Feed == s.Feed && r.Window == s.Window && r.CloseTs%(s.Cadence*60*core.NsPerSec) == 0 && r.CloseTs > st.Ts, r, "not of its series")
		for _, o := range w.rounds {
			w.hold(o.Number < r.Number && (o.Category != r.Category || o.Status != core.Trading), r, "a number or a series that another round has")
		}
	case r.Status == core.Trading:
		w.hold(was.Status == core.Trading, r, "traded again")
	case r.Status == core.Frozen:
		w.hold(was.Status == core.Trading && r.FreezeTs == st.Ts && r.CloseTs <= st.Ts, r, "not frozen")
	case r.Status == core.Proposed:
		yes := r.Settle > r.Strike
		w.hold((was.Status == core.Frozen || was.Status == core.Proposed) && r.ProposedTs == st.Ts && r.Gen == was.Gen+1 && r.ByOperator == byOperator, r, "not proposed")
		w.hold(yes == (r.Winner == core.Yes) && yes != (r.Winner == core.No), r, "not the winner")
	case r.Status == core.Settled:
		w.hold(was.Status == core.Proposed && r.ResolveTs == st.Ts && r.Winner == was.Winner, r, "not settled")
	default:
		w.hold(!was.Status.Final() && r.ResolveTs == st.Ts && r.Winner == core.NoOutcome, r, "not void")
	}
	w.hold(was.Generation != r.Generation || was.Number == r.Number && was.Strike == r.Strike && was.Gen <= r.Gen && was.OpenTs == r.OpenTs, r, "another round")
	if was.Generation != r.Generation {
		maps.DeleteFunc(w.held, func(k holder, _ core.Position) bool { return k.market == r.Market })
	}
	w.rounds[r.Market] = *r
	if r.Status.Final() {
		w.over(r)
	}
}

// over holds what a round's end paid against what was held.
func (w *witness) over(r *core.Round) {
	for _, p := range w.paid {
		k := holder{p.User, r.Market}
		h := w.held[k]
		w.hold(p.Market == r.Market && p.Generation == r.Generation && p.Number == r.Number && p.Status == r.Status && p.Winner == r.Winner, p, "not of this round")
		w.hold(p.Yes == h.Yes && p.No == h.No && p.Yes+p.No > 0, p, "paid for what was not held")
		want := core.Pips(p.Yes+p.No) * core.VoidPayout
		switch r.Winner {
		case core.Yes:
			want = core.Pips(p.Yes) * core.Payout
		case core.No:
			want = core.Pips(p.No) * core.Payout
		}
		w.hold(p.Payout == want, p, "not what it is worth")
		delete(w.held, k)
	}
	w.paid = nil
	for k, h := range w.held {
		w.hold(k.market != r.Market || h.Yes+h.No == 0, h, "not paid")
	}
	for _, o := range w.orders {
		w.hold(o.Market != r.Market, o, "rests in a round that is over")
	}
}

func (w *witness) rare(st core.Stamp, cmd core.Command, e core.Event) {
	switch e := e.(type) {
	case *core.Redeemed:
		c := cmd.(*core.Redeem)
		w.hold(*e == core.Redeemed{User: c.User, Market: c.Market, Generation: w.rounds[c.Market].Generation, Qty: c.Qty, Credit: core.Pips(c.Qty) * core.Payout}, e, "redeemed")
	case *core.Indexed:
		w.hold(e.Tick.Second == cmd.(*core.PostIndex).Tick.Second && e.Tick.Price == cmd.(*core.PostIndex).Tick.Price, e, "another tick")
	case *core.SessionChanged:
		w.hold(*e == core.SessionChanged(*cmd.(*core.SetSession)), e, "session")
	case *core.DeadmanChanged:
		w.deadman(st, cmd, e)
	case *core.Deposited:
		c := cmd.(*core.Deposit)
		w.hold(*e == core.Deposited{User: c.User, DepositID: c.DepositID, Amount: c.Amount}, e, "deposited")
	case *core.WithdrawalChanged:
		w.withdrawal(st, cmd, &e.Withdrawal)
	case *core.UserChanged:
		w.users[e.User.ID] = e.User
	case *core.KeyChanged:
		i := slices.IndexFunc(w.keys, func(k core.Key) bool { return k.ID == e.Key.ID })
		if i < 0 {
			w.keys = append(w.keys, e.Key)
		} else {
			w.keys[i] = e.Key
		}
	case *core.FeesChanged:
		w.hold(e.Fees == cmd.(*core.SetFees).Fees, e, "fees")
	case *core.ScheduleChanged:
		w.hold(slices.Equal(e.Windows, cmd.(*core.SetSchedule).Windows), e, "schedule")
	}
}

func (w *witness) deadman(st core.Stamp, cmd core.Command, e *core.DeadmanChanged) {
	switch c := cmd.(type) {
	case *core.ArmDeadman:
		w.hold(*e == core.DeadmanChanged{User: c.User, Armed: true, TimeoutMs: c.TimeoutMs, Deadline: st.Ts + int64(c.TimeoutMs)*core.NsPerMs}, e, "armed")
	case *core.DisarmDeadman:
		w.hold(*e == core.DeadmanChanged{User: c.User}, e, "disarmed")
	default:
		w.hold(*e == core.DeadmanChanged{User: e.User, Fired: true}, e, "fired")
		for _, o := range w.orders {
			w.hold(o.User != e.User, o, "rests after its switch fired")
		}
	}
}

func (w *witness) withdrawal(st core.Stamp, cmd core.Command, x *core.Withdrawal) {
	switch c := cmd.(type) {
	case *core.RequestWithdrawal:
		w.hold(x.User == c.User && x.ClientID == c.ClientID && x.Amount == c.Amount && x.Destination == c.Destination, x, "another withdrawal")
		w.hold(x.ID == st.Seq && x.Seq == st.Seq && x.Ts == st.Ts && x.Status == core.WithdrawalPending || x.ID < st.Seq && x.Ts < st.Ts, x, "asked for at another time")
	case *core.DecideWithdrawal:
		w.hold(x.ID == c.Withdrawal && x.Seq == st.Seq && x.Ts == st.Ts && (x.Status == core.WithdrawalCompleted) == c.Complete && x.Status != core.WithdrawalPending, x, "not decided")
	}
}

// agree holds what the events came to against what the venue answers.
func (w *witness) agree(v *Venue) {
	w.hold(v.Resting() == len(w.orders), v.Resting(), "other orders rest")
	levels := map[level]core.Qty{}
	for m, r := range w.rounds {
		s, ok := v.Market(m)
		w.hold(ok && s.Round == r || s.Round.Paused != r.Paused, s.Round, "another round")
		for _, bid := range []bool{true, false} {
			for l := range s.Book.Levels(bid) {
				levels[level{m, bid, l.Tick}] = l.Qty
			}
		}
	}
	w.hold(maps.Equal(levels, w.levels), levels, "another book")
	reserved := map[core.UserID]core.Pips{}
	for _, o := range w.orders {
		if o.Side == core.Buy {
			reserved[o.User] += core.Pips(o.left) * o.unit
		}
	}
	for u := range v.Users() {
		w.hold(u == w.users[u.ID], u, "another user")
		cash, held := v.Balance(u.ID)
		w.hold(w.balances[u.ID] == [2]core.Pips{cash, held}, u, "another balance")
		w.hold(reserved[u.ID] == held, u, "reserved for other than what rests")
	}
	for k, p := range w.held {
		w.hold(v.Position(k.user, k.market) == p, p, "another position")
	}
	if v.Rules().Revision >= core.RevisionStrict {
		w.keys = slices.DeleteFunc(w.keys, func(k core.Key) bool { return k.Revoked })
	}
	w.hold(slices.EqualFunc(slices.Collect(v.Keys()), w.keys, sameKey), w.keys, "other keys")
}

func sameKey(a, b core.Key) bool {
	return a.ID == b.ID && a.User == b.User && a.Scopes == b.Scopes && a.Label == b.Label && string(a.Sealed) == string(b.Sealed) && a.Created == b.Created && a.Revoked == b.Revoked
}
