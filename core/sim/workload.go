package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

const users = 5

// workload draws the commands of callers, operators and feeds. It remembers what they know.
type workload struct {
	r           *rand.Rand
	now         func() int64  // the venue's clock, ns
	seq         func() uint64 // of the last command applied
	look        func(func(*venue.Venue))
	note        func(string, ...any) // adds a line to the trace
	next        uint64               // the client_order_id used last
	orders      []ownedOrder
	withdrawals []uint64
	repeatable  []core.Command // sent before; may be sent again
	heldBack    []core.Command // drawn and not sent yet, so that later commands overtake them
	marked      []core.Command // by mark
	rules       core.Revision
	late        bool // the newest revision is activated some time after the setup
	unmarked    bool // no command records an environment
	bound       []*core.BindOrders
	unsigned    bool // commands name no key, and no agent gets one; the lanes create keys and sign
	bounded     bool // mandates bound costs and little else, and agents are seldom halted
	silentSecs  [core.Feeds]int
	price       [core.Feeds]core.Price
	sparseBTC   bool // BTC needs two sources, and at times has one
}

func newWorkload(r *rand.Rand, now func() int64, seq func() uint64, look func(func(*venue.Venue)), note func(string, ...any)) *workload {
	return &workload{r: r, now: now, seq: seq, look: look, note: note, rules: core.RevisionNewest, price: [core.Feeds]core.Price{6_500_000_000_000, 240_000_000_000, 7_000_000_000}}
}

// setup returns the commands that set rules, create users with money, and open sessions.
func (w *workload) setup() (cmds []core.Command) {
	rules := core.DefaultRules()
	rules.DisputeNs = int64(1+w.r.IntN(5)) * core.NsPerSec
	rules.OpenOrders, rules.Contracts = uint32(4+w.r.IntN(20)), core.Qty(50+w.r.IntN(400))
	if w.sparseBTC = rules.OpenOrders%5 == 0; w.sparseBTC {
		rules.MinSources = core.SourceCounts{core.BTC: 2, core.WTI: 1}
	}
	cmds = append(cmds, &core.SetRules{Rules: rules})
	if !w.late {
		activate := &core.ActivateRules{Revision: w.rules, Environment: w.environment(rules.OpenOrders)}
		if w.rules >= core.RevisionSteps && rules.OpenOrders%2 == 0 {
			activate.Settings = []core.Setting{{Name: "setting1", Value: "1"}, {Name: "setting0", Value: "0"}, {Name: "setting1", Value: "0"}}
		}
		cmds = append(cmds, activate)
	}
	for u := range users {
		cmds = append(cmds, &core.CreateUser{Name: fmt.Sprint("user", u+1), Referrer: core.UserID(u), TokenHash: [32]byte{byte(u + 1)}})
	}
	for u := core.UserID(1); u <= users; u++ {
		cmds = append(cmds, &core.Deposit{User: u, DepositID: fmt.Sprint("first ", u), Amount: core.Pips(500_000 + w.r.IntN(3_000_000))})
	}
	for f := range core.Feed(core.Feeds) {
		cmds = append(cmds, &core.SetSession{Feed: f, Open: true})
	}
	return cmds
}

// environment returns one of the environments, or none.
func (w *workload) environment(n uint32) core.Environment {
	if w.unmarked {
		return core.EnvironmentNone
	}
	return core.Environment(n % 4)
}

// trading returns the markets that trade.
func trading(v *venue.Venue) []core.MarketID { return marketsOf(v, core.Trading) }

// marketsOf returns the markets whose round has one of the statuses.
func marketsOf(v *venue.Venue, statuses ...core.RoundStatus) (list []core.MarketID) {
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if m, ok := v.Market(id); ok && slices.Contains(statuses, m.Status) {
			list = append(list, id)
		}
	}
	return list
}

// open returns the markets that trade.
func (w *workload) open() (open []core.MarketID) {
	w.look(func(v *venue.Venue) { open = trading(v) })
	return open
}

// setup sets up the venue at the beginning of a run.
func (s *sim) setup() {
	s.work = newWorkload(s.r, s.now, func() uint64 { return s.at.Seq }, func(look func(*venue.Venue)) {
		s.e.Read(func(v *venue.Venue, _ *view.View) { look(v) })
	}, s.t.line)
	s.work.unsigned = s.lanes != nil
	s.work.late = s.lanes == nil && s.o.Seed%4 == 0
	for _, cmd := range s.work.setup() {
		s.submitUntilAnswered(cmd)
	}
	if s.lanes != nil {
		for _, cmd := range s.lanes.Setup() {
			s.submitUntilAnswered(cmd)
		}
	}
	s.postTicks()
	s.runUntilIdle()
	s.restartAfterFault()
}

