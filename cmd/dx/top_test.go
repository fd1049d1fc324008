package main

import (
	"strings"
	"testing"
)

// TestTopWantsATerminal: where there is none it says so, and what to use instead.
func TestTopWantsATerminal(t *testing.T) {
	if code, out, errs := runCommand("top"); code != 1 || out != "" || !strings.Contains(errs, "dx watch") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
