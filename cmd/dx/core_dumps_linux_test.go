package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// TestNoCoreDumps checks that the system would write no core file of a running venue.
func TestNoCoreDumps(t *testing.T) {
	p := start(t, t.TempDir(), "--no-maker", "--quiet")
	defer p.stop()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`Max core file size +0 +0 `).Match(limits) {
		t.Errorf("the limits of the venue: %v\n%s, want a core file size of 0", err, limits)
	}
}
