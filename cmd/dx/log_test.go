package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestTimesOfTheLog checks that the log on a terminal has times in UTC and says so.
func TestTimesOfTheLog(t *testing.T) {
	var out bytes.Buffer
	r := slog.NewRecord(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("far", 9*3600)), slog.LevelInfo, "words", 0)
	r.Add("time", "another")
	if err := handler(&out, true, slog.LevelInfo).Handle(t.Context(), r); err != nil || !strings.Contains(out.String(), "18:04:05Z") || !strings.Contains(out.String(), "another") {
		t.Errorf("the log line is %q, %v, want the time as 18:04:05Z, and the attribute time", out.String(), err)
	}
}
