package trading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Cancel is `dx cancel`, which cancels orders by order_id or client_order_id, or all of an account.
type Cancel struct {
	cli.ClientFlags
	IDs      []uint64   `arg:"" optional:"" name:"order-id" help:"Orders to cancel, by order_id."`
	ClientID uint64     `name:"client-order-id" help:"Cancel the order that this client_order_id placed, such as one whose response was lost." placeholder:"ID"`
	All      bool       `help:"Cancel every resting order, or those selected by --series, --market-id and --group."`
	Series   SeriesFlag `help:"With --all: only orders in the live market of this series, such as btc-15m." xor:"market" predictor:"series" placeholder:"NAME"`
	MarketID uint32     `help:"With --all: only orders in this market slot." xor:"market" placeholder:"ID"`
	Group    uint32     `help:"With --all: only orders of this group." placeholder:"NUMBER"`
	JSON     bool       `help:"Print the venue's answer as JSON, also on a terminal."`
}

func (c *Cancel) Help() string {
	return `Tries to cancel every order, and exits with code 1 if one of them was not canceled. On a terminal the result is a sentence, in a pipe it is the venue's answer as JSON.

Examples:
  dx cancel 184 185
  dx cancel --client-order-id 101
  dx cancel --all
  dx cancel --all --series btc-15m --group 7`
}

func (c *Cancel) Run(ctx context.Context, out io.Writer) error {
	ways := 0
	for _, given := range []bool{c.All, len(c.IDs) > 0, c.ClientID != 0} {
		if given {
			ways++
		}
	}
	if ways != 1 || !c.All && (c.Series != "" || c.MarketID > 0 || c.Group > 0) {
		return cli.BadFlag("all", errors.New("give order ids, --client-order-id or --all; only --all takes --series, --market-id and --group"))
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	if c.Series != "" {
		r, err := c.Series.openRound(ctx, cl)
		if err != nil {
			return err
		}
		c.MarketID = r.MarketID
	}
	if c.All {
		s, err := cl.CancelAll(ctx, schemas.CancelAll{MarketID: schemas.Int(c.MarketID), GroupID: schemas.Int(c.Group)})
		return printFor(out, c.JSON, s, c.allText, err)
	}
	if c.ClientID != 0 {
		r, err := cl.CancelByClientOrderID(ctx, schemas.U64(c.ClientID))
		return printFor(out, c.JSON, r, func() string {
			return fmt.Sprintf("Canceled the order with client_order_id %d: %s.", c.ClientID, Count(int(r.CanceledQty), "contract"))
		}, err)
	}
	var failed []error
	for ids := range slices.Chunk(c.IDs, schemas.BatchCap) {
		batch := make([]schemas.U64, len(ids))
		for i, id := range ids {
			batch[i] = schemas.U64(id)
		}
		r, err := cl.CancelMany(ctx, batch)
		if err := printFor(out, c.JSON, r, func() string { return canceledText(ids, r.Results) }, err); err != nil {
			failed = append(failed, err)
			continue // with the orders of the next batch
		}
		failed = append(failed, notCanceled(ids, r.Results)...)
	}
	return errors.Join(failed...)
}

// allText says what --all canceled.
func (c *Cancel) allText() string {
	text := "Canceled all resting orders"
	if c.Series != "" {
		text += fmt.Sprintf(" in %s", c.Series)
	} else if c.MarketID > 0 {
		text += fmt.Sprintf(" in market %d", c.MarketID)
	}
	if c.Group > 0 {
		text += fmt.Sprintf(" of group %d", c.Group)
	}
	return text + "."
}

// canceledText has a line for each order that was canceled.
func canceledText(ids []uint64, results []schemas.CancelResult) string {
	var lines []string
	for i, r := range results {
		if i < len(ids) && r.Canceled != nil {
			lines = append(lines, fmt.Sprintf("Canceled order %d: %s.", ids[i], Count(int(r.CanceledQty), "contract")))
		}
	}
	if lines == nil {
		return "Nothing was canceled."
	}
	return strings.Join(lines, "\n")
}

// notCanceled returns an error for each order of a batch that was not canceled.
func notCanceled(ids []uint64, results []schemas.CancelResult) (failed []error) {
	for i, id := range ids {
		switch {
		case i >= len(results):
			failed = append(failed, fmt.Errorf("order %d: the venue returned no result", id))
		case results[i].Error != nil:
			m := schemas.ErrorInfoOf(results[i].Error.Code)
			failed = append(failed, fmt.Errorf("order %d: %s: %s %s", id, results[i].Error.Code, m.Means, m.Next))
		}
	}
	return failed
}