// submitUntilAnswered submits a command of an operator until it is answered.
func (s *sim) submitUntilAnswered(cmd core.Command) {
	for {
		c := s.submit(cmd, 0)
		s.runUntilIdle()
		s.restartAfterFault()
		if c.done && c.err == nil {
			return
		}
	}
}

// ownedOrder is an order and its account.
type ownedOrder struct {
	user    core.UserID
	order   core.OrderID
	market  core.MarketID
	side    core.Side
	outcome core.Outcome
}

// accepted records what a caller learns from the response to an accepted command.
func (w *workload) accepted(cmd core.Command, seq uint64) {
	switch c := cmd.(type) {
	case *core.PlaceOrder, *core.ReplaceOrder:
		p := core.PlacementOf(c)
		w.orders = append(w.orders, ownedOrder{p.User, core.OrderID(seq), p.Market, p.Side, p.Outcome})
	case *core.RequestWithdrawal:
		w.withdrawals = append(w.withdrawals, seq)
	}
}

// sendRequest sends one request of a caller: a new one, a delayed one, or a repeated one.
func (s *sim) sendRequest() {
	w := s.work
	timeout := time.Duration(0)
	if s.r.IntN(4) == 0 {
		timeout = time.Duration(1+s.r.IntN(2000)) * time.Millisecond
	}
	switch n := s.r.IntN(20); {
	case s.lanes != nil && n < 5 && s.sendDelayed(timeout):
	case s.lanes != nil && n == 19:
		s.send(w.batch(), timeout)
	case n == 0 && len(w.repeatable) > 0:
		s.send([]core.Command{w.repeatable[s.r.IntN(len(w.repeatable))]}, timeout)
	case n == 1:
		w.heldBack = append(w.heldBack, w.draw())
	case n < 4 && len(w.heldBack) > 0:
		i := s.r.IntN(len(w.heldBack))
		s.send([]core.Command{w.heldBack[i]}, timeout)
		w.heldBack = append(w.heldBack[:i], w.heldBack[i+1:]...)
	default:
		cmd := w.draw()
		if s.r.IntN(3) == 0 {
			w.repeatable = append(w.repeatable, cmd)
		}
		s.send([]core.Command{cmd}, timeout)
	}
}

// operate sends a command of an operator, often in the same group as requests of callers.
func (s *sim) operate() {
	if cmd := s.work.operate(); cmd != nil {
		s.send([]core.Command{cmd}, 0)
	}
}

func (s *sim) postTicks() {
	for _, cmd := range s.work.tick() {
		s.submit(cmd, 0)
	}
}

// user returns an owner or an agent.
func (w *workload) user() core.UserID {
	if w.r.IntN(4) < 2+w.more() {
		if list := w.agents(); len(list) > 0 {
			return list[w.r.IntN(len(list))].ID
		}
	}
	return w.ownerAccount()
}

// more returns 1 if the workload is to reach the bounds of mandates.
func (w *workload) more() int {
	if w.bounded {
		return 1
	}
	return 0
}

func (w *workload) ownerAccount() core.UserID { return core.UserID(1 + w.r.IntN(users)) }

// market returns mostly a market that trades.
func (w *workload) market() core.MarketID {
	if open := w.open(); len(open) > 0 && (w.bounded || w.r.IntN(12) > 0) {
		return open[w.r.IntN(min(len(open), 3))]
	}
	return core.MarketID([]int{1, 2, 3, 7, 12, 1<<16 + 1}[w.r.IntN(6)])
}

// order returns an order for a command: mostly a recent one, with its own account.
func (w *workload) order() ownedOrder {
	n := len(w.orders)
	switch {
	case n == 0 || w.r.IntN(10) == 0:
		return ownedOrder{user: w.user(), order: core.OrderID(w.r.IntN(int(w.seq()) + 2))}
	case w.r.IntN(20) == 0:
		return ownedOrder{user: w.user(), order: w.orders[w.r.IntN(n)].order}
	default:
		return w.orders[n-1-w.r.IntN(min(n, 20))]
	}
}

