package sim

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/sim/model"
	"duplex/core/venue"
)

// describeOutcome converts the events of a command to the outcome of the model.
func describeOutcome(rej core.Reject, events []core.Event) model.Outcome {
	out := model.Outcome{Reject: rej, Ended: map[core.OrderID]model.End{}, Transfers: map[model.Transfer]core.Pips{}, Agents: map[core.UserID]model.AgentChange{}, Asks: map[uint64]core.AskChanged{}}
	for _, e := range events {
		switch e := e.(type) {
		case *core.OrderPlaced:
			if out.Violation = e.Violation; e.Reject == core.OK {
				out.Tick = e.Tick
			}
		case *core.AgentChanged:
			out.Agents[e.User] = model.AgentChange{State: e.State, Rev: e.Rev}
		case *core.Transferred:
			out.Transfers[model.Transfer{ClientID: e.ClientID, From: e.From, To: e.To, Seq: e.Seq}] += e.Amount
		case *core.Filled:
			out.Fills = append(out.Fills, model.Fill{
				Maker: e.Maker, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path, TakerFee: e.TakerFee, MakerFee: e.MakerFee, Rebate: e.Rebate, Referral: e.Referral,
			})
			if e.MakerReason != core.NoReason {
				out.Ended[e.Maker] = model.End{Status: core.Canceled, Reason: e.MakerReason, Left: e.MakerLeft}
			}
		case *core.OrderClosed:
			out.Ended[e.Order] = model.End{Status: e.Status, Reason: e.Reason, Left: e.Left}
		case *core.Quoted:
			out.Quoted = e
		case *core.AskChanged:
			out.Asks[e.Ask.ID] = *e
		case *core.ForecastSubmitted:
			out.Forecast = &model.Forecast{User: e.User, Market: e.Market, Generation: e.Generation, P: e.P}
		}
	}
	return out
}

// sameOutcome returns an error if the outcome of the venue is not that of the model.
func sameOutcome(got, want model.Outcome) error {
	switch {
	case got.Reject != want.Reject:
		return fmt.Errorf("its result is %q, the model has %q", got.Reject, want.Reject)
	case !reflect.DeepEqual(got.Violation, want.Violation):
		return fmt.Errorf("the bound that it broke is %+v, the model has %+v", got.Violation, want.Violation)
	case !reflect.DeepEqual(got.Forecast, want.Forecast):
		return fmt.Errorf("its forecast is %+v, the model has %+v", got.Forecast, want.Forecast)
	case !reflect.DeepEqual(got.Quoted, want.Quoted):
		return fmt.Errorf("its quote is %+v, the model has %+v", got.Quoted, want.Quoted)
	case got.Tick != want.Tick:
		return fmt.Errorf("its tick is %d, the model has %d", got.Tick, want.Tick)
	case !maps.Equal(got.Transfers, want.Transfers):
		return fmt.Errorf("its transfers are %+v, the model has %+v", got.Transfers, want.Transfers)
	case !maps.Equal(got.Agents, want.Agents):
		return fmt.Errorf("the agents it changed are %+v, the model has %+v", got.Agents, want.Agents)
	case !maps.Equal(got.Asks, want.Asks):
		return fmt.Errorf("what waits or has ended waiting is %+v, the model has %+v", got.Asks, want.Asks)
	case !slices.Equal(got.Fills, want.Fills):
		return fmt.Errorf("its fills are %+v, the model has %+v", got.Fills, want.Fills)
	case !maps.Equal(got.Ended, want.Ended):
		return fmt.Errorf("the orders it ended are %+v, the model has %+v", got.Ended, want.Ended)
	}
	return nil
}

// sameState returns an error if anything readable of the venue differs from the model.
func sameState(v *venue.Venue, m *model.Venue) error {
	for u := core.UserID(1); int(u) <= m.Users(); u++ {
		if err := sameAccount(v, m, u); err != nil {
			return fmt.Errorf("user %d: %w", u, err)
		}
	}
	if got, want := v.Windows(), m.Windows(); !slices.Equal(got, want) {
		return fmt.Errorf("schedule %v, the model has %v", got, want)
	}
	keys := map[string]model.Key{}
	for k := range v.Keys() {
		shown := model.Key{User: k.User, Sealed: string(k.Sealed), Number: k.Number}
		if k.Grant != nil {
			shown.Grant = *k.Grant
		}
		keys[k.ID] = shown
	}
	if want := m.Keys(); !maps.Equal(keys, want) {
		return fmt.Errorf("keys %v, the model has %v", keys, want)
	}
	if err := sameOperators(v, m); err != nil {
		return err
	}
	resting := map[core.OrderID]core.Qty{}
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if err := sameMarket(v, m, id, resting); err != nil {
			return fmt.Errorf("market %d: %w", id, err)
		}
	}
	if want := m.Resting(); !maps.Equal(resting, want) {
		return fmt.Errorf("resting orders %v, the model has %v", resting, want)
	}
	marks := slices.Collect(v.Marks())
	if !slices.Equal(marks, m.Marks(v.Now().Ts)) {
		return fmt.Errorf("%d marks, the model has %d", len(marks), len(m.Marks(v.Now().Ts)))
	}
	s := v.Sums()
	got, want := [3]core.Pips{s.Fees, s.Deposits, s.Withdrawals}, [3]core.Pips{m.Fees(), m.Deposits(), m.Withdrawals()}
	if got != want {
		return fmt.Errorf("fees, deposits and withdrawals %v, the model has %v", got, want)
	}
	if due, want := v.Due(), m.NextExpiry(); due > want {
		return fmt.Errorf("the next Clock is due at %d, but a mandate or a grant ends at %d", due, want)
	}
	if !m.InvariantHolds() {
		return fmt.Errorf("the money of the model does not add up")
	}
	return nil
}

