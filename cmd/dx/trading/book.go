package trading

import (
	"context"
	"errors"
	"fmt"
	"io"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Book is `dx book`, which prints an order book.
type Book struct {
	cli.ClientFlags
	MarketID uint32     `arg:"" optional:"" help:"Market slot; see dx markets."`
	Series   SeriesFlag `help:"The live market of this series, such as btc-15m, instead of a slot." predictor:"series" placeholder:"NAME"`
	Depth    int        `help:"Price levels per side, 1 to 1000." default:"10" within:"1,1000"`
	JSON     bool       `help:"Print the venue's answer as JSON."`
}

func (b *Book) Help() string {
	return `Shows the YES asks above the line and the YES bids below it, in cents. A bid for NO at 40 is an ask for YES at 60.

Examples:
  dx book --series btc-15m
  dx book 3
  dx book 3 --depth 1 --json`
}

func (b *Book) Run(ctx context.Context, out io.Writer) error {
	if (b.MarketID == 0) == (b.Series == "") {
		return cli.BadFlag("series", errors.New("give either a market slot or --series"))
	}
	c, err := b.Client()
	if err != nil {
		return err
	}
	if b.Series != "" {
		r, err := b.Series.openRound(ctx, c)
		if err != nil {
			return err
		}
		b.MarketID = r.MarketID
	}
	o, err := c.Orderbook(ctx, schemas.GetOrderbook{MarketID: schemas.Int(b.MarketID), Depth: schemas.Ptr(schemas.Int(b.Depth))})
	if err != nil || b.JSON {
		return cli.PrintResult(out, o, err)
	}
	fmt.Fprintf(out, "market %d, generation %d, seq %s\n", o.MarketID, o.Generation, o.AsOfSeq)
	t := cli.NewTable(">YES", ">QTY", ">= NO BID")
	for i := len(o.No) - 1; i >= 0; i-- { // the YES ask is 10000 minus the NO bid
		t.Row(Cents(10000-o.No[i][0]), o.No[i][1], Cents(o.No[i][0]))
	}
	t.Row("---", "---", "---")
	for _, l := range o.Yes {
		t.Row(Cents(l[0]), l[1], "")
	}
	return t.Print(out, "")
}
