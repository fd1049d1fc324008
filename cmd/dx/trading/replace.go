package trading

import (
	"context"
	"fmt"
	"io"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Replace is `dx replace`. Its price is in cents.
type Replace struct {
	cli.ClientFlags
	OrderID       uint64  `arg:"" name:"order-id" help:"The resting order to replace, by order_id."`
	Qty           int64   `arg:"" help:"Number of contracts of the new order, 1 to 1,000,000." within:"1,1000000"`
	Price         string  `arg:"" help:"Limit price of the new order in cents, such as @55 or @96.1."`
	KeepTotal     bool    `help:"Count in the quantity what the old order has filled."`
	Group         *uint32 `help:"Group number, for dx cancel --all --group. Default: that of the old order."`
	PostOnly      *bool   `negatable:"" help:"Cancel the new order if it would fill at once. The old one is gone then, too. Default: as the old order."`
	ReduceOnly    *bool   `negatable:"" help:"Only reduce a position, never open or enlarge one. Default: as the old order."`
	ClientOrderID uint64  `help:"Idempotency key, unique per account. Default: the current time in ns."`
	JSON          bool    `help:"Print the venue's answer as JSON, also on a terminal."`
}

func (r *Replace) Help() string {
	return `Cancels a resting order and places another of the same market, side and outcome in one
step. Expiry, bound of the cost, group and flags are those of the old order, too. If the new order is
rejected, the old one stays in the book. If the old order no longer rests, nothing is placed.

On a terminal the result is a sentence, in a pipe it is the venue's answer as JSON.

Example:
  dx replace 184 10 @56                                 order 184 moves to 56 cents`
}

func (r *Replace) Run(ctx context.Context, out io.Writer) error {
	in := schemas.ReplaceOrder{
		OrderID: schemas.U64(r.OrderID), ClientOrderID: schemas.U64(r.ClientOrderID), Qty: schemas.Ptr(schemas.Int(r.Qty)), KeepTotal: r.KeepTotal,
		PostOnly: r.PostOnly, ReduceOnly: r.ReduceOnly,
	}
	if r.Group != nil {
		in.GroupID = schemas.Ptr(schemas.Int(*r.Group))
	}
	if r.ClientOrderID == 0 {
		in.ClientOrderID = schemas.U64(time.Now().UnixNano())
	}
	var err error
	if in.Tick, err = ParseLimit("price", r.Price); err != nil {
		return err
	}
	c, err := r.Client()
	if err != nil {
		return err
	}
	done, err := c.Replace(ctx, in)
	if err != nil || r.JSON || !cli.IsTerminal(out) {
		return cli.PrintResult(out, done, err)
	}
	// The result names neither side nor outcome: they are those of the old order.
	old, err := c.Order(ctx, in.OrderID)
	if err != nil {
		return cli.PrintResult(out, done, nil)
	}
	qty := *in.Qty
	if r.KeepTotal {
		qty -= schemas.Int(old.FilledQty)
	}
	label := orderLabel{&schemas.PlaceOrder{Side: old.Side, Outcome: old.Outcome, Tick: in.Tick, Qty: qty}, fmt.Sprintf("market %d", old.MarketID)}
	_, err = fmt.Fprintln(out, label.replacementText(&done))
	return err
}
