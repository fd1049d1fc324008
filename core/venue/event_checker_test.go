package venue

import (
	"maps"
	"slices"

	"duplex/core"
)

// eventChecker rebuilds a venue's state from its events alone, as readers do, and compares it with the
// commands and with what the venue returns.
type eventChecker struct {
	fatalf   func(string, ...any)
	orders   map[core.OrderID]*restingOrder
	levels   map[level]core.Qty
	balances map[core.UserID][2]core.Pips
	held     map[holder]core.Position
	rounds   map[core.MarketID]core.Round
	users    map[core.UserID]core.User
	keys     []core.Key
	paid     []*core.AccountSettled // of a round whose end is not emitted yet
}

// restingOrder is a resting order as its events show it.
type restingOrder struct {
	core.PlaceOrder
	generation uint32
	left       core.Qty
	unit       core.Pips // reserved per contract
	clipped    bool      // reduced by another account's order, as reduce_only required
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

func newEventChecker(fatalf func(string, ...any)) *eventChecker {
	return &eventChecker{
		fatalf: fatalf, orders: map[core.OrderID]*restingOrder{}, levels: map[level]core.Qty{}, balances: map[core.UserID][2]core.Pips{},
		held: map[holder]core.Position{}, rounds: map[core.MarketID]core.Round{}, users: map[core.UserID]core.User{},
	}
}

// require fails the test unless ok.
func (w *eventChecker) require(ok bool, e any, why string) {
	if !ok {
		w.fatalf("%s: %T %+v", why, e, e)
	}
}

// check follows one command with its result and events. fees are those in force before it.
func (w *eventChecker) check(v *Venue, st core.Stamp, fees core.Fees, cmd core.Command, r core.Reject, ev *core.Events) {
	for _, e := range ev.List {
		w.event(st, fees, cmd, r, e)
	}
	w.require(len(w.paid) == 0, w.paid, "paid for a round that did not end")
	w.compare(v)
}

func (w *eventChecker) event(st core.Stamp, fees core.Fees, cmd core.Command, r core.Reject, e core.Event) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		w.placed(st, fees, cmd, r, e)
	case *core.Filled:
		w.filled(st, fees, e)
	case *core.OrderClosed:
		o := w.order(e.Order, e)
		w.require(o.User == e.User && o.left == e.Left, e, "not the order's user or quantity")
		w.require((e.Status == core.Expired) == (e.Reason == core.ExpiryReached) && (e.Status == core.Canceled || e.Status == core.Expired), e, "status and reason differ")
		w.require(!o.clipped || e.Status == core.Canceled && e.Reason == core.ReduceOnlyExceeded, e, "clipped, but ended for another reason")
		delete(w.orders, e.Order)
	case *core.OrderDecreased:
		o := w.order(e.Order, e)
		w.require(o.User == e.User && 0 < e.Left && e.Left < o.left, e, "not reduced")
		o.left = e.Left
		if _, quotes := cmd.(*core.QuoteSide); quotes {
			w.require(o.Flags == core.QuoteFlags, e, "a quote keeps an order on other terms")
		} else if c := core.PlacementOf(cmd); c != nil {
			w.require(o.Flags.Has(core.ReduceOnly) && o.User != c.User, e, "reduced by a placement without reduce_only")
			o.clipped = true
		}
	case *core.Quoted:
		w.quoted(st, cmd.(*core.QuoteSide), e)
	case *core.LevelChanged:
		k := level{e.Market, e.Bid, e.Tick}
		w.levels[k] += e.Delta
		w.require(w.levels[k] == e.Qty && e.Qty >= 0 && e.Generation == w.rounds[e.Market].Generation, e, "wrong level total")
		if e.Qty == 0 {
			delete(w.levels, k)
		}
	case *core.BalanceChanged:
		w.require(w.balances[e.User][0]+e.Change == e.Cash, e, "wrong cash")
		w.balances[e.User] = [2]core.Pips{e.Cash, e.Reserved}
	case *core.PositionChanged:
		m := w.rounds[e.Position.Market]
		w.require(e.Position.Generation == m.Generation && e.Position.Number == m.Number, e, "of another round")
		w.held[holder{e.User, e.Position.Market}] = e.Position
	case *core.RoundChanged:
		w.round(st, cmd, &e.Round)
	case *core.AccountSettled:
		w.paid = append(w.paid, e)
	default:
		w.other(st, cmd, e)
	}
}

func (w *eventChecker) order(id core.OrderID, e any) *restingOrder {
	o := w.orders[id]
	w.require(o != nil, e, "no such order")
	return o
}

