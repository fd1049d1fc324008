package docs_test

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"duplex/core"
	"duplex/core/round"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// story is the venue on which the lines of a block named market run. The lines use one market,
// the 60 s series of BTC, opened at a strike of 65000.00, and four accounts with 1,000,000 pips
// each.
type story struct {
	v      *venue.Venue
	w      *view.View
	at     core.Stamp
	round  core.Round
	labels map[string]core.OrderID
	client uint64
}

const (
	storyBegins = int64(1_800_000_000) * core.NsPerSec // 2027-01-15 08:00:00 UTC
	storyMarket = core.MarketID(1)
	storyFunds  = core.Pips(1_000_000)
)

var storyPeople = []string{"", "Ann", "Ben", "Cy", "Dee"}

func newStory() *story {
	s := &story{v: venue.New(), w: view.New(view.DefaultRetentionCaps()), at: core.Stamp{Ts: storyBegins}, labels: map[string]core.OrderID{}, client: 1000}
	s.do(&core.ActivateRules{Revision: core.RevisionNewest})
	for _, name := range storyPeople[1:] {
		s.do(&core.CreateUser{Name: name})
	}
	for u := range storyPeople[1:] {
		s.do(&core.Deposit{User: core.UserID(u + 1), DepositID: strconv.Itoa(u), Amount: storyFunds})
	}
	s.do(&core.SetSession{Feed: core.BTC, Open: true})
	s.do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: storyBegins / core.NsPerSec, Price: scaled("65000.00"), Count: 3}})
	s.do(&core.Clock{})
	return s
}

// do applies a command to the venue and the view.
func (s *story) do(c core.Command) (core.Reject, []core.Event) {
	s.at.Seq++
	s.at.Ts++
	ev := &core.Events{}
	r := s.v.Apply(s.at, c, ev)
	s.w.Fold(s.at, ev.List)
	s.v.Audit()
	for _, e := range ev.List {
		if e, ok := e.(*core.RoundChanged); ok && e.Round.Market == storyMarket && e.Round.Generation == 1 {
			s.round = e.Round
		}
	}
	return r, ev.List
}

// line runs one line and returns the wanted figures after it.
func (s *story) line(in string, wanted []string) (string, error) {
	label, rest, labeled := strings.Cut(in, ": ")
	if !labeled {
		rest = in
	}
	w := strings.Fields(rest)
	var out figuresOf
	var err error
	switch {
	case w[0] == "venue":
		out = s.venueNow()
	case w[0] == "wait":
		var d time.Duration
		if d, err = time.ParseDuration(w[1]); err == nil {
			s.at.Ts += int64(d)
			s.do(&core.Clock{})
			out = s.roundNow()
		}
	case w[0] == "operator":
		out, err = s.operator(w[1:])
	case s.labels[w[0]] != 0:
		out = s.orderNow(s.labels[w[0]])
	default:
		out, err = s.person(w, label)
	}
	if err != nil {
		return "", err
	}
	return out.format(wanted)
}

