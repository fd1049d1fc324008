package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// askCap is the number of ended asks that an agent keeps (docs/rules/limits.md#retention).
const askCap = 200

// Ask is what an agent asked its owner, as it is after the command with Seq
// (docs/rules/agent-accounts.md#approvals). Ts is in ns.
type Ask struct {
	Seq uint64
	Ts  int64
	core.AskChanged
}

// asks are those of an agent.
type asks struct {
	waiting []Ask // oldest first
	ended   history[Ask]
}

func (w *View) foldAsk(e *core.AskChanged) {
	x := Ask{w.stamp.Seq, w.stamp.Ts, *e}
	s := &w.mutableAccount(e.Ask.Place.User).asks
	if e.Status == core.AskWaiting {
		s.waiting = append(s.waiting, x)
	} else {
		s.waiting = slices.DeleteFunc(s.waiting, func(y Ask) bool { return y.Ask.ID == e.Ask.ID })
		s.ended.add(x, &w.scratch)
	}
	for _, u := range [2]core.UserID{e.Ask.Place.User, e.Owner} {
		w.addEvent(u, new(x))
	}
}

// Asks iterates over what an agent has asked: what waits, then what has ended, each the newest first.
func (w *View) Asks(u core.UserID) iter.Seq[*Ask] {
	return func(yield func(*Ask) bool) {
		s := &w.account(u).asks
		for i := len(s.waiting) - 1; i >= 0; i-- {
			if !yield(&s.waiting[i]) {
				return
			}
		}
		for _, x := range s.ended.newestFirst(u, 0) {
			if !yield(x) {
				return
			}
		}
	}
}

// WaitingAsk returns what waits of u with that client_order_id, or nil.
func (w *View) WaitingAsk(u core.UserID, id uint64) *Ask {
	for x := range w.Asks(u) {
		if x.Status != core.AskWaiting {
			break
		}
		if x.Ask.Place.ClientID == id {
			return x
		}
	}
	return nil
}

func (s *asks) code(c *coder) {
	codeList(c, &s.waiting, func(x *Ask) { x.code(c) })
	s.ended.code(c)
}

func (x *Ask) code(c *coder) {
	c.header(&x.Seq, &x.Ts)
	x.body(c)
}

// body codes all fields but the header. Ids and times are relative to it. An owner's events have the asks of its
// agents, so the account is coded too.
func (x *Ask) body(c *coder) {
	a, p := &x.Ask, &x.Ask.Place
	if c.reading {
		*x = Ask{Seq: c.seq, Ts: c.ts}
	}
	delta(c, &a.ID, c.seq)
	unsigned(c, &a.Number)
	unsigned(c, &a.Category)
	signed(c, &a.Cost)
	signed(c, &a.OpenCost)
	delta(c, &a.Created, c.ts)
	delta(c, &a.Expires, c.ts)
	unsigned(c, &x.Owner)
	c.string(&x.Agent)
	octet(c, &x.Status)
	octet(c, &x.Reason)
	unsigned(c, &x.Reject)
	c.check(x.Status.String() != "" && x.Reason <= core.KeyRevoked)
	signed(c, &x.Decided)
	unsigned(c, &x.Order)
	unsigned(c, &p.User)
	unsigned(c, &p.Key)
	unsigned(c, &p.ClientID)
	unsigned(c, &p.Market)
	unsigned(c, &p.Generation)
	octet(c, &p.Side)
	octet(c, &p.Outcome)
	octet(c, &p.Type)
	octet(c, &p.TIF)
	octet(c, &p.Flags)
	signed(c, &p.Tick)
	signed(c, &p.Qty)
	signed(c, &p.Expiry)
	signed(c, &p.NotAfter)
	unsigned(c, &p.MaxCost)
	unsigned(c, &p.Group)
	c.check(p.Side <= core.Sell && p.Outcome <= core.No && p.Type <= core.Market && p.TIF <= core.FOK)
}
