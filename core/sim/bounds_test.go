package sim

import (
	"fmt"
	"testing"

	"duplex/core"
	"duplex/core/venue"
)

// boundsCheck checks what a mandate guarantees (docs/rules/agent-accounts.md#guarantees). It keeps
// its own sums of each agent's day, from events and balances.
type boundsCheck struct {
	v      *venue.Venue
	agents map[core.UserID]*bounded
	day    int32 // UTC day of the last command

	placed, halved, tight, lost int // accepted buys, mandates that narrowed, buys that used the whole bound, days with a loss
}

// bounded is what the check knows of one agent. Amounts are in pips.
type bounded struct {
	worth    core.Pips // cash, reservations and the cost of positions
	realized core.Pips // of the UTC day
	used     core.Pips // E: loss today and open cost
	open     core.Pips // open cost
	rev      uint32
	loss     uint64 // the bound of used: max_daily_loss, or what was used when the mandate was set
	cost     uint64 // the bound of open, likewise
}

func (b *boundsCheck) check(at core.Stamp, cmd core.Command, events []core.Event) error {
	earned, placed := map[core.UserID]core.Pips{}, (*core.PlaceOrder)(nil)
	for _, e := range events {
		switch e := e.(type) {
		case *core.OrderPlaced:
			if e.Reject == core.OK {
				placed = e.Place
			}
		case *core.Filled: // a rebate is cash, but no profit
			earned[e.MakerUser] += e.Rebate
		case *core.Deposited:
			earned[e.User] += e.Amount
		case *core.Transferred:
			if e.Seq == at.Seq { // otherwise the command repeats it
				earned[e.To] += e.Amount
				earned[e.From] -= e.Amount
			}
		}
	}
	midnight := core.DayOf(at.Ts) != b.day
	b.day = core.DayOf(at.Ts)
	for u := range b.v.Users() {
		if u.Agent == nil {
			continue
		}
		a, ok := b.agents[u.ID]
		if !ok {
			a = &bounded{}
			b.agents[u.ID] = a
		}
		if err := b.checkAgent(a, &u, placed, midnight, earned[u.ID]); err != nil {
			return fmt.Errorf("agent %d: %w", u.ID, err)
		}
	}
	return nil
}

func (b *boundsCheck) checkAgent(a *bounded, u *core.User, placed *core.PlaceOrder, midnight bool, earned core.Pips) error {
	if midnight {
		if a.realized < 0 {
			b.lost++
		}
		a.realized = 0
	}
	usage := b.v.Usage(u.ID)
	cash, reserved := b.v.Balance(u.ID)
	worth := cash + reserved + b.v.Performance(u.ID).Cost
	a.realized += worth - a.worth - earned
	a.worth = worth
	if loss := max(0, -a.realized); usage.LossToday != loss {
		return fmt.Errorf("the venue counts a loss of %d today, the sum of its changes is %d", usage.LossToday, loss)
	}
	used := usage.LossToday + usage.OpenCost
	least := core.Pips(0) // what the placement may add
	if placed != nil && placed.User == u.ID && placed.Side == core.Buy {
		b.placed++
		least = b.admissionCost(placed)
	}
	if used > a.used+least {
		return fmt.Errorf("loss today and open cost rise from %d to %d, by more than the cost %d of a buy", a.used, used, least)
	}
	if usage.OpenCost > a.open+least {
		return fmt.Errorf("open cost rises from %d to %d, by more than the cost %d of a buy", a.open, usage.OpenCost, least)
	}
	a.used, a.open = used, usage.OpenCost
	if m := &u.Agent.Mandate; u.Agent.Rev != a.rev {
		a.rev, a.loss, a.cost = u.Agent.Rev, 1<<63, 1<<63
		if m.Has(core.RuleDailyLoss) {
			a.loss = max(m.Cost(core.RuleDailyLoss), uint64(used))
			if uint64(used) > m.Cost(core.RuleDailyLoss) {
				b.halved++
			}
		}
		if m.Has(core.RuleOpenCost) {
			a.cost = max(m.Cost(core.RuleOpenCost), uint64(a.open))
		}
	}
	if uint64(used) > a.loss {
		return fmt.Errorf("loss today and open cost are %d, but the bound is %d", used, a.loss)
	}
	if uint64(a.open) > a.cost {
		return fmt.Errorf("open cost is %d, but the bound is %d", a.open, a.cost)
	}
	if uint64(max(0, -a.realized)) > a.loss {
		return fmt.Errorf("the loss of the day is %d, but the bound is %d", -a.realized, a.loss)
	}
	if least > 0 && uint64(used)+uint64(least) > a.loss {
		b.tight++
	}
	return nil
}

// admissionCost returns what a buy reserves when it is admitted, at most max_cost for a market
// order (docs/rules/money.md#reservations).
func (b *boundsCheck) admissionCost(c *core.PlaceOrder) core.Pips {
	tick := c.Tick
	if c.Unpriced { // the collar can only lower it
		tick = core.TickMax
	}
	rate, p := int64(b.v.Fees().Taker), int64(tick)
	need := int64(c.Qty) * (p + (rate*p*(10000-p)+99_999_999)/100_000_000)
	if c.Type == core.Market {
		need = min(need, int64(c.MaxCost))
	}
	return core.Pips(need)
}

// At every command of random runs, an agent's loss of the day and its open cost together stay
// within max_daily_loss, or within what they were when its mandate was set; only an accepted
// buy raises them, by at most its cost. The venue checks the invariant
// (docs/rules/money.md#the-invariant) after every command.
func TestMandateBoundsHold(t *testing.T) {
	const each = 10_000
	var sum boundsCheck
	var total tally
	for s := *first; s < *first+uint64((*commands+each-1)/each); s++ {
		d := newDirectRun(s)
		d.work.late, d.work.bounded, d.work.unsigned = false, true, true
		b := &boundsCheck{v: d.v, agents: map[core.UserID]*bounded{}}
		var broken error
		d.applied = func(at core.Stamp, cmd core.Command, events []core.Event) {
			if err := b.check(at, core.Unmarked(cmd), events); err != nil && broken == nil {
				broken = fmt.Errorf("seq %d: %s: %w", at.Seq, describe(cmd), err)
			}
		}
		err := d.run(min(each, *commands), 500)
		if broken != nil {
			err = broken
		}
		if err != nil {
			t.Fatalf("%v\n\tgo test ./core/sim -run MandateBounds -first %d -commands %d", err, s, each)
		}
		if s == *first {
			total = newDirectRun(0).tally
		}
		total.add(d.tally)
		sum.placed, sum.halved, sum.tight, sum.lost = sum.placed+b.placed, sum.halved+b.halved, sum.tight+b.tight, sum.lost+b.lost
	}
	t.Logf("%d buys of agents, %d of them within one more of the bound, %d mandates narrower than what was used, %d days with a loss, %d midnights, %d fills, %d transfers, bounds broken %v, orders ended %v, rounds %v",
		sum.placed, sum.tight, sum.halved, sum.lost, total.midnights, total.fills, total.transfers, total.broken, total.reasons, total.rounds)
	if sum.placed == 0 || sum.tight == 0 || sum.halved == 0 || total.broken[core.RuleDailyLoss] == 0 || total.broken[core.RuleOpenCost] == 0 {
		t.Error("the runs do not reach the bounds")
	}
}
