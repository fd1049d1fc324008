package client

import (
	"context"
	"iter"

	"duplex/schemas"
)

// The lists, page after page from the query's cursor on. An error ends a walk; it
// comes with a zero row.

// AllOrders walks own orders, newest first.
func (c *Client) AllOrders(ctx context.Context, q schemas.ListOrders) iter.Seq2[schemas.Order, error] {
	return walk(&q.Cursor, func() ([]schemas.Order, string, error) { l, err := c.Orders(ctx, q); return l.Orders, l.Cursor, err })
}

// AllFills walks own fills, newest first.
func (c *Client) AllFills(ctx context.Context, q schemas.ListFills) iter.Seq2[schemas.Fill, error] {
	return walk(&q.Cursor, func() ([]schemas.Fill, string, error) { l, err := c.Fills(ctx, q); return l.Fills, l.Cursor, err })
}

// AllPositions walks own positions by rising market.
func (c *Client) AllPositions(ctx context.Context, q schemas.ListPositions) iter.Seq2[schemas.Position, error] {
	return walk(&q.Cursor, func() ([]schemas.Position, string, error) {
		l, err := c.Positions(ctx, q)
		return l.Positions, l.Cursor, err
	})
}

// AllSettlements walks own settlements, newest first.
func (c *Client) AllSettlements(ctx context.Context, q schemas.ListSettlements) iter.Seq2[schemas.Settlement, error] {
	return walk(&q.Cursor, func() ([]schemas.Settlement, string, error) {
		l, err := c.Settlements(ctx, q)
		return l.Settlements, l.Cursor, err
	})
}

// AllMarkets walks the slots by rising id.
func (c *Client) AllMarkets(ctx context.Context, q schemas.ListMarkets) iter.Seq2[schemas.Market, error] {
	return walk(&q.Cursor, func() ([]schemas.Market, string, error) { l, err := c.Markets(ctx, q); return l.Markets, l.Cursor, err })
}

// AllTrades walks a market's trades, newest first.
func (c *Client) AllTrades(ctx context.Context, q schemas.ListTrades) iter.Seq2[schemas.Trade, error] {
	return walk(&q.Cursor, func() ([]schemas.Trade, string, error) { l, err := c.Trades(ctx, q); return l.Trades, l.Cursor, err })
}

// AllRounds walks rounds, newest first.
func (c *Client) AllRounds(ctx context.Context, q schemas.ListRounds) iter.Seq2[schemas.Round, error] {
	return walk(&q.Cursor, func() ([]schemas.Round, string, error) { l, err := c.Rounds(ctx, q); return l.Rounds, l.Cursor, err })
}

// AllWithdrawals walks own withdrawals, newest first.
func (c *Client) AllWithdrawals(ctx context.Context, q schemas.ListWithdrawals) iter.Seq2[schemas.Withdrawal, error] {
	return walk(&q.Cursor, func() ([]schemas.Withdrawal, string, error) {
		l, err := c.Withdrawals(ctx, q)
		return l.Withdrawals, l.Cursor, err
	})
}

// walk reads pages with the cursor of each put where the next is asked from.
func walk[R any](cursor *string, page func() ([]R, string, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		defer func(from string) { *cursor = from }(*cursor) // a second walk begins where the first did
		for {
			rows, next, err := page()
			if err != nil {
				var none R
				yield(none, err)
				return
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			*cursor = next
		}
	}
}
