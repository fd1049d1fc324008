package client

import (
	"context"
	"iter"

	"duplex/schemas"
)

// Each route of the REST lane, in the order of the spec.

func (c *Client) PlaceOrder(ctx context.Context, o schemas.PlaceOrder) (schemas.Outcome, error) {
	return do[schemas.Outcome](ctx, c, "POST", "/v1/portfolio/orders", o)
}

func (c *Client) PlaceOrders(ctx context.Context, o []schemas.PlaceOrder) ([]schemas.PlaceResult, error) {
	return do[[]schemas.PlaceResult](ctx, c, "POST", "/v1/portfolio/orders/batch", schemas.PlaceOrders{Orders: o})
}

func (c *Client) Preview(ctx context.Context, o schemas.PlaceOrder) (schemas.Preview, error) {
	return do[schemas.Preview](ctx, c, "POST", "/v1/portfolio/orders/preview", o)
}

func (c *Client) Cancel(ctx context.Context, id schemas.U64) (schemas.Canceled, error) {
	return do[schemas.Canceled](ctx, c, "DELETE", "/v1/portfolio/orders/{order_id}", schemas.CancelOrder{OrderID: id})
}

func (c *Client) CancelMany(ctx context.Context, ids []schemas.U64) (schemas.CancelResults, error) {
	return do[schemas.CancelResults](ctx, c, "DELETE", "/v1/portfolio/orders/batch", schemas.CancelOrders{OrderIDs: ids})
}

func (c *Client) CancelAll(ctx context.Context, f schemas.CancelAll) (schemas.Sequenced, error) {
	return do[schemas.Sequenced](ctx, c, "DELETE", "/v1/portfolio/orders", f)
}

func (c *Client) Decrease(ctx context.Context, d schemas.DecreaseOrder) (schemas.Decreased, error) {
	return do[schemas.Decreased](ctx, c, "POST", "/v1/portfolio/orders/{order_id}/decrease", d)
}

func (c *Client) ArmDeadman(ctx context.Context, timeoutMs int) (schemas.Armed, error) {
	return do[schemas.Armed](ctx, c, "POST", "/v1/portfolio/deadman", schemas.ArmDeadman{TimeoutMs: schemas.Int(timeoutMs)})
}

func (c *Client) DisarmDeadman(ctx context.Context) (schemas.Disarmed, error) {
	return do[schemas.Disarmed](ctx, c, "DELETE", "/v1/portfolio/deadman", schemas.None{})
}

func (c *Client) Deadman(ctx context.Context) (schemas.Deadman, error) {
	return do[schemas.Deadman](ctx, c, "GET", "/v1/portfolio/deadman", schemas.None{})
}

func (c *Client) Orders(ctx context.Context, q schemas.ListOrders) (schemas.OrderList, error) {
	return do[schemas.OrderList](ctx, c, "GET", "/v1/portfolio/orders", q)
}

func (c *Client) Order(ctx context.Context, id schemas.U64) (schemas.OrderRead, error) {
	return do[schemas.OrderRead](ctx, c, "GET", "/v1/portfolio/orders/{order_id}", schemas.GetOrder{OrderID: id})
}

func (c *Client) Fills(ctx context.Context, q schemas.ListFills) (schemas.FillList, error) {
	return do[schemas.FillList](ctx, c, "GET", "/v1/portfolio/fills", q)
}

func (c *Client) Balance(ctx context.Context) (schemas.Balance, error) {
	return do[schemas.Balance](ctx, c, "GET", "/v1/portfolio/balance", schemas.Now{})
}

func (c *Client) Positions(ctx context.Context, q schemas.ListPositions) (schemas.PositionList, error) {
	return do[schemas.PositionList](ctx, c, "GET", "/v1/portfolio/positions", q)
}

func (c *Client) Settlements(ctx context.Context, q schemas.ListSettlements) (schemas.SettlementList, error) {
	return do[schemas.SettlementList](ctx, c, "GET", "/v1/portfolio/settlements", q)
}

func (c *Client) Redeem(ctx context.Context, r schemas.Redeem) (schemas.Redeemed, error) {
	return do[schemas.Redeemed](ctx, c, "POST", "/v1/portfolio/redeem", r)
}