func (w *eventChecker) placed(st core.Stamp, fees core.Fees, cmd core.Command, r core.Reject, e *core.OrderPlaced) {
	want := *core.PlacementOf(cmd)
	if c, ok := cmd.(*core.ReplaceOrder); ok && e.Place.Qty != c.Qty {
		lost := c.Qty - e.Place.Qty
		w.require(0 < lost && lost < c.Seen, e, "not less by what the old order lost")
		want.Qty -= lost
	}
	if c, ok := cmd.(*core.QuoteSide); ok {
		w.require(e.Place.Flags == core.QuoteFlags && e.Place.TIF == core.GTC && e.Place.Type == core.Limit, e, "not on the terms of a quote")
		w.require(core.InYes(e.Place.Outcome, e.Place.Tick) == c.Tick && core.IsBid(e.Place.Side, e.Place.Outcome) == (c.Side == core.Buy), e, "not the price of the quote")
		want.Type, want.TIF, want.Flags = e.Place.Type, e.Place.TIF, e.Place.Flags
		want.Side, want.Outcome, want.Tick = e.Place.Side, e.Place.Outcome, e.Place.Tick
	}
	w.require(*e.Place == want && e.Reject == r && e.Generation == w.rounds[e.Place.Market].Generation, e, "not the order that was placed")
	if r == core.OK {
		w.orders[core.OrderID(st.Seq)] = &restingOrder{*e.Place, e.Generation, e.Place.Qty, core.ReservationPerContract(fees.Maker, e.Place.Tick), false}
	}
}

// quoted checks that what rests of a group on the side of a quote is the order of the quote.
func (w *eventChecker) quoted(st core.Stamp, c *core.QuoteSide, e *core.Quoted) {
	w.require(e.User == c.User, e, "of another account")
	var rests []core.OrderID
	for id, o := range w.orders {
		if o.User == c.User && o.Market == c.Market && o.Group == c.Group && core.IsBid(o.Side, o.Outcome) == (c.Side == core.Buy) {
			rests = append(rests, id)
		}
	}
	if c.Cancel || e.Reason != core.NoReason {
		w.require(len(rests) == 0, e, "orders are left of an empty quote")
		return
	}
	w.require(len(rests) == 1 && rests[0] == e.Order, e, "not its order alone rests")
	o := w.order(e.Order, e)
	w.require(o.left == c.Qty && e.Left == c.Qty && core.InYes(o.Outcome, o.Tick) == c.Tick, e, "not the quantity and the price of the quote")
	w.require(e.Kept == (e.Order != core.OrderID(st.Seq)), e, "kept")
}

func (w *eventChecker) filled(st core.Stamp, fees core.Fees, e *core.Filled) {
	t, m := w.order(e.Taker, e), w.order(e.Maker, e)
	w.require(e.Taker == core.OrderID(st.Seq), e, "a taker of another command")
	w.require(e.TakerUser == t.User && e.TakerSide == t.Side && e.TakerOutcome == t.Outcome, e, "not the taker")
	w.require(e.MakerUser == m.User && e.MakerSide == m.Side && e.MakerOutcome == m.Outcome, e, "not the maker")
	w.require(t.User != m.User && t.Market == m.Market && e.Market == t.Market, e, "orders that cannot match")
	w.require(e.Generation == t.generation && e.Generation == m.generation, e, "of another round")
	w.require(e.TickYes == core.InYes(m.Outcome, m.Tick) && e.Path == core.PathOf(t.Side, m.Side), e, "wrong price or path")
	w.require(e.Qty > 0 && e.Qty <= t.left && e.Qty <= m.left && e.MakerLeft == m.left-e.Qty, e, "wrong quantities")
	w.require(e.TakerFee == core.Fee(fees.Taker, e.Qty, e.TickYes), e, "taker fee")
	w.require(e.Rebate == core.Percent(e.TakerFee, fees.RebatePct), e, "rebate")
	referral := core.Pips(0)
	if w.users[t.User].Referrer != 0 {
		referral = core.Percent(e.TakerFee, fees.ReferPct)
	}
	w.require(e.Referral == referral, e, "referral")
	t.left -= e.Qty
	m.left -= e.Qty
	w.require((e.MakerReason == core.ReduceOnlyExceeded) == (m.left == 0 && m.clipped) && (e.MakerReason == core.NoReason || m.clipped), e, "wrong reason of the maker's end")
	for id, o := range map[core.OrderID]*restingOrder{e.Taker: t, e.Maker: m} {
		if o.left == 0 {
			delete(w.orders, id)
		}
	}
}

