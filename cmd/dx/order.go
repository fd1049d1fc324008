package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// orderCmd is `dx order`: prices are in cents here, as people say them.
type orderCmd struct {
	connect
	Side          string        `arg:"" enum:"buy,sell" help:"buy or sell."`
	Outcome       string        `arg:"" enum:"yes,no" help:"yes or no."`
	Qty           int64         `arg:"" help:"Shares."`
	Price         string        `arg:"" optional:"" help:"Limit in cents, as @55 or @96.1; leave it out for a market order."`
	Market        bool          `help:"Say that a market order is meant; the default without a price."`
	Worst         string        `help:"Worst price of a market order, in cents."`
	MarketID      uint32        `help:"Market slot; see dx markets." required:""`
	MaxCost       string        `help:"Most dollars to spend, fees included; a market buy without it may spend $1 a share."`
	TIF           string        `help:"gtc, gtt, ioc or fok." enum:",gtc,gtt,ioc,fok" default:""`
	Expires       time.Duration `help:"With --tif gtt: how long it rests."`
	Group         uint32        `help:"Group for dx cancel --all --group."`
	PostOnly      bool          `help:"Cancel instead of taking."`
	ReduceOnly    bool          `help:"Never beyond what is held."`
	CancelOnPause bool          `help:"Cancel when the market freezes or pauses."`
	StpMaker      bool          `help:"On a self-trade cancel the resting order."`
	ClientOrderID uint64        `help:"Idempotency key; default: the time in ns."`
	Preview       bool          `help:"Show what would happen and do nothing."`
}

func (o *orderCmd) Help() string {
	return `Examples:
  dx order buy yes 10 @55 --market-id 1            a limit order at 55 cents
  dx order buy no 10 --market-id 1 --max-cost 4    a market order for at most $4
  dx order sell yes 5 --market-id 1 --worst 40     a market order, at 40 cents or better
  dx order sell yes 5 @60 --market-id 1 --preview  what would happen; nothing does
  dx order buy yes 10 @3.5 --market-id 1 --post-only --tif gtt --expires 30s

The same line run twice places two orders, each with a client_order_id of its own;
--client-order-id makes it one.`
}

func (o *orderCmd) Run(ctx context.Context, out io.Writer) error {
	in, err := o.order()
	if err != nil {
		return err
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	if o.Preview {
		p, err := c.Preview(ctx, in)
		return show(out, p, err)
	}
	done, err := c.PlaceOrder(ctx, in)
	return show(out, done, err)
}

func (o *orderCmd) order() (in schemas.PlaceOrder, err error) {
	in = schemas.PlaceOrder{
		ClientOrderID: schemas.U64(o.ClientOrderID), MarketID: schemas.Int(o.MarketID), Side: o.Side, Outcome: o.Outcome, Qty: schemas.Int(o.Qty), TIF: o.TIF,
		GroupID: schemas.Int(o.Group), PostOnly: o.PostOnly, ReduceOnly: o.ReduceOnly, CancelOnPause: o.CancelOnPause, StpMaker: o.StpMaker,
	}
	if o.ClientOrderID == 0 {
		in.ClientOrderID = schemas.U64(time.Now().UnixNano())
	}
	if o.MaxCost != "" {
		pips, err := decimal(o.MaxCost, 10000)
		if err != nil {
			return in, flagError{"max-cost", err}
		}
		in.MaxCost = schemas.U64(pips)
	}
	if o.Expires > 0 {
		in.ExpiryTs = schemas.Of(schemas.U64(time.Now().Add(o.Expires).UnixNano()))
	}
	if o.Price == "" {
		return in, o.atMarket(&in)
	}
	if o.Market || o.Worst != "" {
		return in, flagError{"price", errors.New("a market order has none; --worst bounds it")}
	}
	in.Tick, err = ticks("price", o.Price)
	return in, err
}

// atMarket makes a market order of it. A buy without --max-cost may spend what its
// shares can cost at most.
func (o *orderCmd) atMarket(in *schemas.PlaceOrder) (err error) {
	in.Type = "market"
	if o.Side == "buy" && in.MaxCost == 0 {
		in.MaxCost = schemas.U64(max(o.Qty, 0)) * 10300 // $1 and the dearest fee a share
	}
	if o.Worst != "" {
		in.WorstTick, err = ticks("worst", o.Worst)
	}
	return err
}

// ticks reads a price in cents, as 55 or @55.5, exactly.
func ticks(flag, text string) (*schemas.Int, error) {
	pips, err := decimal(strings.TrimPrefix(text, "@"), 100)
	if err == nil && (pips < schemas.TickMin || pips > schemas.TickMax) {
		err = errors.New("prices are in cents here, over 0 and under 100: @47 is 47 cents, or 4700 pips")
	}
	if err != nil {
		return nil, flagError{flag, err}
	}
	return schemas.Of(schemas.Int(pips)), nil
}

var errDecimal = errors.New("a decimal number is wanted, with no more places than a pip")

// decimal reads a number of units exactly: "55.5" at scale 100 is 5550.
func decimal(text string, scale int64) (int64, error) {
	whole, part, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole, 10, 32)
	if err != nil {
		return 0, errDecimal
	}
	out := int64(n) * scale
	for i := range len(part) {
		scale /= 10
		d := part[i]
		if d < '0' || d > '9' || scale == 0 && d != '0' {
			return 0, errDecimal
		}
		out += int64(d-'0') * scale
	}
	if out > math.MaxInt32*int64(10000) {
		return 0, errDecimal
	}
	return out, nil
}

func show(out io.Writer, v any, err error) error {
	if err != nil {
		return explain(err)
	}
	b, err := schemas.Append(nil, v)
	if err != nil {
		return err
	}
	return printJSON(out, b)
}

// cancelCmd is `dx cancel`.
type cancelCmd struct {
	connect
	IDs      []uint64 `arg:"" optional:"" help:"Order ids."`
	All      bool     `help:"Every resting order, or those of --market-id and --group."`
	MarketID uint32   `help:"With --all: of this market."`
	Group    uint32   `help:"With --all: of this group."`
}

func (c *cancelCmd) Help() string {
	return `Examples:
  dx cancel 184 185
  dx cancel --all
  dx cancel --all --market-id 3 --group 7`
}

func (c *cancelCmd) Run(ctx context.Context, out io.Writer) error {
	if c.All == (len(c.IDs) > 0) || !c.All && (c.MarketID > 0 || c.Group > 0) {
		return flagError{"all", errors.New("give order ids, or --all with or without --market-id and --group")}
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	if c.All {
		s, err := cl.CancelAll(ctx, schemas.CancelAll{MarketID: schemas.Int(c.MarketID), GroupID: schemas.Int(c.Group)})
		return show(out, s, err)
	}
	for len(c.IDs) > 0 {
		n := min(len(c.IDs), schemas.BatchCap)
		ids := make([]schemas.U64, n)
		for i, id := range c.IDs[:n] {
			ids[i] = schemas.U64(id)
		}
		r, err := cl.CancelMany(ctx, ids)
		if err := show(out, r, err); err != nil {
			return err
		}
		c.IDs = c.IDs[n:]
	}
	return nil
}

// explain adds to a refusal what it means and what to do.
func explain(err error) error {
	var e *client.Error
	if errors.As(err, &e) {
		m := schemas.MeaningOf(e.Code)
		return fmt.Errorf("%w: %s %s", err, m.Means, m.Next)
	}
	return err
}