// draw returns a command of a trader or an owner.
func (w *workload) draw() core.Command {
	var inForce core.Revision
	w.look(func(v *venue.Venue) { inForce = v.Rules().Revision })
	switch {
	case w.r.IntN(8) == 0:
		return w.agentCommand()
	case inForce < w.rules && w.r.IntN(300) == 0:
		return &core.ActivateRules{Revision: w.rules, Environment: w.environment(uint32(w.now()))}
	case w.r.IntN(24) == 0:
		return w.operatorCommand()
	}
	if w.rules >= core.RevisionReplace && w.r.IntN(10) == 0 {
		return w.sign(w.replace())
	}
	if w.rules >= core.RevisionForecasts && !w.unsigned && w.r.IntN(12) == 0 {
		return w.sign(w.forecast())
	}
	return w.sign(w.trade())
}

// trade returns a command of a trader.
func (w *workload) trade() core.Command {
	if w.rules >= core.RevisionMakers && w.r.IntN(25) == 0 {
		return w.once()
	}
	if w.rules >= core.RevisionMakers && w.r.IntN(25) == 0 {
		return w.group()
	}
	if w.rules >= core.RevisionMakers && !w.unsigned && w.r.IntN(10) == 0 {
		return w.quote()
	}
	if w.rules >= core.RevisionMakers && !w.unsigned && w.r.IntN(25) == 0 {
		return w.line()
	}
	switch n := w.r.IntN(60); {
	case n < 46:
		return w.place()
	case n < 50:
		x := w.order()
		return &core.CancelOrder{User: x.user, Order: x.order}
	case n < 53:
		x := w.order()
		return &core.DecreaseOrder{User: x.user, Order: x.order, To: w.r.IntN(2) == 0, Amount: core.Qty(w.r.IntN(12))}
	case n == 53:
		return &core.CancelAll{User: w.user(), Market: core.MarketID(w.r.IntN(4)), Group: uint32(w.r.IntN(3))}
	case n == 54:
		return &core.ArmDeadman{User: w.user(), TimeoutMs: uint32(1000 + w.r.IntN(60_000))}
	case n == 55:
		return &core.DisarmDeadman{User: w.user()}
	case n < 58:
		return &core.Redeem{User: w.user(), Market: w.market(), Qty: core.Qty(w.r.IntN(8))}
	default:
		return &core.RequestWithdrawal{User: w.user(), ClientID: fmt.Sprint("w", w.r.IntN(12)), Amount: core.Pips(w.r.IntN(4) * 9000), Destination: "bank"}
	}
}

// batch returns placements or cancels of one account.
func (w *workload) batch() (cmds []core.Command) {
	u, cancels := w.user(), w.r.IntN(3) == 0
	for range 1 + w.r.IntN(6) {
		if cancels {
			cmds = append(cmds, &core.CancelOrder{User: u, Order: w.order().order})
			continue
		}
		c := w.place()
		c.User = u
		cmds = append(cmds, c)
	}
	return cmds
}

func (w *workload) place() *core.PlaceOrder {
	w.next++
	c := &core.PlaceOrder{
		User: w.user(), ClientID: w.next, Market: w.market(), Side: core.Side(w.r.IntN(3) / 2), Outcome: core.Outcome(w.r.IntN(2)),
		TIF: core.TIF(w.r.IntN(4)), Qty: core.Qty(1 + w.r.IntN(40)), Group: uint32(w.r.IntN(3)),
		Tick: []core.Tick{4700, 4800, 4900, 4900, 5000, 5000, 5000, 5100, 5100, 5200, 5300, 390, 9610, 4750}[w.r.IntN(14)],
	}
	if w.r.IntN(2) == 0 {
		c.Flags = core.Flags(w.r.IntN(16))
	}
	if w.r.IntN(3) > 0 {
		c.TIF = core.GTC
	}
	if w.r.IntN(20) == 0 {
		c.Generation = uint32(w.r.IntN(4))
	}
	if w.r.IntN(60) == 0 {
		c.ClientID, c.Qty = uint64(w.r.IntN(2)), core.Qty(w.r.IntN(3)*600_000)
	}
	if !c.TIF.Rests() {
		c.Flags &^= core.PostOnly
	}
	if c.TIF == core.GTT {
		c.Expiry = w.now() + int64(w.r.IntN(20)-1)*core.NsPerSec/2
	}
	if w.r.IntN(6) == 0 {
		c.Type, c.TIF, c.Expiry, c.Flags = core.Market, core.IOC, 0, c.Flags&^core.PostOnly
		c.Tick = core.Tick(1 + w.r.IntN(9999))
		if w.r.IntN(3) == 0 {
			c.Unpriced, c.Tick = true, core.TickMax
			if c.Side == core.Sell {
				c.Tick = core.TickMin
			}
		}
	}
	if w.rules >= core.RevisionMakers && w.r.IntN(12) == 0 {
		c.NotAfter = max(1, w.now()+int64(w.r.IntN(9)-3)*core.NsPerSec/8)
	}
	if c.Side == core.Buy && (c.Type == core.Market || w.r.IntN(4) == 0) {
		c.MaxCost = uint64(1 + w.r.IntN(200_000))
	}
	return c
}