// sameOperators compares the named operators, what they wait for, and the withdrawals that wait for
// them.
func sameOperators(v *venue.Venue, m *model.Venue) error {
	operators := map[string]core.Operator{}
	for _, o := range v.Operators() {
		operators[o.Name] = o
	}
	if want := m.Operators(); !maps.Equal(operators, want) {
		return fmt.Errorf("operators %v, the model has %v", operators, want)
	}
	approvals := map[uint64]model.Approval{}
	for a := range v.Approvals(0, v.Now().Ts) {
		approvals[a.ID] = model.Approval{
			Action: a.Action, Round: a.Round, By: a.By, Why: a.Why, DecidedBy: a.DecidedBy, RequestedTs: a.Created, DecideTs: a.DecidedTs, Status: a.Status,
		}
	}
	if want := m.Approvals(); !maps.Equal(approvals, want) {
		return fmt.Errorf("approvals %v, the model has %v", approvals, want)
	}
	all, open := map[uint64]core.Withdrawal{}, map[uint64]bool{}
	for w := range v.Withdrawals(0) {
		w.Seq, w.Ts = 0, 0
		all[w.ID] = w
	}
	for w := range v.OpenWithdrawals(0) {
		open[w.ID] = true
	}
	if want := m.AllWithdrawals(); !maps.Equal(all, want) {
		return fmt.Errorf("withdrawals %v, the model has %v", all, want)
	}
	if want := m.OpenWithdrawals(); !maps.Equal(open, want) {
		return fmt.Errorf("open withdrawals %v, the model has %v", open, want)
	}
	alone := map[core.AloneSum]core.Pips{}
	for _, s := range v.AloneSums() {
		sum := s.Sum
		s.Sum = 0
		alone[s] = sum
	}
	if want := m.DoneAlone(); !maps.Equal(alone, want) {
		return fmt.Errorf("done alone today %v, the model has %v", alone, want)
	}
	settings := map[string]string{}
	for _, s := range v.Settings() {
		settings[s.Name] = s.Value
	}
	if want := m.Settings(); !maps.Equal(settings, want) {
		return fmt.Errorf("settings %v, the model has %v", settings, want)
	}
	if e := v.Rules().Environment; e != m.Environment() {
		return fmt.Errorf("environment %q, the model has %q", e, m.Environment())
	}
	return nil
}

func sameAccount(v *venue.Venue, m *model.Venue, u core.UserID) error {
	if user, _ := v.User(u); user.TokenHash != m.Token(u) {
		return fmt.Errorf("token %x, the model has %x", user.TokenHash, m.Token(u))
	}
	if err := sameAgent(v, m, u); err != nil {
		return err
	}
	cash, reserved := v.Balance(u)
	if c, r := m.Balance(u); c != cash || r != reserved {
		return fmt.Errorf("cash %d and reserved %d, the model has %d and %d", cash, reserved, c, r)
	}
	for id := range uint32(5) {
		ms, at := v.Deadman(u, id)
		if x, y := m.Deadman(u, id); x != ms || y != at {
			return fmt.Errorf("dead-man switch of group %d of %d ms at %d, the model has %d at %d", id, ms, at, x, y)
		}
	}
	if got, want := slices.Collect(v.Groups(u, v.Now().Ts)), m.Groups(u); !slices.Equal(got, want) {
		return fmt.Errorf("groups %+v, the model has %+v", got, want)
	}
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if _, opened := m.Market(id); !opened {
			continue
		}
		if got, want := v.Position(u, id), m.Position(u, id); got != want {
			return fmt.Errorf("position %+v, the model has %+v", got, want)
		}
	}
	return nil
}

