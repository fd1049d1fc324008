package client

import (
	"context"

	"duplex/schemas"
)

// Markets is a page of market slots by rising id.
func (c *Client) Markets(ctx context.Context, q schemas.ListMarkets) (schemas.MarketList, error) {
	return do[schemas.MarketList](ctx, c, "GET", "/v1/markets", q)
}

// Market reads one slot.
func (c *Client) Market(ctx context.Context, id int) (schemas.MarketRead, error) {
	return do[schemas.MarketRead](ctx, c, "GET", "/v1/markets/{market_id}", schemas.GetMarket{MarketID: schemas.Int(id)})
}

// Orderbook reads the bids for both outcomes of a market.
func (c *Client) Orderbook(ctx context.Context, q schemas.GetOrderbook) (schemas.Orderbook, error) {
	return do[schemas.Orderbook](ctx, c, "GET", "/v1/markets/{market_id}/orderbook", q)
}

// Trades is a page of a market's public trades, newest first.
func (c *Client) Trades(ctx context.Context, q schemas.ListTrades) (schemas.TradeList, error) {
	return do[schemas.TradeList](ctx, c, "GET", "/v1/markets/{market_id}/trades", q)
}

// Rounds is a page of rounds, newest first, over all series or one.
func (c *Client) Rounds(ctx context.Context, q schemas.ListRounds) (schemas.RoundList, error) {
	return do[schemas.RoundList](ctx, c, "GET", "/v1/rounds", q)
}

// Round reads the round a slot is in.
func (c *Client) Round(ctx context.Context, market int) (schemas.RoundRead, error) {
	return do[schemas.RoundRead](ctx, c, "GET", "/v1/rounds/{market_id}", schemas.GetRound{MarketID: schemas.Int(market)})
}

// OraclePrice is the index of a feed: 0 BTC, 1 gold, 2 WTI. Price 0 is none yet.
func (c *Client) OraclePrice(ctx context.Context, feed int) (schemas.OraclePrice, error) {
	return do[schemas.OraclePrice](ctx, c, "GET", "/v1/oracle/price", schemas.GetOraclePrice{Feed: schemas.Int(feed)})
}

// Evidence is what a round settled on, with all its ticks.
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