// replace returns a replace of an order that a trader knows. Most are for its own market, side and
// outcome, and only these can succeed.
func (w *workload) replace() *core.ReplaceOrder {
	x := w.order()
	c := &core.ReplaceOrder{PlaceOrder: *w.place(), Old: x.order}
	c.User = x.user
	if x.market != 0 && w.r.IntN(20) > 0 {
		c.Market, c.Side, c.Outcome = x.market, x.side, x.outcome
	}
	if w.r.IntN(6) > 0 {
		c.Type, c.Unpriced, c.TIF, c.Expiry, c.MaxCost = core.Limit, false, core.GTC, 0, 0
		c.Tick = []core.Tick{4800, 4900, 5000, 5100, 5200}[w.r.IntN(5)]
	}
	if w.rules >= core.RevisionReplaceSeen && w.r.IntN(2) == 0 {
		c.Seen = core.Qty(1 + w.r.IntN(30))
	}
	if w.r.IntN(30) == 0 {
		c.ClientID = uint64(w.r.IntN(int(w.next)))
	}
	return c
}

// forecast returns a forecast, mostly of the life that its slot has.
func (w *workload) forecast() *core.SubmitForecast {
	c := &core.SubmitForecast{User: w.user(), Market: w.market(), P: core.Probability(w.r.IntN(int(core.ProbabilityMax) + 1))}
	w.look(func(v *venue.Venue) {
		if m, opened := v.Market(c.Market); opened {
			c.Generation = m.Generation
		}
	})
	if w.r.IntN(15) == 0 {
		c.Generation += uint32(w.r.IntN(3)) - 1
	}
	return c
}

// operate returns a command of an operator, or nil if it silenced a feed instead.
func (w *workload) operate() (cmd core.Command) {
	switch w.r.IntN(12) {
	case 0, 1:
		cmd = &core.PauseMarket{Market: w.market(), Lift: w.r.IntN(6) > 0}
	case 2:
		cmd = &core.VoidMarket{Market: core.MarketID(1 + w.r.IntN(4*venue.Slots))}
	case 3:
		cmd = &core.ProposePrice{Market: w.market(), Price: w.price[0] + core.Price(w.r.IntN(3)) - 1}
	case 4, 5:
		cmd = &core.SuspendUser{User: w.ownerAccount(), Lift: w.r.IntN(16) > 0}
	case 6, 7:
		cmd = &core.SetFees{Fees: core.Fees{Maker: core.Rate(w.r.IntN(200)), Taker: core.Rate(100 + w.r.IntN(10_000)), RebatePct: uint8(w.r.IntN(70)), ReferPct: uint8(w.r.IntN(50))}}
	case 8:
		cmd = &core.SetSession{Feed: core.Feed(w.r.IntN(core.Feeds)), Open: w.r.IntN(5) > 0, Until: []int64{0, 0, w.now() + 400*core.NsPerSec}[w.r.IntN(3)]}
	case 9:
		var id uint64
		if n := len(w.withdrawals); n > 0 {
			id = w.withdrawals[w.r.IntN(n)]
		}
		d := &core.DecideWithdrawal{Withdrawal: id, Complete: w.r.IntN(2) == 0}
		if w.rules >= core.RevisionSteps {
			w.drawStep(d)
		}
		cmd = d
	case 10:
		d := &core.Deposit{User: w.user(), DepositID: fmt.Sprint("more ", w.r.IntN(20)), Amount: core.Pips(w.r.IntN(50_000))}
		if w.rules >= core.RevisionDeposits && w.r.IntN(4) == 0 {
			*d = w.largeDeposit()
		}
		if w.rules >= core.RevisionSteps {
			d.Alone, d.Audit = w.alone()
		}
		cmd = d
	default:
		f := core.Feed(w.r.IntN(core.Feeds))
		w.silentSecs[f] = w.r.IntN(12)
		w.note("feed %s is silent for %d s", f, w.silentSecs[f])
	}
	return cmd
}

// largeDeposit returns a deposit at the bound of one, or beside it. One account gets them all, so that the
// others can still lack money.
func (w *workload) largeDeposit() core.Deposit {
	return core.Deposit{User: users, DepositID: fmt.Sprint("large ", w.r.IntN(20)), Amount: core.DepositMax + core.Pips(w.r.IntN(3)) - 1}
}

