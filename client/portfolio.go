package client

import (
	"context"

	"duplex/schemas"
)

// Withdraw requests a withdrawal. It needs the withdraw scope, and may be repeated with
// the same client_withdrawal_id (docs/rules/money.md#withdrawals).
func (c *Client) Withdraw(ctx context.Context, w schemas.RequestWithdrawal) (schemas.Withdrawal, error) {
	return do[schemas.Withdrawal](ctx, c, "POST", routeWithdrawals, w)
}

// Withdrawals returns a page of the account's withdrawals, newest first.
func (c *Client) Withdrawals(ctx context.Context, q schemas.ListWithdrawals) (schemas.WithdrawalList, error) {
	return do[schemas.WithdrawalList](ctx, c, "GET", routeWithdrawals, q)
}

// Withdrawal returns one withdrawal of the account.
func (c *Client) Withdrawal(ctx context.Context, id schemas.U64) (schemas.WithdrawalRead, error) {
	return do[schemas.WithdrawalRead](ctx, c, "GET", "/v1/withdrawals/{withdrawal_id}", schemas.GetWithdrawal{WithdrawalID: id})
}

// Deposits returns a page of the account's deposits, newest first.
func (c *Client) Deposits(ctx context.Context, q schemas.ListDeposits) (schemas.DepositList, error) {
	return do[schemas.DepositList](ctx, c, "GET", "/v1/deposits", q)
}

// DepositAddress says where deposits come in.
func (c *Client) DepositAddress(ctx context.Context) (schemas.DepositAddress, error) {
	return do[schemas.DepositAddress](ctx, c, "GET", "/v1/deposits/address", schemas.MinSeqOnly{})
}

const (
	routeDeadman     = "/v1/portfolio/deadman"
	routeForecasts   = "/v1/forecasts"
	routeRedeem      = "/v1/portfolio/redeem"
	routeWithdrawals = "/v1/withdrawals"
)

// ArmDeadman cancels everything unless it is armed again within the time, which is
// 1000 to 60000 ms.
func (c *Client) ArmDeadman(ctx context.Context, timeoutMs int) (schemas.Armed, error) {
	return c.ArmGroupDeadman(ctx, 0, timeoutMs)
}

// DisarmDeadman takes the dead-man switch off and cancels nothing.
func (c *Client) DisarmDeadman(ctx context.Context) (schemas.Disarmed, error) {
	return c.DisarmGroupDeadman(ctx, 0)
}

// ArmGroupDeadman is ArmDeadman for the orders of a group alone. The switches do not affect each other.
func (c *Client) ArmGroupDeadman(ctx context.Context, group uint32, timeoutMs int) (schemas.Armed, error) {
	return do[schemas.Armed](ctx, c, "POST", routeDeadman, schemas.ArmDeadman{TimeoutMs: schemas.Int(timeoutMs), GroupID: schemas.Int(group)})
}

// DisarmGroupDeadman is DisarmDeadman for the switch of a group.
func (c *Client) DisarmGroupDeadman(ctx context.Context, group uint32) (schemas.Disarmed, error) {
	return do[schemas.Disarmed](ctx, c, "DELETE", routeDeadman, schemas.DeadmanQuery{GroupID: schemas.Int(group)})
}

// Deadman reads the switch of the account. Groups shows those of groups.
func (c *Client) Deadman(ctx context.Context) (schemas.Deadman, error) {
	return do[schemas.Deadman](ctx, c, "GET", routeDeadman, schemas.None{})
}

// Fills is a page of own fills in either role, newest first.
func (c *Client) Fills(ctx context.Context, q schemas.ListFills) (schemas.FillList, error) {
	return do[schemas.FillList](ctx, c, "GET", "/v1/portfolio/fills", q)
}

// Approvals is a page of own orders that wait for the owner, or have ended waiting, newest first
// (docs/rules/agent-accounts.md#approvals).
func (c *Client) Approvals(ctx context.Context, q schemas.ListAgentApprovals) (schemas.AgentApprovalList, error) {
	return do[schemas.AgentApprovalList](ctx, c, "GET", "/v1/portfolio/approvals", q)
}

// Balance is own cash in pips, free and reserved.
func (c *Client) Balance(ctx context.Context) (schemas.Balance, error) {
	return do[schemas.Balance](ctx, c, "GET", "/v1/portfolio/balance", schemas.MinSeqOnly{})
}

// PnL is own profit and loss, with each position at its mark price.
func (c *Client) PnL(ctx context.Context) (schemas.PnL, error) {
	return do[schemas.PnL](ctx, c, "GET", "/v1/portfolio/pnl", schemas.MinSeqOnly{})
}

// Positions is a page of what is held in rounds not yet resolved.
func (c *Client) Positions(ctx context.Context, q schemas.ListPositions) (schemas.PositionList, error) {
	return do[schemas.PositionList](ctx, c, "GET", "/v1/portfolio/positions", q)
}

// Settlements is a page of what finished rounds paid, newest first.
func (c *Client) Settlements(ctx context.Context, q schemas.ListSettlements) (schemas.SettlementList, error) {
	return do[schemas.SettlementList](ctx, c, "GET", "/v1/portfolio/settlements", q)
}

// Ledger is a page of the changes of own cash and reservations, newest first.
func (c *Client) Ledger(ctx context.Context, q schemas.ListLedger) (schemas.LedgerList, error) {
	return do[schemas.LedgerList](ctx, c, "GET", "/v1/portfolio/ledger", q)
}

// PortfolioRounds is a page of what was traded and made in each round, newest first.
func (c *Client) PortfolioRounds(ctx context.Context, q schemas.ListPortfolioRounds) (schemas.AccountRoundList, error) {
	return do[schemas.AccountRoundList](ctx, c, "GET", "/v1/portfolio/rounds", q)
}

// Redeem turns pairs of YES and NO into 10000 pips each.
func (c *Client) Redeem(ctx context.Context, r schemas.Redeem) (schemas.Redeemed, error) {
	return do[schemas.Redeemed](ctx, c, "POST", routeRedeem, r)
}

// SubmitForecast records the probability of YES that the account expects of a round that trades. It
// changes no order and no money; the account's last forecast of a round counts
// (docs/rules/forecasts.md). After an error of unknown outcome Forecasts shows whether it was recorded.
func (c *Client) SubmitForecast(ctx context.Context, f schemas.SubmitForecast) (schemas.SubmittedForecast, error) {
	return do[schemas.SubmittedForecast](ctx, c, "POST", routeForecasts, f)
}

// Forecasts is a page of own forecasts with their scores, newest first.
func (c *Client) Forecasts(ctx context.Context, q schemas.ListForecasts) (schemas.ForecastList, error) {
	return do[schemas.ForecastList](ctx, c, "GET", routeForecasts, q)
}

// Limits is the key's scopes and rate limits.
func (c *Client) Limits(ctx context.Context) (schemas.Limits, error) {
	return do[schemas.Limits](ctx, c, "GET", "/v1/account/limits", schemas.None{})
}
