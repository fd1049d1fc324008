package tools

import (
	"context"
	"errors"
	"fmt"

	"duplex/core"
)

// ManualFunding is the embedded funding port: an operator books deposits and decides
// withdrawals (docs/rules/money.md#deposits).
type ManualFunding struct{}

// Address returns the reference by which the operator books a deposit.
func (ManualFunding) Address(_ context.Context, u core.UserID) (address, asset string, err error) {
	return fmt.Sprintf("ledger:%d", u), "USD", nil
}

// Accepts requires a destination of 1 to 128 bytes.
func (ManualFunding) Accepts(_ context.Context, destination string) error {
	if destination == "" || len(destination) > 128 {
		return NewError("bad_destination")
	}
	return nil
}

// fundingError returns the port's own wire error unchanged, and funding_unavailable for
// any other error.
func fundingError(err error) error {
	var refused Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w (%v)", NewError("funding_unavailable"), err)
}
