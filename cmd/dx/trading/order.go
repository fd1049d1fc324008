package trading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// Order is `dx order`. Its prices are in cents and its money in dollars.
type Order struct {
	cli.ClientFlags
	Side          string        `arg:"" enum:"buy,sell" help:"buy or sell."`
	Outcome       string        `arg:"" enum:"yes,no" help:"yes or no."`
	Qty           int64         `arg:"" help:"Number of contracts, 1 to 1,000,000." within:"1,1000000"`
	Price         string        `arg:"" optional:"" help:"Limit price in cents, such as @55 or @96.1. Omit it for a market order."`
	Series        SeriesFlag    `help:"Trade in the live market of this series, such as btc-15m." xor:"market" predictor:"series" placeholder:"NAME"`
	MarketID      uint32        `help:"Trade in this market slot; see dx markets." xor:"market" placeholder:"ID"`
	Market        bool          `help:"Place a market order. This is the default without a price."`
	Worst         string        `help:"Worst acceptable price of a market order, in cents. Default: 2 cents beyond the best price of the other side."`
	MaxCost       string        `help:"Maximum to spend in dollars, fees included. A market buy without it may spend $1 and the fee per contract."`
	TIF           string        `help:"Time in force of an order with a price: gtc, gtt, ioc or fok." enum:",gtc,gtt,ioc,fok" default:""`
	Expires       time.Duration `help:"With --tif gtt: cancel the order after this time, such as 30s."`
	Group         uint32        `help:"Group number, for dx cancel --all --group."`
	PostOnly      bool          `help:"Cancel the order if it would fill at once."`
	ReduceOnly    bool          `help:"Only reduce a position, never open or enlarge one."`
	CancelOnPause bool          `help:"Cancel the order when the market freezes or an operator pauses it."`
	StpMaker      bool          `help:"If the order would trade with one of your own, cancel the resting one."`
	ClientOrderID uint64        `help:"Idempotency key, unique per account. Default: the current time in ns."`
	Preview       bool          `help:"Show what the order would do, without placing it."`
	JSON          bool          `help:"Print the venue's answer as JSON, also on a terminal."`
}

func (o *Order) Help() string {
	return `Examples:
  dx order buy yes 10 --series btc-15m --max-cost 9     a market order for at most $9
  dx order buy yes 10 @55 --series btc-15m              a limit order at 55 cents
  dx order sell yes 5 --series gold-5m --worst 40       a market order at 40 cents or better
  dx order sell yes 5 @60 --series btc-60s --preview    what the order would do
  dx order buy yes 10 @3.5 --market-id 1 --post-only --tif gtt --expires 30s

A market order without --worst trades no more than 2 cents beyond the best price that it finds
in the book, or than the price collar of an agent's mandate allows. The sentence names the price.

--series finds the market in which the series trades now and names its generation, so the
order cannot reach a later round. So does --market-id with the round that trades in the slot.

On a terminal the result is a sentence, in a pipe it is the venue's answer as JSON.

An agent's order above ask_above of its mandate is not placed yet: it waits for the owner, who decides
with dx agent approve or reject, or at the address that the answer names. That is no error.

Running the same line twice places two orders, each with its own client_order_id. With
--client-order-id the second one is rejected as a duplicate.`
}

