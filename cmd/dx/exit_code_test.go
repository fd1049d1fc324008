package main

import (
	"errors"
	"fmt"
	"testing"

	"duplex/cmd/dx/cli"
	"duplex/core/engine"
	"duplex/core/journal"
)

// TestExitCode checks that a member that must not be restarted exits 3, and what else fails does
// not.
func TestExitCode(t *testing.T) {
	damage := &journal.Damage{File: "db", Err: errors.New("checksum")}
	for _, test := range []struct {
		err  error
		want int
	}{
		{errors.New("a sync failed"), 1},
		{damage, 1}, // on one machine
		{cli.BadFlag("data", errors.New("x")), 2},
		{fmt.Errorf("group 7: %w", engine.ErrDiverged), 3},
		{fmt.Errorf("%w: %w", engine.ErrDamaged, damage), 3},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}
