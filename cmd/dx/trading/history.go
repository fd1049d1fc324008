package trading

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// Orders is `dx orders`, which lists the account's orders.
type Orders struct {
	rowFlags
	All    bool   `help:"Also list orders that have ended." xor:"status"`
	Status string `help:"Only these: resting, partially_filled, executed, canceled, expired, rejected." xor:"status" placeholder:"LIST"`
}

func (o *Orders) Help() string {
	return `Lists the orders that rest, newest first. PRICE is in cents of the order's own outcome; that of a market order is its worst acceptable price. LEFT is what still rests, and AHEAD the contracts ahead of it at its price. SERIES is a dash for an order whose round is not among the newest 1000.

Examples:
  dx orders
  dx orders --series btc-15m --all
  dx orders --status canceled,rejected --limit 100
  dx orders --json | jq -r '.orders[].order_id'`
}

func (o *Orders) Run(ctx context.Context, out io.Writer) error {
	if o.Status != "" {
		for s := range strings.SplitSeq(o.Status, ",") {
			if !slices.Contains(core.OrderStatuses(), s) {
				return cli.BadFlag("status", fmt.Errorf("%q is not one of %s; --all lists orders of every status", s, strings.Join(core.OrderStatuses(), ", ")))
			}
		}
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	q := schemas.ListOrders{Status: o.Status, MarketID: o.market(), Page: o.page()}
	if !o.All && o.Status == "" {
		q.Status = "resting,partially_filled"
	}
	list, err := c.Orders(ctx, q)
	if err != nil || o.JSON && o.Series == "" {
		return cli.PrintResult(out, list, err)
	}
	series, err := readLives(ctx, c)
	if err != nil {
		return cli.Explain(err)
	}
	category := func(r *schemas.Order) uint16 { return series[slotLife{r.MarketID, r.Generation}] }
	list.Orders, err = onlySeries(&o.rowFlags, list.Orders, &list.PageEnd, category, func(cursor string) ([]schemas.Order, schemas.PageEnd, error) {
		q.Cursor = cursor
		l, err := c.Orders(ctx, q)
		return l.Orders, l.PageEnd, err
	})
	if err != nil || o.JSON {
		return cli.PrintResult(out, list, err)
	}
	what := "orders"
	if q.Status == "resting,partially_filled" {
		what = "resting orders"
	}
	ahead, err := readAhead(ctx, c, list.Orders)
	if err != nil {
		return cli.Explain(err)
	}
	return printOrders(out, o.Zone, list.Orders, series, ahead, o.nothing(what))
}

// readAhead reads how many contracts are ahead of each order that rests, by order_id. A list has no
// places in the queue, so it reads the orders one by one.
func readAhead(ctx context.Context, c *client.Client, orders []schemas.Order) (map[schemas.U64]int64, error) {
	ahead := map[schemas.U64]int64{}
	for i := range orders {
		o := &orders[i]
		if o.OrderID == nil || o.Status != "resting" && o.Status != "partially_filled" {
			continue
		}
		read, err := c.Order(ctx, *o.OrderID)
		if err != nil {
			return nil, err
		}
		if read.QueueAhead != nil {
			ahead[*o.OrderID] = *read.QueueAhead
		}
	}
	return ahead, nil
}

func printOrders(out io.Writer, zone cli.Zone, orders []schemas.Order, series lives, ahead map[schemas.U64]int64, empty string) error {
	t := cli.NewTable("ORDER", zone.Column("TIME"), "SERIES", ">MARKET", "SIDE", "OUTCOME", ">PRICE", ">QTY", ">FILLED", ">LEFT", ">AHEAD", "TIF", "STATUS")
	for i := range orders {
		o := &orders[i]
		id, before := "-", any("-")
		if o.OrderID != nil {
			id = cli.ID(*o.OrderID)
			if n, rests := ahead[*o.OrderID]; rests {
				before = n
			}
		}
		status := strings.ReplaceAll(o.Status, "_", " ")
		if o.Reason != "" {
			status += ": " + reasonText(o.Reason)
		}
		t.Row(id, zone.Format(o.CreatedTs, time.DateTime), series.name(o.MarketID, o.Generation), cli.ID(o.MarketID), o.Side, upper(o.Outcome), Cents(o.Tick), o.Qty,
			o.FilledQty, o.RemainingQty, before, o.TIF, status)
	}
	return t.Print(out, empty)
}

// Fills is `dx fills`, which lists the account's fills.
type Fills struct {
	rowFlags
	Order uint64 `help:"Only fills of this order, by order_id." placeholder:"ID"`
}

func (f *Fills) Help() string {
	return `Lists what was bought and sold, newest first. PRICE is in cents of the outcome, AMOUNT what was paid or received without the fee, in dollars.

Examples:
  dx fills
  dx fills --series gold-5m --limit 100
  dx fills --order 184 --json`
}

func (f *Fills) Run(ctx context.Context, out io.Writer) error {
	c, err := f.connect()
	if err != nil {
		return err
	}
	q := schemas.ListFills{MarketID: f.market(), Page: f.page()}
	if f.Order > 0 {
		q.OrderID = schemas.Ptr(schemas.U64(f.Order))
	}
	list, err := c.Fills(ctx, q)
	if err != nil {
		return cli.Explain(err)
	}
	list.Fills, err = onlySeries(&f.rowFlags, list.Fills, &list.PageEnd, func(r *schemas.Fill) uint16 { return r.Category }, func(cursor string) ([]schemas.Fill, schemas.PageEnd, error) {
		q.Cursor = cursor
		l, err := c.Fills(ctx, q)
		return l.Fills, l.PageEnd, err
	})
	if err != nil || f.JSON {
		return cli.PrintResult(out, list, err)
	}
	return printFills(out, f.Zone, list.Fills, f.nothing("fills"))
}

func printFills(out io.Writer, zone cli.Zone, fills []schemas.Fill, empty string) error {
	t := cli.NewTable(">N", zone.Column("TIME"), "SERIES", ">MARKET", ">ROUND", "SIDE", "OUTCOME", ">QTY", ">PRICE", ">AMOUNT", ">FEE", "ROLE", "ORDER")
	for i := range fills {
		f := &fills[i]
		at := ownPrice(f.Outcome, f.TickYes)
		t.Row(cli.ID(f.N), zone.Format(f.Ts, time.DateTime), SeriesName(f.Category), cli.ID(f.MarketID), cli.ID(f.RoundNumber), f.Side, upper(f.Outcome), f.Qty, cli.FormatCents(at),
			cli.FormatDollars(at*f.Qty), cli.FormatDollars(f.Fee.Int64()), f.Role, cli.ID(f.OrderID))
	}
	return t.Print(out, empty)
}

// Rounds is `dx rounds`, which lists rounds with their results and the account's profit.
type Rounds struct {
	rowFlags
	Mine bool `help:"Only rounds in which the account traded."`
}

func (r *Rounds) Help() string {
	return `Lists rounds, newest first. RESULT is the outcome that won, once the price at the end is known. YES and NO are what the account bought less what it sold or redeemed, and PROFIT what it made or lost, fees included, once the round is final; they are dashes where it did not trade.

With --json and --mine it prints the account's results by round, else the rounds.

Examples:
  dx rounds
  dx rounds --series btc-60s --limit 100
  dx rounds --mine --json | jq -r '.rounds[] | [.round_number, .profit_usd] | @tsv'`
}

func (r *Rounds) Run(ctx context.Context, out io.Writer) error {
	c, err := r.connect()
	if err != nil {
		return err
	}
	size := schemas.Page{Limit: schemas.Ptr(schemas.Int(r.Limit))}
	own := schemas.AccountRoundList{Rounds: []schemas.AccountRound{}}
	q := schemas.ListPortfolioRounds{Category: r.category(), Page: size}
	if !r.Mine || r.MarketID != nil { // to find those that are among the rounds, or in the market
		q.Limit = schemas.Ptr(schemas.Int(schemas.PageMax))
	}
	if r.Mine || !r.JSON {
		if own, err = c.PortfolioRounds(ctx, q); err != nil {
			return cli.Explain(err)
		}
	}
	if r.Mine {
		if r.MarketID != nil {
			own.Rounds, err = keepRows(&r.rowFlags, own.Rounds, &own.PageEnd, func(x *schemas.AccountRound) bool { return int64(x.MarketID) == *r.MarketID }, func(cursor string) ([]schemas.AccountRound, schemas.PageEnd, error) {
				q.Cursor = cursor
				l, err := c.PortfolioRounds(ctx, q)
				return l.Rounds, l.PageEnd, err
			})
		}
		if err != nil || r.JSON {
			return cli.PrintResult(out, own, err)
		}
		return printOwnRounds(out, own.Rounds, r.nothing("rounds with trades"))
	}
	list, err := c.Rounds(ctx, schemas.ListRounds{Category: r.category(), MarketID: r.market(), Page: size})
	if err != nil || r.JSON {
		return cli.PrintResult(out, list, err)
	}
	return printRounds(out, r.Zone, list.Rounds, own.Rounds, r.nothing("rounds"))
}

func printRounds(out io.Writer, zone cli.Zone, rounds []schemas.Round, own []schemas.AccountRound, empty string) error {
	traded := map[schemas.U64]*schemas.AccountRound{}
	for i := range own {
		traded[own[i].RoundNumber] = &own[i]
	}
	t := cli.NewTable(">ROUND", "SERIES", ">MARKET", zone.Column("CLOSES"), "STATUS", ">STRIKE", ">SETTLED AT", "RESULT", ">YES", ">NO", ">PROFIT")
	for i := range rounds {
		r := &rounds[i]
		settled := "-"
		if r.SettlePrice > 0 {
			settled = cli.FormatPrice(r.SettlePrice)
		}
		t.Row(append([]any{cli.ID(r.RoundNumber), SeriesName(r.Category), cli.ID(r.MarketID), zone.Format(r.CloseTs, time.DateTime), r.Status, cli.FormatPrice(r.Strike), settled, result(r.Status, r.Winner)},
			ownResult(traded[r.RoundNumber], cli.HasColor(out))...)...)
	}
	return t.Print(out, empty)
}

func printOwnRounds(out io.Writer, rounds []schemas.AccountRound, empty string) error {
	t := cli.NewTable(">ROUND", "SERIES", ">MARKET", "STATUS", "RESULT", ">PAID", ">RECEIVED", ">FEES", ">PAYOUT", ">YES", ">NO", ">PROFIT")
	for i := range rounds {
		r := &rounds[i]
		t.Row(append([]any{cli.ID(r.RoundNumber), SeriesName(r.Category), cli.ID(r.MarketID), r.Status, result(r.Status, r.Winner), cli.FormatDollars(r.Paid.Int64()),
			cli.FormatDollars(r.Received.Int64()), cli.FormatDollars(r.Fees.Int64()), cli.FormatDollars(r.Payout.Int64())}, ownResult(r, cli.HasColor(out))...)...)
	}
	return t.Print(out, empty)
}

// ownResult has the cells YES, NO and PROFIT of a round.
func ownResult(r *schemas.AccountRound, color bool) []any {
	if r == nil {
		return []any{"-", "-", "-"}
	}
	profit := "-"
	if r.Profit != nil {
		profit = cli.FormatGain(int64(*r.Profit), color)
	}
	return []any{r.BoughtYes - r.SoldYes - r.Redeemed, r.BoughtNo - r.SoldNo - r.Redeemed, profit}
}

// result is the outcome that won.
func result(status string, winner *string) string {
	switch {
	case winner != nil:
		return upper(*winner)
	case status == "void":
		return "void"
	}
	return "-"
}
