package tools

import (
	"context"
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
