package main

import (
	"bytes"
	"testing"
	"time"

	"duplex/core/engine"
	"duplex/server"
)

// TestDrawStart tests that a start that takes long redraws one line of the terminal, and
// erases it at the end.
func TestDrawStart(t *testing.T) {
	var term bytes.Buffer
	began := time.Now()
	draw := drawStart(&term, began)
	p := server.Progress{Phase: engine.Replaying, Unit: "groups", Done: 100, Total: 200}
	draw(p, began)
	if term.Len() > 0 {
		t.Errorf("at once: %q", &term)
	}
	draw(p, began.Add(startRedrawInterval))
	if got := term.String(); got != "\r\x1b[Kreplaying the journal: 50 % of 200 groups" {
		t.Errorf("the terminal has %q, want one line with 50 %% of 200 groups", got)
	}
	term.Reset()
	p.Ended = true
	if draw(p, began); term.String() != "\r\x1b[K" {
		t.Errorf("at the end: %q", &term)
	}
}