func (s *story) person(w []string, label string) (figuresOf, error) {
	var u core.UserID
	for i, name := range storyPeople {
		if name == w[0] {
			u = core.UserID(i)
		}
	}
	if u == 0 {
		return nil, fmt.Errorf("no account is called %q", w[0])
	}
	if len(w) == 1 {
		return s.accountNow(u), nil
	}
	switch w[1] {
	case "buys", "sells":
		return s.place(u, w[1:], label)
	case "cancels":
		return s.change(u, s.labels[w[2]], &core.CancelOrder{User: u, Order: s.labels[w[2]]}), nil
	case "decreases":
		return s.change(u, s.labels[w[2]], &core.DecreaseOrder{User: u, Order: s.labels[w[2]], To: w[3] == "to", Amount: core.Qty(number(w[4]))}), nil
	case "quotes":
		return s.quote(u, w[2:], label)
	case "replaces":
		o := s.w.Order(u, s.labels[w[2]])
		s.client++
		return s.enter(&core.ReplaceOrder{Old: o.ID, PlaceOrder: core.PlaceOrder{
			User: u, ClientID: s.client, Market: o.Market, Side: o.Side, Outcome: o.Outcome, Qty: core.Qty(number(w[4])), Tick: core.Tick(number(w[6])),
		}}, u, label)
	case "ledger":
		return s.ledgerRow(u, uint64(number(w[2])))
	case "round":
		return s.accountRound(u)
	case "redeems":
		r, events := s.do(&core.Redeem{User: u, Market: storyMarket, Qty: core.Qty(number(w[2]))})
		out := s.accountNow(u)
		out["code"] = r.String()
		for _, e := range events {
			if e, ok := e.(*core.Redeemed); ok {
				out["credit"] = fmt.Sprint(e.Credit)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("no action %q of an account", w[1])
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// place reads "buys 10 yes at 5300 fok" or "buys 10 yes at market max_cost 20000".
func (s *story) place(u core.UserID, w []string, label string) (figuresOf, error) {
	s.client++
	c := &core.PlaceOrder{User: u, ClientID: s.client, Market: storyMarket, Qty: core.Qty(number(w[1]))}
	if w[0] == "sells" {
		c.Side = core.Sell
	}
	if w[2] == "no" {
		c.Outcome = core.No
	}
	if w[4] == "market" {
		c.Type, c.TIF, c.Tick = core.Market, core.IOC, schemas.TickMax
		if c.Side == core.Sell {
			c.Tick = schemas.TickMin
		}
	} else {
		c.Tick = core.Tick(number(w[4]))
	}
	for i := 5; i < len(w); i++ {
		switch w[i] {
		case "ioc":
			c.TIF = core.IOC
		case "fok":
			c.TIF = core.FOK
		case "post_only":
			c.Flags |= core.PostOnly
		case "reduce_only":
			c.Flags |= core.ReduceOnly
		case "stp_maker":
			c.Flags |= core.StpMaker
		case "max_cost":
			i++
			c.MaxCost = uint64(number(w[i]))
		case "id":
			i++
			c.ClientID = uint64(number(w[i]))
		default:
			return nil, fmt.Errorf("an order has no option %q", w[i])
		}
	}
	return s.enter(c, u, label)
}

// enter applies a command that places an order, and returns its figures.
func (s *story) enter(cmd core.Command, u core.UserID, label string) (figuresOf, error) {
	r, events := s.do(cmd)
	out := s.accountNow(u)
	if out["code"] = r.String(); r != core.OK {
		return out, nil
	}
	id := core.OrderID(s.at.Seq)
	if label != "" {
		s.labels[label] = id
	}
	maps.Copy(out, s.orderNow(id))
	if c, ok := cmd.(*core.PlaceOrder); ok {
		s.fills(c, events, out)
	}
	return out, nil
}

// quote reads "bid 10 at 4700", for group 1.
func (s *story) quote(u core.UserID, w []string, label string) (figuresOf, error) {
	s.client++
	c := &core.QuoteSide{PlaceOrder: core.PlaceOrder{User: u, ClientID: s.client, Market: storyMarket, Group: 1, Qty: core.Qty(number(w[1])), Tick: core.Tick(number(w[3]))}}
	if w[0] == "ask" {
		c.Side = core.Sell
	}
	r, events := s.do(c)
	out := s.accountNow(u)
	out["code"] = r.String()
	for _, e := range events {
		if e, ok := e.(*core.Quoted); ok {
			if label != "" {
				s.labels[label] = e.Order
			}
			maps.Copy(out, s.orderNow(e.Order))
			out["kept"], out["canceled"] = fmt.Sprint(e.Kept), fmt.Sprint(e.Canceled)
		}
	}
	return out, nil
}

// fills adds the sums of a placement's fills to out: the fee, the amount paid or received, and
// the path and tick of the last fill.
func (s *story) fills(c *core.PlaceOrder, events []core.Event, out figuresOf) {
	var price, fee core.Pips
	for _, e := range events {
		if f, ok := e.(*core.Filled); ok {
			price += core.Pips(f.Qty) * core.Pips(core.InYes(c.Outcome, f.TickYes))
			fee += f.TakerFee
			out["path"], out["tick_yes"] = f.Path.String(), fmt.Sprint(f.TickYes)
		}
	}
	out["fee"] = fmt.Sprint(fee)
	if c.Side == core.Buy {
		out["paid"] = fmt.Sprint(price + fee)
	} else {
		out["gets"] = fmt.Sprint(price - fee)
	}
}

// change applies a command to an order and returns the figures of the order and its account.
func (s *story) change(u core.UserID, id core.OrderID, c core.Command) figuresOf {
	r, _ := s.do(c)
	out := s.accountNow(u)
	maps.Copy(out, s.orderNow(id))
	out["code"] = r.String()
	return out
}

func (s *story) orderNow(id core.OrderID) figuresOf {
	for u := 1; u < len(storyPeople); u++ {
		if o := s.w.Order(core.UserID(u), id); o != nil {
			out := figuresOf{"status": o.Status.String(), "reason": o.Reason.String(), "filled": fmt.Sprint(o.Filled), "remaining": fmt.Sprint(o.Left)}
			if ahead, rests := s.v.QueueAhead(id); rests {
				out["ahead"] = fmt.Sprint(ahead)
			}
			return out
		}
	}
	panic("no such order")
}

func (s *story) accountNow(u core.UserID) figuresOf {
	cash, reserved := s.v.Balance(u)
	p := s.v.Position(u, storyMarket)
	l := tools.PnLOf(s.v, u)
	return figuresOf{
		"cash": fmt.Sprint(cash), "reserved": fmt.Sprint(reserved), "yes": fmt.Sprint(p.Yes), "no": fmt.Sprint(p.No), "cost": fmt.Sprint(p.Cost),
		"realized": fmt.Sprint(int64(l.Realized)), "unrealized": fmt.Sprint(int64(l.Unrealized)), "equity": l.Equity.String(), "open_cost": l.OpenCost.String(),
		"fees": l.Fees.String(), "deposits_net": fmt.Sprint(int64(l.DepositsNet)),
	}
}

// ledgerRow returns row n of an account's ledger.
func (s *story) ledgerRow(u core.UserID, n uint64) (figuresOf, error) {
	for at, r := range s.w.Ledger(u, n+1) {
		if at == n {
			return figuresOf{"kind": r.Kind.String(), "amount": fmt.Sprint(r.Amount), "balance_after": fmt.Sprint(r.BalanceAfter)}, nil
		}
	}
	return nil, fmt.Errorf("the ledger has no row %d", n)
}

// accountRound returns what an account made in its newest round.
func (s *story) accountRound(u core.UserID) (figuresOf, error) {
	for _, x := range s.w.AccountRounds(u, 0) {
		r := tools.AccountRoundOf(&x)
		out := figuresOf{
			"status": r.Status, "bought_yes": fmt.Sprint(r.BoughtYes), "sold_yes": fmt.Sprint(r.SoldYes), "paid": r.Paid.String(), "received": r.Received.String(),
			"fees": r.Fees.String(), "payout": r.Payout.String(), "profit": "null",
		}
		if r.Profit != nil {
			out["profit"] = fmt.Sprint(int64(*r.Profit))
		}
		return out, nil
	}
	return nil, errors.New("the account has no round")
}

func (s *story) roundNow() figuresOf {
	return figuresOf{"status": s.round.Status.String(), "winner": s.round.Winner.String(), "yes_payout": fmt.Sprint(round.YesPayout(&s.round))}
}

func (s *story) venueNow() figuresOf {
	sums := s.v.Sums()
	collateral := core.Pips(sums.Pairs) * core.Payout
	return figuresOf{
		"pairs": fmt.Sprint(sums.Pairs), "collateral": fmt.Sprint(collateral), "fees": fmt.Sprint(sums.Fees),
		"total": fmt.Sprint(sums.Cash + sums.Reserved + collateral + sums.Fees),
	}
}

// operator reads "voids", "proposes 66000" or "sets maker 100 taker 250".
func (s *story) operator(w []string) (figuresOf, error) {
	var c core.Command
	switch w[0] {
	case "voids":
		c = &core.VoidMarket{Market: storyMarket}
	case "proposes":
		c = &core.ProposePrice{Market: storyMarket, Price: scaled(w[1])}
	case "sets":
		c = &core.SetFees{Fees: core.Fees{Maker: core.Rate(number(w[2])), Taker: core.Rate(number(w[4]))}}
	default:
		return nil, fmt.Errorf("no action %q of the operator", w[0])
	}
	r, _ := s.do(c)
	out := s.roundNow()
	if out["code"] = r.String(); r == core.OK {
		out["ok"] = ""
	}
	return out, nil
}