func (o *Order) Run(ctx context.Context, out io.Writer) error {
	if o.Series == "" && o.MarketID == 0 {
		return cli.BadFlag("series", errors.New("choose a market with --series, such as btc-15m, or with --market-id"))
	}
	in, err := o.buildOrder()
	if err != nil {
		return err
	}
	c, err := o.Client()
	if err != nil {
		return err
	}
	if o.TIF == "gtt" {
		now, err := venueTime(ctx, c)
		if err != nil {
			return cli.Explain(err)
		}
		in.ExpiryTs = schemas.Ptr(now + schemas.U64(o.Expires))
	}
	label := orderLabel{&in, fmt.Sprintf("market %d", o.MarketID)}
	if o.Series != "" {
		r, err := o.Series.liveRound(ctx, c)
		if err != nil {
			return err
		}
		in.MarketID, in.Generation = schemas.Int(r.MarketID), schemas.Int(r.Generation)
		label.where = string(o.Series)
	} else {
		m, err := c.Market(ctx, int(o.MarketID))
		if err != nil {
			return cli.Explain(err)
		}
		in.Generation = schemas.Int(m.Generation)
	}
	if in.Type == "market" && in.WorstTick == nil {
		if in.WorstTick, err = defaultWorst(ctx, c, in); err != nil {
			return err
		}
	}
	if o.Preview {
		p, err := c.Preview(ctx, in)
		return printFor(out, o.JSON, p, func() string { return label.previewText(&p) }, err)
	}
	done, err := c.PlaceOrder(ctx, in)
	return printFor(out, o.JSON, done, func() string { return label.placedText(&done) }, err)
}

// buildOrder returns the order that the flags describe, without its expiry. Its market is that of --market-id.
func (o *Order) buildOrder() (in schemas.PlaceOrder, err error) {
	in = schemas.PlaceOrder{
		ClientOrderID: schemas.U64(o.ClientOrderID), MarketID: schemas.Int(o.MarketID), Side: o.Side, Outcome: o.Outcome, Qty: schemas.Int(o.Qty), TIF: o.TIF,
		GroupID: schemas.Int(o.Group), PostOnly: o.PostOnly, ReduceOnly: o.ReduceOnly, CancelOnPause: o.CancelOnPause, StpMaker: o.StpMaker,
	}
	if err := o.checkTime(); err != nil {
		return in, err
	}
	if o.ClientOrderID == 0 {
		in.ClientOrderID = schemas.U64(time.Now().UnixNano())
	}
	if o.MaxCost != "" {
		pips, err := cli.ParseDecimal(o.MaxCost, 10000)
		if err != nil {
			return in, cli.BadFlag("max-cost", err)
		}
		if pips == 0 { // on the wire it is the same as none
			return in, cli.BadFlag("max-cost", errors.New("is at least 0.0001"))
		}
		in.MaxCost = schemas.U64(pips)
	}
	if o.Price == "" {
		return in, o.makeMarketOrder(&in)
	}
	if o.Market || o.Worst != "" {
		return in, cli.BadFlag("price", errors.New("a market order has no limit price; use --worst to bound it"))
	}
	in.Tick, err = ParseLimit("price", o.Price)
	return in, err
}

// checkTime checks the flags about how long an order rests (docs/rules/orders.md#types).
func (o *Order) checkTime() error {
	for _, f := range []struct {
		name  string
		given bool
	}{{"tif", o.TIF != ""}, {"expires", o.Expires != 0}, {"post-only", o.PostOnly}} {
		if f.given && o.Price == "" {
			return cli.BadFlag(f.name, errors.New("is for an order with a price, such as @55; without one it is a market order, which trades at once and cancels the rest"))
		}
	}
	switch {
	case o.TIF == "gtt" && o.Expires <= 0:
		return cli.BadFlag("expires", errors.New("--tif gtt needs the time after which the order is canceled, such as 30s"))
	case o.TIF != "gtt" && o.Expires != 0:
		return cli.BadFlag("expires", errors.New("is for --tif gtt"))
	case o.PostOnly && (o.TIF == "ioc" || o.TIF == "fok"):
		return cli.BadFlag("post-only", errors.New("is for an order that can rest: --tif gtc, the default, or gtt"))
	}
	return nil
}

// MarketBuyCost is what a market buy without another bound may spend per contract, in pips: $1, and
// 3 cents for the fee.
const MarketBuyCost = 10_300

