package main

import (
	"strings"
	"testing"
)

// TestTopWantsATerminal tests that without a terminal dx top names the alternative.
func TestTopWantsATerminal(t *testing.T) {
	if code, out, errs := runCommand("top"); code != 1 || out != "" || !strings.Contains(errs, "dx watch") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
