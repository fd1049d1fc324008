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

// workload draws the commands of callers, operators and feeds, and remembers what these know.
type workload struct {
	r           *rand.Rand
	now         func() int64           // the time of the venue's clock, ns
	seq         func() uint64          // of the last command applied
	open        func() []core.MarketID // the markets that trade
	note        func(string, ...any)   // adds a line to the trace
	next        uint64                 // the next client order id
	orders      []owned
	withdrawals []uint64
	repeats     []core.Command // sent before, and can be sent again
	delayed     []core.Command // drawn, but sent later, so that requests overtake each other
	rules       core.Revision
	outage      [core.Feeds]int
	price       [core.Feeds]core.Price
	twoSources  bool // the rules require two sources for BTC, which sometimes has one
}

func newWorkload(r *rand.Rand, now func() int64, seq func() uint64, open func() []core.MarketID, note func(string, ...any)) *workload {
	return &workload{r: r, now: now, seq: seq, open: open, note: note, rules: core.RevisionNewest, price: [core.Feeds]core.Price{6_500_000_000_000, 240_000_000_000, 7_000_000_000}}
}

// setUp returns commands that set rules, create users with money and open the sessions.
func (w *workload) setUp() (cmds []core.Command) {
	rules := core.DefaultRules()
	rules.Revision = w.rules
	rules.DisputeNs = int64(1+w.r.IntN(5)) * core.NsPerSec
	rules.OpenOrders, rules.Contracts = uint32(4+w.r.IntN(20)), core.Qty(50+w.r.IntN(400))
	if w.twoSources = rules.OpenOrders%5 == 0; w.twoSources {
		rules.MinSources = [core.Feeds]uint8{core.BTC: 2, core.WTI: 1}
	}
	cmds = append(cmds, &core.SetRules{Rules: rules})
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

func (s *sim) trading() (open []core.MarketID) {
	s.engine.Read(func(v *venue.Venue, _ *view.View) { open = trading(v) })
	return open
}

// setUp begins a run.
func (s *sim) setUp() {
	s.work = newWorkload(s.r, s.now, func() uint64 { return s.at.Seq }, s.trading, s.t.line)
	for _, cmd := range s.work.setUp() {
		s.call(cmd)
	}
	if s.lanes != nil {
		for _, cmd := range s.lanes.SetUp() {
			s.call(cmd)
		}
	}
	s.tick()
	s.drain()
	s.restartAfterFault()
}

// call sends a command again and again until it is answered, as an operator does.
func (s *sim) call(cmd core.Command) {
	for {
		c := s.submit(cmd, 0)
		s.drain()
		s.restartAfterFault()
		if c.done && c.err == nil {
			return
		}
	}
}

// owned is an order with its account.
type owned struct {
	user  core.UserID
	order core.OrderID
}

// accepted records the id that a caller learns from an accepted command.
func (w *workload) accepted(cmd core.Command, seq uint64) {
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		w.orders = append(w.orders, owned{c.User, core.OrderID(seq)})
	case *core.RequestWithdrawal:
		w.withdrawals = append(w.withdrawals, seq)
	}
}

// act sends one request of a caller: a new one, a delayed one, or one that was sent before.
func (s *sim) act() {
	w := s.work
	timeout := time.Duration(0)
	if s.r.IntN(4) == 0 {
		timeout = time.Duration(1+s.r.IntN(2000)) * time.Millisecond
	}
	switch n := s.r.IntN(20); {
	case s.lanes != nil && n < 5 && s.deliverLate(timeout):
	case s.lanes != nil && n == 19:
		s.send(w.batch(), timeout)
	case n == 0 && len(w.repeats) > 0:
		s.send([]core.Command{w.repeats[s.r.IntN(len(w.repeats))]}, timeout)
	case n == 1:
		w.delayed = append(w.delayed, w.draw())
	case n < 4 && len(w.delayed) > 0:
		i := s.r.IntN(len(w.delayed))
		s.send([]core.Command{w.delayed[i]}, timeout)
		w.delayed = append(w.delayed[:i], w.delayed[i+1:]...)
	default:
		cmd := w.draw()
		if s.r.IntN(3) == 0 {
			w.repeats = append(w.repeats, cmd)
		}
		s.send([]core.Command{cmd}, timeout)
	}
}

// operate sends an operator's action. It is often before callers' requests in the same group.
func (s *sim) operate() {
	if cmd := s.work.operate(); cmd != nil {
		s.send([]core.Command{cmd}, 0)
	}
}

// tick sends the index ticks of one second.
func (s *sim) tick() {
	for _, cmd := range s.work.tick() {
		s.submit(cmd, 0)
	}
}

