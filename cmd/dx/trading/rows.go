package trading

import (
	"context"
	"fmt"
	"strings"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// rowFlags select the rows of a list of the account.
type rowFlags struct {
	cli.ClientFlags
	cli.Zone
	Series   SeriesFlag `help:"Only rows of this series, such as btc-15m, whichever slots it traded in." xor:"market" predictor:"series" placeholder:"NAME"`
	MarketID *int64     `help:"Only rows of this market slot." xor:"market" placeholder:"ID"`
	Limit    int64      `help:"Number of rows, at most 1000." default:"20" within:"1,1000"`
	JSON     bool       `help:"Print the venue's answer as JSON."`
}

// connect checks the flags and returns a client.
func (f *rowFlags) connect() (*client.Client, error) {
	return f.Client()
}

// market is the filter of a list by slot; nil for none.
func (f *rowFlags) market() *schemas.Int {
	if f.MarketID == nil {
		return nil
	}
	return schemas.Ptr(schemas.Int(*f.MarketID))
}

// category is the filter of a list by series, for lists that the venue filters; nil for none.
func (f *rowFlags) category() *schemas.Int {
	if f.Series == "" {
		return nil
	}
	return schemas.Ptr(schemas.Int(f.Series.Category()))
}

// page is the first page to ask for. With --series it is as large as possible, because the venue
// does not filter the list by series.
func (f *rowFlags) page() schemas.Page {
	limit := f.Limit
	if f.Series != "" {
		limit = schemas.PageMax
	}
	return schemas.Page{Limit: schemas.Ptr(schemas.Int(limit))}
}

// onlySeries is keepRows for the rows of --series. Without --series it returns the rows of the first
// page as they are.
func onlySeries[R any](f *rowFlags, rows []R, end *schemas.PageEnd, category func(*R) uint16, next func(cursor string) ([]R, schemas.PageEnd, error)) ([]R, error) {
	if f.Series == "" {
		return rows, nil
	}
	return keepRows(f, rows, end, func(r *R) bool { return category(r) == f.Series.Category() }, next)
}

// keepRows keeps the rows that the venue cannot select, up to --limit, and reads further pages until
// there are enough or no more.
func keepRows[R any](f *rowFlags, rows []R, end *schemas.PageEnd, keep func(*R) bool, next func(cursor string) ([]R, schemas.PageEnd, error)) ([]R, error) {
	kept := []R{}
	for cursor := end.Cursor; ; {
		for i := range rows {
			if keep(&rows[i]) {
				kept = append(kept, rows[i])
			}
		}
		end.Cursor = "" // a page of the venue begins elsewhere
		if len(kept) >= int(f.Limit) || cursor == "" {
			return kept[:min(len(kept), int(f.Limit))], nil
		}
		more, after, err := next(cursor)
		if err != nil {
			return nil, err
		}
		rows, cursor = more, after.Cursor
	}
}

// slotLife is one generation of a slot, in which one series trades.
type slotLife struct{ market, generation uint32 }

// lives maps the generations of the newest rounds to their series. Rows of orders and positions
// do not name their series.
type lives map[slotLife]uint16

func readLives(ctx context.Context, c *client.Client) (lives, error) {
	l, err := c.Rounds(ctx, schemas.ListRounds{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(schemas.PageMax))}})
	if err != nil {
		return nil, err
	}
	out := lives{}
	for i := range l.Rounds {
		r := &l.Rounds[i]
		out[slotLife{r.MarketID, r.Generation}] = r.Category
	}
	return out, nil
}

// name is the series of a generation, or a dash if its round is too old.
func (l lives) name(market, generation uint32) string {
	if category, ok := l[slotLife{market, generation}]; ok {
		return SeriesName(category)
	}
	return "-"
}

// upper formats an outcome.
func upper(outcome string) string { return strings.ToUpper(outcome) }

// ownPrice is the price of a fill in its own outcome.
func ownPrice(outcome string, tickYes int64) int64 {
	if outcome == "no" {
		return 10_000 - tickYes
	}
	return tickYes
}

// nothing is the text of a list without rows.
func (f *rowFlags) nothing(what string) string {
	if f.Series != "" {
		return fmt.Sprintf("No %s in %s.", what, f.Series)
	}
	if f.MarketID != nil {
		return fmt.Sprintf("No %s in market %d.", what, *f.MarketID)
	}
	return fmt.Sprintf("No %s.", what)
}
