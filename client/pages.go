package client

import (
	"context"
	"iter"

	"duplex/schemas"
)

// The methods All… iterate over all pages, from the query's cursor. An error is the last
// element, with a zero row.

// AllOrders iterates over the account's orders, newest first.
func (c *Client) AllOrders(ctx context.Context, q schemas.ListOrders) iter.Seq2[schemas.Order, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Order, string, error) { l, err := c.Orders(ctx, q); return l.Orders, l.Cursor, err })
}

// AllFills iterates over the account's fills, newest first.
func (c *Client) AllFills(ctx context.Context, q schemas.ListFills) iter.Seq2[schemas.Fill, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Fill, string, error) { l, err := c.Fills(ctx, q); return l.Fills, l.Cursor, err })
}

// AllApprovals iterates over the account's orders that wait for its owner, and over those that have ended waiting, the
// newest first.
func (c *Client) AllApprovals(ctx context.Context, q schemas.ListAgentApprovals) iter.Seq2[schemas.AgentApproval, error] {
	return eachPage(&q.Cursor, func() ([]schemas.AgentApproval, string, error) {
		l, err := c.Approvals(ctx, q)
		return l.Approvals, l.Cursor, err
	})
}

// AllPositions iterates over the account's positions, by ascending market id.
func (c *Client) AllPositions(ctx context.Context, q schemas.ListPositions) iter.Seq2[schemas.Position, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Position, string, error) {
		l, err := c.Positions(ctx, q)
		return l.Positions, l.Cursor, err
	})
}

// AllSettlements iterates over the account's settlements, newest first.
func (c *Client) AllSettlements(ctx context.Context, q schemas.ListSettlements) iter.Seq2[schemas.Settlement, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Settlement, string, error) {
		l, err := c.Settlements(ctx, q)
		return l.Settlements, l.Cursor, err
	})
}

// AllLedger iterates over the account's ledger, newest first.
func (c *Client) AllLedger(ctx context.Context, q schemas.ListLedger) iter.Seq2[schemas.LedgerRow, error] {
	return eachPage(&q.Cursor, func() ([]schemas.LedgerRow, string, error) {
		l, err := c.Ledger(ctx, q)
		return l.Ledger, l.Cursor, err
	})
}

// AllPortfolioRounds iterates over the account's rounds, newest first.
func (c *Client) AllPortfolioRounds(ctx context.Context, q schemas.ListPortfolioRounds) iter.Seq2[schemas.AccountRound, error] {
	return eachPage(&q.Cursor, func() ([]schemas.AccountRound, string, error) {
		l, err := c.PortfolioRounds(ctx, q)
		return l.Rounds, l.Cursor, err
	})
}

// AllForecasts iterates over the account's forecasts, newest first.
func (c *Client) AllForecasts(ctx context.Context, q schemas.ListForecasts) iter.Seq2[schemas.Forecast, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Forecast, string, error) {
		l, err := c.Forecasts(ctx, q)
		return l.Forecasts, l.Cursor, err
	})
}

// AllDeposits iterates over the account's deposits, newest first.
func (c *Client) AllDeposits(ctx context.Context, q schemas.ListDeposits) iter.Seq2[schemas.DepositRow, error] {
	return eachPage(&q.Cursor, func() ([]schemas.DepositRow, string, error) {
		l, err := c.Deposits(ctx, q)
		return l.Deposits, l.Cursor, err
	})
}

// AllMarkets iterates over the slots, by ascending id.
func (c *Client) AllMarkets(ctx context.Context, q schemas.ListMarkets) iter.Seq2[schemas.Market, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Market, string, error) { l, err := c.Markets(ctx, q); return l.Markets, l.Cursor, err })
}

// AllTrades iterates over a market's trades, newest first.
func (c *Client) AllTrades(ctx context.Context, q schemas.ListTrades) iter.Seq2[schemas.Trade, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Trade, string, error) { l, err := c.Trades(ctx, q); return l.Trades, l.Cursor, err })
}

// AllRounds iterates over rounds, newest first.
func (c *Client) AllRounds(ctx context.Context, q schemas.ListRounds) iter.Seq2[schemas.Round, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Round, string, error) { l, err := c.Rounds(ctx, q); return l.Rounds, l.Cursor, err })
}

// AllPrices iterates over the steps of a feed's price history, newest first.
func (c *Client) AllPrices(ctx context.Context, q schemas.GetPriceHistory) iter.Seq2[schemas.PriceRow, error] {
	return eachPage(&q.Cursor, func() ([]schemas.PriceRow, string, error) {
		l, err := c.PriceHistory(ctx, q)
		return l.Rows, l.Cursor, err
	})
}

// AllRoundRows iterates over the steps of a round's history, newest first.
func (c *Client) AllRoundRows(ctx context.Context, q schemas.GetRoundHistory) iter.Seq2[schemas.RoundRow, error] {
	return eachPage(&q.Cursor, func() ([]schemas.RoundRow, string, error) {
		l, err := c.RoundHistory(ctx, q)
		return l.Rows, l.Cursor, err
	})
}

// AllWithdrawals iterates over the account's withdrawals, newest first.
func (c *Client) AllWithdrawals(ctx context.Context, q schemas.ListWithdrawals) iter.Seq2[schemas.Withdrawal, error] {
	return eachPage(&q.Cursor, func() ([]schemas.Withdrawal, string, error) {
		l, err := c.Withdrawals(ctx, q)
		return l.Withdrawals, l.Cursor, err
	})
}

// eachPage iterates over the rows of all pages. It stores the cursor of each page in
// *cursor, which the next call of page uses.
func eachPage[R any](cursor *string, page func() ([]R, string, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		defer func(from string) { *cursor = from }(*cursor) // a second iteration starts where the first did
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
