package lanetest

import (
	"testing"
	"time"
)

// TestClocksStartTogether checks that a clock does not start in the quarter of an hour in which it is made: a
// venue that a test opens twice would miss its markets if the quarter ended in between.
func TestClocksStartTogether(t *testing.T) {
	defer func(at time.Time) { processStart = at }(processStart)
	processStart = time.Date(2026, time.March, 1, 9, 14, 59, 0, time.UTC)
	want := time.Date(2026, time.March, 1, 9, 0, 1, 0, time.UTC)
	for range 2 {
		if got := NewClock().Time(); !got.Equal(want) {
			t.Errorf("the clock starts at %v", got)
		}
	}
}
