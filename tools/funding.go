package tools

import (
	"context"
	"errors"
	"fmt"

	"duplex/core"
)

// Ledger is the embedded funding port: an operator books deposits and decides
// withdrawals by hand (contract rest).
type Ledger struct{}

// Address is a reference for the operator to book by.
func (Ledger) Address(_ context.Context, u core.UserID) (address, asset string, err error) {
	return fmt.Sprintf("ledger:%d", u), "USD", nil
}

// Accepts wants a destination of 1–128 bytes.
func (Ledger) Accepts(_ context.Context, destination string) error {
	if destination == "" || len(destination) > 128 {
		return Refuse("bad_destination")
	}
	return nil
}

// portError is what a caller is told of a port's error: its refusal, else that it
// does not answer. Nothing was done then.
func portError(err error) error {
	var refused Refused
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w (%v)", Refuse("funding_unavailable"), err)
}
