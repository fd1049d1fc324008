package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
		{fmt.Errorf("the log: %w", engine.ErrRemoved), 3},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

// TestErrorsForTheTerminal checks that an error repeats no control sequence, whether of a file or of an
// argument.
func TestErrorsForTheTerminal(t *testing.T) {
	run := filepath.Join(t.TempDir(), "\x1b[2J")
	if err := os.MkdirAll(filepath.Join(run, "1", "trajectories"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "1", "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"\x1b[2J"}, {"arena", "report", run}} {
		code, out, errs := runCommand(args...)
		if code != 2 || strings.Contains(out+errs, "\x1b") || !strings.Contains(errs, "\ufffd[2J") {
			t.Errorf("%q: exit %d\n%q\n%q", args, code, out, errs)
		}
	}
}