// round checks a round's transition against docs/rules/rounds.md.
func (w *eventChecker) round(st core.Stamp, cmd core.Command, r *core.Round) {
	was := w.rounds[r.Market]
	_, byOperator := cmd.(*core.ProposePrice)
	switch {
	case was.Status == core.NeverOpened || was.Status.Final():
		s := core.AllSeries()[r.Category-1]
		w.require(r.Status == core.Trading && r.Generation == was.Generation+1 && r.OpenTs == st.Ts && r.Winner == core.NoOutcome, r, "not opened")
		w.require(r.Feed == s.Feed && r.Window == s.Window && r.CloseTs%(s.Cadence*60*core.NsPerSec) == 0 && r.CloseTs > st.Ts, r, "not of its series")
		for _, o := range w.rounds {
			w.require(o.Number < r.Number && (o.Category != r.Category || o.Status != core.Trading), r, "number or series in use by another round")
		}
	case r.Status == core.Trading:
		w.require(was.Status == core.Trading, r, "traded again")
	case r.Status == core.Frozen:
		w.require(was.Status == core.Trading && r.FreezeTs == st.Ts && r.CloseTs <= st.Ts, r, "not frozen")
	case r.Status == core.Proposed:
		yes := r.Settle > r.Strike
		w.require((was.Status == core.Frozen || was.Status == core.Proposed) && r.ProposedTs == st.Ts && r.Gen == was.Gen+1 && r.ByOperator == byOperator, r, "not proposed")
		w.require(yes == (r.Winner == core.Yes) && yes != (r.Winner == core.No), r, "not the winner")
	case r.Status == core.Settled:
		w.require(was.Status == core.Proposed && r.ResolveTs == st.Ts && r.Winner == was.Winner, r, "not settled")
	default:
		w.require(!was.Status.Final() && r.ResolveTs == st.Ts && r.Winner == core.NoOutcome, r, "not void")
	}
	w.require(was.Generation != r.Generation || was.Number == r.Number && was.Strike == r.Strike && was.Gen <= r.Gen && was.OpenTs == r.OpenTs, r, "another round")
	if was.Generation != r.Generation {
		maps.DeleteFunc(w.held, func(k holder, _ core.Position) bool { return k.market == r.Market })
	}
	w.rounds[r.Market] = *r
	if r.Status.Final() {
		w.ended(r)
	}
}

// ended checks the payouts of a round against the positions in it.
func (w *eventChecker) ended(r *core.Round) {
	for _, p := range w.paid {
		k := holder{p.User, r.Market}
		h := w.held[k]
		w.require(p.Market == r.Market && p.Generation == r.Generation && p.Number == r.Number && p.Status == r.Status && p.Winner == r.Winner, p, "not of this round")
		w.require(p.Yes == h.Yes && p.No == h.No && p.Yes+p.No > 0, p, "paid for a position that was not held")
		want := core.Pips(p.Yes+p.No) * core.VoidPayout
		switch r.Winner {
		case core.Yes:
			want = core.Pips(p.Yes) * core.Payout
		case core.No:
			want = core.Pips(p.No) * core.Payout
		}
		w.require(p.Payout == want, p, "wrong payout")
		delete(w.held, k)
	}
	w.paid = nil
	for k, h := range w.held {
		w.require(k.market != r.Market || h.Yes+h.No == 0, h, "not paid")
	}
	for _, o := range w.orders {
		w.require(o.Market != r.Market, o, "rests in a round that has ended")
	}
}

func (w *eventChecker) other(st core.Stamp, cmd core.Command, e core.Event) {
	switch e := e.(type) {
	case *core.Redeemed:
		c := cmd.(*core.Redeem)
		w.require(*e == core.Redeemed{User: c.User, Market: c.Market, Generation: w.rounds[c.Market].Generation, Qty: c.Qty, Credit: core.Pips(c.Qty) * core.Payout, RequestID: c.RequestID}, e, "redeemed")
	case *core.ForecastSubmitted:
		c, m := cmd.(*core.SubmitForecast), w.rounds[e.Market]
		w.require(*e == core.ForecastSubmitted{User: c.User, Market: c.Market, Generation: c.Generation, P: c.P}, e, "another forecast")
		w.require(m.Status == core.Trading && m.Generation == e.Generation && st.Ts < m.CloseTs, e, "of a round that does not trade")
	case *core.Indexed:
		w.require(e.Tick.Second == cmd.(*core.PostIndex).Tick.Second && e.Tick.Price == cmd.(*core.PostIndex).Tick.Price, e, "another tick")
	case *core.SessionChanged:
		w.require(*e == core.SessionChanged(*cmd.(*core.SetSession)), e, "session")
	case *core.DeadmanChanged:
		w.deadman(st, cmd, e)
	case *core.GroupChanged:
		_, set := cmd.(*core.SetGroup)
		_, reset := cmd.(*core.ResetGroup)
		_, deleted := cmd.(*core.DeleteGroup)
		switch cmd.(type) { // these change the connection: they leave the row, or take it away
		case *core.BindOrders, *core.EndConnection, *core.Beat, *core.Clock, *core.PostIndex:
			set, deleted = e.Change == core.GroupSet, e.Change == core.GroupDeleted
			w.require(!deleted || e.Group == core.Group{ID: e.Group.ID}, e, "a row that is gone says something")
		}
		w.require(set == (e.Change == core.GroupSet) && reset == (e.Change == core.GroupReset) && deleted == (e.Change == core.GroupDeleted), e, "by another command")
		w.require(e.Change != core.GroupTrip || e.Group.Tripped && e.Group.Filled >= e.Group.FillLimit, e, "tripped below its bound")
	case *core.Deposited:
		c, ok := cmd.(*core.Deposit)
		if !ok { // an approval
			return
		}
		w.require(*e == core.Deposited{User: c.User, DepositID: c.DepositID, Amount: c.Amount}, e, "deposited")
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
		want := core.Fees{}
		switch c := cmd.(type) {
		case *core.SetFees:
			want = c.Fees
		case *core.DecideApproval:
			want = c.Action.Fees
		}
		w.require(e.Fees == want, e, "fees")
	case *core.ScheduleChanged:
		w.require(slices.Equal(e.Windows, cmd.(*core.SetSchedule).Windows), e, "schedule")
	}
}