func (c *Client) Markets(ctx context.Context, q schemas.ListMarkets) (schemas.MarketList, error) {
	return do[schemas.MarketList](ctx, c, "GET", "/v1/markets", q)
}

func (c *Client) Market(ctx context.Context, id int) (schemas.MarketRead, error) {
	return do[schemas.MarketRead](ctx, c, "GET", "/v1/markets/{market_id}", schemas.GetMarket{MarketID: schemas.Int(id)})
}

func (c *Client) Orderbook(ctx context.Context, q schemas.GetOrderbook) (schemas.Orderbook, error) {
	return do[schemas.Orderbook](ctx, c, "GET", "/v1/markets/{market_id}/orderbook", q)
}

func (c *Client) Trades(ctx context.Context, q schemas.ListTrades) (schemas.TradeList, error) {
	return do[schemas.TradeList](ctx, c, "GET", "/v1/markets/{market_id}/trades", q)
}

func (c *Client) Rounds(ctx context.Context, q schemas.ListRounds) (schemas.RoundList, error) {
	return do[schemas.RoundList](ctx, c, "GET", "/v1/rounds", q)
}

func (c *Client) Round(ctx context.Context, market int) (schemas.RoundRead, error) {
	return do[schemas.RoundRead](ctx, c, "GET", "/v1/rounds/{market_id}", schemas.GetRound{MarketID: schemas.Int(market)})
}

func (c *Client) OraclePrice(ctx context.Context, feed int) (schemas.OraclePrice, error) {
	return do[schemas.OraclePrice](ctx, c, "GET", "/v1/oracle/price", schemas.GetOraclePrice{Feed: schemas.Int(feed)})
}

func (c *Client) Limits(ctx context.Context) (schemas.Limits, error) {
	return do[schemas.Limits](ctx, c, "GET", "/v1/account/limits", schemas.None{})
}

func (c *Client) Time(ctx context.Context) (schemas.Time, error) {
	return do[schemas.Time](ctx, c, "GET", "/v1/time", schemas.None{})
}

func (c *Client) Status(ctx context.Context) (schemas.Status, error) {
	return do[schemas.Status](ctx, c, "GET", "/v1/exchange/status", schemas.Now{})
}

func (c *Client) Retention(ctx context.Context) (schemas.Retention, error) {
	return do[schemas.Retention](ctx, c, "GET", "/v1/exchange/retention", schemas.None{})
}

func (c *Client) Schedule(ctx context.Context) (schemas.Schedule, error) {
	return do[schemas.Schedule](ctx, c, "GET", "/v1/exchange/schedule", schemas.None{})
}

func (c *Client) Fees(ctx context.Context) (schemas.Fees, error) {
	return do[schemas.Fees](ctx, c, "GET", "/v1/exchange/fees", schemas.Now{})
}

func (c *Client) Withdraw(ctx context.Context, w schemas.RequestWithdrawal) (schemas.Withdrawal, error) {
	return do[schemas.Withdrawal](ctx, c, "POST", "/v1/withdrawals", w)
}

func (c *Client) Withdrawals(ctx context.Context, q schemas.ListWithdrawals) (schemas.WithdrawalList, error) {
	return do[schemas.WithdrawalList](ctx, c, "GET", "/v1/withdrawals", q)
}

func (c *Client) Withdrawal(ctx context.Context, id schemas.U64) (schemas.WithdrawalRead, error) {
	return do[schemas.WithdrawalRead](ctx, c, "GET", "/v1/withdrawals/{withdrawal_id}", schemas.GetWithdrawal{WithdrawalID: id})
}

func (c *Client) DepositAddress(ctx context.Context) (schemas.DepositAddress, error) {
	return do[schemas.DepositAddress](ctx, c, "GET", "/v1/deposits/address", schemas.Now{})
}

// AllOrders walks every page of a filter, newest first.
func (c *Client) AllOrders(ctx context.Context, q schemas.ListOrders) iter.Seq2[schemas.Order, error] {
	return func(yield func(schemas.Order, error) bool) {
		for {
			l, err := c.Orders(ctx, q)
			if err != nil {
				yield(schemas.Order{}, err)
				return
			}
			for _, o := range l.Orders {
				if !yield(o, nil) {
					return
				}
			}
			if q.Cursor = l.Cursor; q.Cursor == "" {
				return
			}
		}
	}
}