func (w *workload) user() core.UserID { return core.UserID(1 + w.r.IntN(users)) }

// market draws a market, mostly one that trades.
func (w *workload) market() core.MarketID {
	if open := w.open(); len(open) > 0 && w.r.IntN(12) > 0 {
		return open[w.r.IntN(min(len(open), 3))]
	}
	return core.MarketID([]int{1, 2, 3, 7, 12, 1<<16 + 1}[w.r.IntN(6)])
}

// order draws an order, mostly a recent one, with mostly its own account.
func (w *workload) order() owned {
	n := len(w.orders)
	switch {
	case n == 0 || w.r.IntN(10) == 0:
		return owned{w.user(), core.OrderID(w.r.IntN(int(w.seq()) + 2))}
	case w.r.IntN(20) == 0:
		return owned{w.user(), w.orders[w.r.IntN(n)].order}
	default:
		return w.orders[n-1-w.r.IntN(min(n, 20))]
	}
}

// draw draws a trader's command.
func (w *workload) draw() core.Command {
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

// batch draws placements or cancels of one account.
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
	}
	if c.Side == core.Buy && (c.Type == core.Market || w.r.IntN(4) == 0) {
		c.MaxCost = uint64(1 + w.r.IntN(200_000))
	}
	return c
}

// operate draws an operator's action. It returns nil if it draws an outage of a feed instead.
func (w *workload) operate() (cmd core.Command) {
	switch w.r.IntN(12) {
	case 0, 1:
		cmd = &core.PauseMarket{Market: w.market(), Lift: w.r.IntN(6) > 0}
	case 2:
		cmd = &core.VoidMarket{Market: core.MarketID(1 + w.r.IntN(4*venue.Slots))}
	case 3:
		cmd = &core.ProposePrice{Market: w.market(), Price: w.price[0] + core.Price(w.r.IntN(3)) - 1}
	case 4, 5:
		cmd = &core.SuspendUser{User: w.user(), Lift: w.r.IntN(16) > 0}
	case 6, 7:
		cmd = &core.SetFees{Fees: core.Fees{Maker: core.Rate(w.r.IntN(200)), Taker: core.Rate(100 + w.r.IntN(10_000)), RebatePct: uint8(w.r.IntN(70)), ReferPct: uint8(w.r.IntN(50))}}
	case 8:
		cmd = &core.SetSession{Feed: core.Feed(w.r.IntN(core.Feeds)), Open: w.r.IntN(5) > 0, Until: []int64{0, 0, w.now() + 400*core.NsPerSec}[w.r.IntN(3)]}
	case 9:
		var id uint64
		if n := len(w.withdrawals); n > 0 {
			id = w.withdrawals[w.r.IntN(n)]
		}
		cmd = &core.DecideWithdrawal{Withdrawal: id, Complete: w.r.IntN(2) == 0}
	case 10:
		cmd = &core.Deposit{User: w.user(), DepositID: fmt.Sprint("more ", w.r.IntN(20)), Amount: core.Pips(w.r.IntN(50_000))}
	default:
		f := core.Feed(w.r.IntN(core.Feeds))
		w.outage[f] = w.r.IntN(12)
		w.note("feed %s is out for %d s", f, w.outage[f])
	}
	return cmd
}

// drawRare draws a rare command: about keys, with few ids so that they repeat, about the schedule, or an
// operator's about a market that trades or is unresolved (frozen or proposed). It draws from r only, so that
// a workload without rare commands stays the same.
func (w *workload) drawRare(r *rand.Rand, unresolved []core.MarketID) core.Command {
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

// tick draws the index ticks of one second, for the feeds without an outage. Some are late, early or
// repeated.
func (w *workload) tick() (cmds []core.Command) {
	for f := range core.Feed(core.Feeds) {
		if w.outage[f] > 0 {
			w.outage[f]--
			continue
		}
		w.price[f] += core.Price(w.r.IntN(5)) - 2
		t := core.IndexTick{Feed: f, Second: w.now() / core.NsPerSec, Price: w.price[f], Count: 1}
		if f == core.BTC {
			t.Count = 3
			if w.twoSources && t.Price%4 == 0 {
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

// describe returns a command as text for the trace.
func describe(cmd core.Command) string {
	if c, ok := cmd.(*core.PlaceOrder); ok {
		return fmt.Sprintf("place user %d id %d market %d %s %s %s %s %d × %d flags %d cap %d", c.User, c.ClientID, c.Market, c.Type, c.TIF, c.Side, c.Outcome, c.Qty, c.Tick, c.Flags, c.MaxCost)
	}
	return fmt.Sprintf("%T %+v", cmd, cmd)
}