// rare returns a command of keys, with few ids so that they repeat, of the schedule, or of an
// operator for a market: one that trades, or one of unresolved, the frozen and proposed ones.
// It draws from r alone, so a workload without rare commands stays the same.
func (w *workload) rare(r *rand.Rand, unresolved []core.MarketID) core.Command {
	user, id := core.UserID(1+r.IntN(users+1)), fmt.Sprint("key", r.IntN(8))
	pick := func(markets []core.MarketID) core.MarketID {
		if len(markets) == 0 {
			return 1
		}
		return markets[r.IntN(len(markets))]
	}
	switch n := r.IntN(40); {
	case n < 6:
		return &core.RevokeKey{User: user, Key: id}
	case n < 10:
		return &core.RevokeKey{User: user}
	case n < 16:
		return &core.ResealKey{Key: id, Sealed: []byte{byte(r.IntN(3))}}
	case n < 19:
		return &core.SetSchedule{Windows: []core.Window{{Kind: "maintenance", Start: w.now(), End: w.now() + int64(1+r.IntN(60))*core.NsPerSec}}}
	case n < 20:
		return &core.VoidMarket{Market: pick(w.open())}
	case n < 23:
		return &core.ProposePrice{Market: pick(unresolved), Price: w.price[0]}
	default:
		return &core.CreateKey{User: user, Key: id, Sealed: []byte{byte(r.IntN(3))}}
	}
}

// tick returns the index ticks of the feeds that are not silent. Some are late or repeated.
func (w *workload) tick() (cmds []core.Command) {
	for f := range core.Feed(core.Feeds) {
		if w.silentSecs[f] > 0 {
			w.silentSecs[f]--
			continue
		}
		w.price[f] += core.Price(w.r.IntN(5)) - 2
		t := core.IndexTick{Feed: f, Second: w.now() / core.NsPerSec, Price: w.price[f], Count: 1}
		if f == core.BTC {
			t.Count = 3
			if w.sparseBTC && t.Price%4 == 0 {
				t.Count = 1
			}
		}
		switch w.r.IntN(30) {
		case 0:
			t.Second -= int64(w.r.IntN(5))
		case 1:
			t.Second += 2
		case 2:
			t.Count = 0
		case 3:
			t.Manual = true
		case 4:
			cmds = append(cmds, &core.PostIndex{Tick: t})
		}
		cmds = append(cmds, &core.PostIndex{Tick: t})
	}
	return cmds
}

// mark returns a command as some member of several sends it: marked as signed about now, long ago,
// or ahead of the venue's clock. It also returns marked commands once more.
func (w *workload) mark(r *rand.Rand, cmd core.Command) core.Command {
	if len(w.marked) > 0 && r.IntN(30) == 0 {
		return w.marked[max(0, len(w.marked)-1-r.IntN(60))]
	}
	if class, _ := core.ClassOf(cmd); class == core.ClassSystem || r.IntN(4) > 0 || core.KeyField(cmd) == nil {
		return cmd // no key signs the commands of an owner's token
	}
	m := &core.Marked{SignedAt: w.now()/core.NsPerMs - int64(r.IntN(3000)), Command: cmd}
	if r.IntN(10) == 0 {
		m.SignedAt += int64(r.IntN(25_000)) - 15_000
	}
	for i := range m.Mark {
		m.Mark[i] = byte(r.Uint32())
	}
	w.marked = append(w.marked, m)
	return m
}

func describe(cmd core.Command) string {
	if c, ok := cmd.(*core.Marked); ok {
		return fmt.Sprintf("marked %x signed at %d: %s", c.Mark[:4], c.SignedAt, describe(c.Command))
	}
	if c, ok := cmd.(*core.ReplaceOrder); ok {
		return fmt.Sprintf("replace %d, seen with %d: %s", c.Old, c.Seen, describe(&c.PlaceOrder))
	}
	if c, ok := cmd.(*core.QuoteSide); ok {
		return fmt.Sprintf("quote, cancel %t, group %d: %s", c.Cancel, c.Group, describe(&c.PlaceOrder))
	}
	if c, ok := cmd.(*core.PlaceOrder); ok {
		return fmt.Sprintf("place user %d id %d market %d %s %s %s %s %d × %d flags %d cap %d not after %d", c.User, c.ClientID, c.Market, c.Type, c.TIF, c.Side, c.Outcome, c.Qty, c.Tick, c.Flags, c.MaxCost, c.NotAfter)
	}
	return fmt.Sprintf("%T %+v", cmd, cmd)
}
