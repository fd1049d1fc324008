package client

import (
	"context"

	"duplex/schemas"
)

// Withdraw asks for money to be paid out. It needs the withdraw scope, and may be
// repeated with the same client_withdrawal_id.
func (c *Client) Withdraw(ctx context.Context, w schemas.RequestWithdrawal) (schemas.Withdrawal, error) {
	return do[schemas.Withdrawal](ctx, c, "POST", "/v1/withdrawals", w)
}

// Withdrawals is a page of own withdrawals, newest first.
func (c *Client) Withdrawals(ctx context.Context, q schemas.ListWithdrawals) (schemas.WithdrawalList, error) {
	return do[schemas.WithdrawalList](ctx, c, "GET", "/v1/withdrawals", q)
}

// Withdrawal reads one own withdrawal.
func (c *Client) Withdrawal(ctx context.Context, id schemas.U64) (schemas.WithdrawalRead, error) {
	return do[schemas.WithdrawalRead](ctx, c, "GET", "/v1/withdrawals/{withdrawal_id}", schemas.GetWithdrawal{WithdrawalID: id})
}

// DepositAddress says where deposits come in.
func (c *Client) DepositAddress(ctx context.Context) (schemas.DepositAddress, error) {
	return do[schemas.DepositAddress](ctx, c, "GET", "/v1/deposits/address", schemas.Now{})
}