// sameAgent compares whose agent an account is, its mandate, and its profit and loss.
func sameAgent(v *venue.Venue, m *model.Venue, u core.UserID) error {
	user, _ := v.User(u)
	agent, is := m.Agent(u)
	if is != (user.Agent != nil) {
		return fmt.Errorf("it is an agent: %t, the model has %t", !is, is)
	}
	if is && *user.Agent != agent.Agent {
		return fmt.Errorf("agent %+v, the model has %+v", *user.Agent, agent.Agent)
	}
	if got, want := v.State(u), m.State(u); got != want {
		return fmt.Errorf("state %s, the model has %s", got, want)
	}
	if got, want := v.Agents(u), m.Agents(u); !slices.Equal(got, want) {
		return fmt.Errorf("agents %v, the model has %v", got, want)
	}
	if got, want := v.Asks(u), m.Asks(u); !slices.EqualFunc(got, want, func(x *core.Ask, y core.Ask) bool { return *x == y }) {
		return fmt.Errorf("%d orders wait, the model has %+v", len(got), want)
	}
	p, want := v.Performance(u), m.Performance(u)
	if got := (model.Performance{
		Realized: p.Realized, RealizedToday: p.RealizedToday, Fees: p.Fees, Rebates: p.Rebates,
		DepositsNet: p.DepositsNet, TransfersNet: p.TransfersNet, Cost: p.Cost, OrdersToday: p.OrdersToday,
	}); got != want {
		return fmt.Errorf("performance %+v, the model has %+v", got, want)
	}
	usage := venue.Usage{
		OpenCost: core.Pips(m.OpenCost(u).Int64()), LossToday: core.Pips(m.LossToday(u).Int64()), OrdersToday: want.OrdersToday, OpenOrders: m.OpenOrders(u),
	}
	if got := v.Usage(u); got != usage {
		return fmt.Errorf("usage %+v, the model has %+v", got, usage)
	}
	if equity, _ := m.Equity(u); int64(v.Equity(u)) != equity.Int64() {
		return fmt.Errorf("equity %d, the model has %d", v.Equity(u), equity)
	}
	return nil
}

// sameMarket compares one slot, and adds its resting orders to resting.
func sameMarket(v *venue.Venue, m *model.Venue, id core.MarketID, resting map[core.OrderID]core.Qty) error {
	got, opened := v.Market(id)
	want, should := m.Market(id)
	if opened != should {
		return fmt.Errorf("opened: %t, the model has %t", opened, should)
	}
	if !opened {
		return nil
	}
	if seen := (model.Market{Round: got.Round, LastTick: got.LastTick, Volume: got.Volume, Open: got.Open}); !reflect.DeepEqual(seen, want) {
		return fmt.Errorf("%+v, the model has %+v", seen, want)
	}
	mark, has := v.Mark(id)
	if x, should := m.Mark(id); x != mark || has != should {
		return fmt.Errorf("mark price %d (%t), the model has %d (%t)", mark, has, x, should)
	}
	for _, bid := range []bool{true, false} {
		var levels []model.Level
		for r := range got.Book.Orders(bid) {
			o := got.Book.At(r)
			resting[o.ID] = core.Qty(o.Left)
			if ahead, rests := v.QueueAhead(o.ID); !rests || ahead != m.QueueAhead(o.ID) {
				return fmt.Errorf("%d contracts are ahead of order %d, the model has %d", ahead, o.ID, m.QueueAhead(o.ID))
			}
			if n := len(levels); n == 0 || levels[n-1].Tick != o.TickYes() {
				levels = append(levels, model.Level{Tick: o.TickYes()})
			}
			levels[len(levels)-1].Qty += core.Qty(o.Left)
		}
		if want := m.Depth(id, bid); !slices.Equal(levels, want) {
			return fmt.Errorf("one side of the book is %v, the model has %v", levels, want)
		}
	}
	return nil
}

// observe checks the commands applied since the last call, then the calls that have ended.
func (s *sim) observe() {
	for {
		select {
		case <-s.f.Ready():
		default:
			s.collect()
			return
		}
		b, err := s.f.Next(context.Background())
		s.must(err)
		if b.Number != s.group+1 {
			s.fail("group %d follows group %d", b.Number, s.group)
		}
		s.group = b.Number
		for i := range b.Applied {
			a := &b.Applied[i]
			if a.Stamp.Seq != s.at.Seq+1 || a.Stamp.Ts <= s.at.Ts {
				s.fail("stamp %v follows stamp %v", a.Stamp, s.at)
			}
			s.at = a.Stamp
			s.t.line("seq %d at %d: %s: %q, %d events", a.Stamp.Seq, a.Stamp.Ts-origin, describe(a.Command), a.Reject, len(a.Events))
			if err := sameOutcome(describeOutcome(a.Reject, a.Events), s.applyToModel(a.Stamp, a.Command)); err != nil {
				s.fail("seq %d: %s: %w", a.Stamp.Seq, describe(a.Command), err)
			}
		}
	}
}

// applyToModel counts a command that is in the log, applies it to the model and returns the
// outcome that it should have.
func (s *sim) applyToModel(at core.Stamp, cmd core.Command) model.Outcome {
	s.res.Commands++
	wire, err := journal.AppendCommand(nil, cmd)
	s.must(err)
	s.counts.logged[string(wire)]++
	if !s.model.Authorized(cmd) {
		s.fail("seq %d: %s: the key is not valid", at.Seq, describe(cmd))
	}
	out := s.model.Apply(at, cmd)
	if s.lanes != nil {
		if class, _ := core.ClassOf(cmd); class != core.ClassSystem && s.counts.sent[string(wire)] == 0 {
			s.fail("seq %d: %s: the command was never sent", at.Seq, describe(cmd))
		}
		s.lanes.Observe(at, cmd, out, s.model)
	}
	return out
}
