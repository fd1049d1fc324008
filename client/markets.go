package client

import (
	"context"

	"duplex/schemas"
)

const routeStatus = "/v1/exchange/status"

// Time returns the venue's clock. SyncClock measures the local clock against it.
func (c *Client) Time(ctx context.Context) (schemas.Time, error) {
	return do[schemas.Time](ctx, c, "GET", "/v1/time", schemas.None{})
}

// Status reports whether the exchange is active.
func (c *Client) Status(ctx context.Context) (schemas.Status, error) {
	return do[schemas.Status](ctx, c, "GET", routeStatus, schemas.MinSeqOnly{})
}

// Retention returns the caps of listings.
func (c *Client) Retention(ctx context.Context) (schemas.Retention, error) {
	return do[schemas.Retention](ctx, c, "GET", "/v1/exchange/retention", schemas.None{})
}

// Schedule returns planned maintenance and the coming session boundaries.
func (c *Client) Schedule(ctx context.Context) (schemas.Schedule, error) {
	return do[schemas.Schedule](ctx, c, "GET", "/v1/exchange/schedule", schemas.None{})
}

// Fees returns the fee schedule in force.
func (c *Client) Fees(ctx context.Context) (schemas.Fees, error) {
	return do[schemas.Fees](ctx, c, "GET", "/v1/exchange/fees", schemas.MinSeqOnly{})
}

// Markets returns a page of market slots, by ascending id.
func (c *Client) Markets(ctx context.Context, q schemas.ListMarkets) (schemas.MarketList, error) {
	return do[schemas.MarketList](ctx, c, "GET", "/v1/markets", q)
}

// Market returns one slot.
func (c *Client) Market(ctx context.Context, id int) (schemas.MarketRead, error) {
	return do[schemas.MarketRead](ctx, c, "GET", "/v1/markets/{market_id}", schemas.GetMarket{MarketID: schemas.Int(id)})
}

// Orderbook returns the bids for both outcomes of a market.
func (c *Client) Orderbook(ctx context.Context, q schemas.GetOrderbook) (schemas.Orderbook, error) {
	return do[schemas.Orderbook](ctx, c, "GET", "/v1/markets/{market_id}/orderbook", q)
}

// Trades returns a page of a market's public trades, newest first.
func (c *Client) Trades(ctx context.Context, q schemas.ListTrades) (schemas.TradeList, error) {
	return do[schemas.TradeList](ctx, c, "GET", "/v1/markets/{market_id}/trades", q)
}

// Series returns every series, or the one of a category, with its live round.
func (c *Client) Series(ctx context.Context, q schemas.ListSeries) (schemas.SeriesList, error) {
	return do[schemas.SeriesList](ctx, c, "GET", "/v1/series", q)
}

// Rounds returns a page of rounds, newest first, of all series or one.
func (c *Client) Rounds(ctx context.Context, q schemas.ListRounds) (schemas.RoundList, error) {
	return do[schemas.RoundList](ctx, c, "GET", "/v1/rounds", q)
}

// Round returns the current round of a slot.
func (c *Client) Round(ctx context.Context, market int) (schemas.RoundRead, error) {
	return do[schemas.RoundRead](ctx, c, "GET", "/v1/rounds/{market_id}", schemas.GetRound{MarketID: schemas.Int(market)})
}

// OraclePrice returns the index of a feed: 0 BTC, 1 gold, 2 WTI. Price 0 means that there
// is none yet.
func (c *Client) OraclePrice(ctx context.Context, feed int) (schemas.OraclePrice, error) {
	return do[schemas.OraclePrice](ctx, c, "GET", "/v1/oracle/price", schemas.GetOraclePrice{Feed: schemas.Int(feed)})
}

// PriceHistory returns a page of the index of a feed over time, newest first.
func (c *Client) PriceHistory(ctx context.Context, q schemas.GetPriceHistory) (schemas.PriceHistory, error) {
	return do[schemas.PriceHistory](ctx, c, "GET", "/v1/oracle/history", q)
}

// RoundHistory returns a page of the states of a round while it was trading, newest first.
func (c *Client) RoundHistory(ctx context.Context, q schemas.GetRoundHistory) (schemas.RoundHistory, error) {
	return do[schemas.RoundHistory](ctx, c, "GET", "/v1/rounds/{market_id}/history", q)
}

// Evidence returns the evidence of a round's settlement. It reads all pages of ticks.
func (c *Client) Evidence(ctx context.Context, q schemas.GetEvidence) (out schemas.Evidence, err error) {
	for {
		page, err := do[schemas.Evidence](ctx, c, "GET", "/v1/rounds/{market_id}/evidence", q)
		if err != nil {
			return out, err
		}
		ticks := append(out.Ticks, page.Ticks...)
		out = page
		if out.Ticks = ticks; page.Cursor == "" {
			return out, nil
		}
		q.Cursor = page.Cursor
	}
}