// makeMarketOrder turns in into a market order. A buy without --max-cost may spend $1.03 per
// contract, which no price and fee exceed at the default rates.
func (o *Order) makeMarketOrder(in *schemas.PlaceOrder) (err error) {
	in.Type = "market"
	if o.Side == "buy" && in.MaxCost == 0 {
		in.MaxCost = schemas.U64(max(o.Qty, 0)) * MarketBuyCost
	}
	if o.Worst != "" {
		in.WorstTick, err = parseCents("worst", o.Worst)
	}
	return err
}

// Slippage is how far beyond the best price of the other side a market order trades that names no worst
// price, in pips: a person types it against a book that can be empty a moment later. It is SLIP of the trading screen.
const Slippage = 200

// Worst is the worst price of a market order that names none, in pips: Slippage beyond the best price of
// the other side.
func Worst(side string, best int64) int64 {
	if side == "sell" {
		return max(schemas.TickMin, best-Slippage)
	}
	return min(schemas.TickMax, best+Slippage)
}

// defaultWorst returns the worst tick of a market order that names none: Slippage beyond the best
// price of the other side. It is nil if a mandate's price collar is tighter, since the venue then
// applies the collar.
func defaultWorst(ctx context.Context, c *client.Client, in schemas.PlaceOrder) (*schemas.Int, error) {
	book, err := c.Orderbook(ctx, schemas.GetOrderbook{MarketID: in.MarketID, Depth: schemas.Ptr(schemas.Int(1))})
	if err != nil {
		return nil, cli.Explain(err)
	}
	if in.WorstTick = worstTick(&in, &book); in.WorstTick == nil {
		return nil, fmt.Errorf("nobody %s %s now; with --worst the order is placed anyway", map[string]string{"buy": "offers", "sell": "bids for"}[in.Side], upper(in.Outcome))
	}
	_, err = c.Preview(ctx, in)
	if rejected, ok := errors.AsType[*client.Error](err); ok && rejected.Code == "mandate_violation" && rejected.Details != nil && (*rejected.Details)["rule"] == "price_collar" {
		return nil, nil
	}
	return in.WorstTick, nil // the placement repeats any other error
}

// worstTick is the price Slippage beyond the best of the other side; nil if that side is empty.
func worstTick(in *schemas.PlaceOrder, book *schemas.Orderbook) *schemas.Int {
	own, other := book.Yes, book.No
	if in.Outcome == "no" {
		own, other = other, own
	}
	if in.Side == "sell" {
		if len(own) == 0 {
			return nil
		}
		return schemas.Ptr(schemas.Int(Worst("sell", own[0][0])))
	}
	if len(other) == 0 {
		return nil
	}
	return schemas.Ptr(schemas.Int(Worst("buy", 10_000-other[0][0])))
}

// parseCents parses a price in cents, such as 55 or @55.5, without rounding.
func parseCents(flag, text string) (*schemas.Int, error) {
	pips, err := cli.ParseDecimal(strings.TrimPrefix(text, "@"), 100)
	if err != nil || pips < schemas.TickMin || pips > schemas.TickMax {
		return nil, cli.BadFlag(flag, fmt.Errorf("prices are in cents, above 0, below 100 and no finer than 0.01 cent, such as @47, and not %q", text))
	}
	return schemas.Ptr(schemas.Int(pips)), nil
}

// ParseLimit parses a limit price in cents. A price off the grid (docs/rules/prices.md#grid) is an error
// that names the nearest ones.
func ParseLimit(flag, text string) (*schemas.Int, error) {
	tick, err := parseCents(flag, text)
	if err != nil || core.Narrow().Legal(core.Tick(*tick)) {
		return tick, err
	}
	var near []string
	below, above := core.Narrow().Nearest(core.Tick(*tick))
	for _, x := range []core.Tick{below, above} {
		if x != 0 {
			near = append(near, Cents(int64(x)))
		}
	}
	return nil, cli.BadFlag(flag, fmt.Errorf("prices are 1 to 99.9 cents, whole cents from 4 to 96 and tenths outside; the nearest to %s: %s", cli.FormatCents(int64(*tick)), strings.Join(near, " and ")))
}