func (w *eventChecker) deadman(st core.Stamp, cmd core.Command, e *core.DeadmanChanged) {
	switch c := cmd.(type) {
	case *core.ArmDeadman:
		w.require(*e == core.DeadmanChanged{User: c.User, Group: c.Group, Armed: true, TimeoutMs: c.TimeoutMs, Deadline: st.Ts + int64(c.TimeoutMs)*core.NsPerMs}, e, "armed")
	case *core.DisarmDeadman:
		w.require(*e == core.DeadmanChanged{User: c.User, Group: c.Group}, e, "disarmed")
	default:
		w.require(*e == core.DeadmanChanged{User: e.User, Group: e.Group, Fired: true}, e, "fired")
		for _, o := range w.orders {
			w.require(o.User != e.User || e.Group != 0 && o.Group != e.Group, o, "rests after its switch fired")
		}
	}
}

func (w *eventChecker) withdrawal(st core.Stamp, cmd core.Command, x *core.Withdrawal) {
	switch c := cmd.(type) {
	case *core.RequestWithdrawal:
		w.require(x.User == c.User && x.ClientID == c.ClientID && x.Amount == c.Amount && x.Destination == c.Destination, x, "another withdrawal")
		w.require(x.ID == st.Seq && x.Seq == st.Seq && x.Ts == st.Ts && x.State == core.WithdrawalPending || x.ID < st.Seq && x.Ts < st.Ts, x, "wrong time of request")
	case *core.DecideWithdrawal:
		w.require(x.ID == c.Withdrawal && x.State == c.Step() && (x.Seq == st.Seq && x.Ts == st.Ts || x.Seq < st.Seq && x.Ts < st.Ts), x, "not decided")
	}
}

// compare compares the state rebuilt from events with the venue's.
func (w *eventChecker) compare(v *Venue) {
	w.require(v.Resting() == len(w.orders), v.Resting(), "other orders rest")
	levels := map[level]core.Qty{}
	for m, r := range w.rounds {
		s, ok := v.Market(m)
		w.require(ok && s.Round == r || s.Round.Paused != r.Paused, s.Round, "another round")
		for _, bid := range []bool{true, false} {
			for l := range s.Book.Levels(bid) {
				levels[level{m, bid, l.Tick}] = l.Qty
			}
		}
	}
	w.require(maps.Equal(levels, w.levels), levels, "another book")
	reserved := map[core.UserID]core.Pips{}
	for _, o := range w.orders {
		if o.Side == core.Buy {
			reserved[o.User] += core.Pips(o.left) * o.unit
		}
	}
	for u := range v.Users() {
		w.require(u == w.users[u.ID], u, "another user")
		cash, held := v.Balance(u.ID)
		w.require(w.balances[u.ID] == [2]core.Pips{cash, held}, u, "another balance")
		w.require(reserved[u.ID] == held, u, "reservation differs from the resting orders")
	}
	for k, p := range w.held {
		w.require(v.Position(k.user, k.market) == p, p, "another position")
	}
	w.keys = slices.DeleteFunc(w.keys, func(k core.Key) bool { return k.Revoked })
	w.require(slices.EqualFunc(slices.Collect(v.Keys()), w.keys, sameKey), w.keys, "other keys")
}

func sameKey(a, b core.Key) bool {
	return a.ID == b.ID && a.User == b.User && a.Scopes == b.Scopes && a.Label == b.Label && string(a.Sealed) == string(b.Sealed) && a.Created == b.Created && a.Revoked == b.Revoked
}
