package main

import (
	"bytes"
	"strings"
	"testing"

	"duplex/cmd/dx/cli"
)

func TestProgressBar(t *testing.T) {
	var to bytes.Buffer
	b := replayProgress{&cli.Counter{To: &to, Unit: "groups"}, 200}
	b.update(50)
	b.update(60) // too soon after the last update
	b.update(200)
	if got := to.String(); !strings.Contains(got, "[==========   ") || !strings.Contains(got, "100 % of 200") || strings.Contains(got, "30 %") {
		t.Errorf("the bar is %q, want it at 50 of 200 and at the end, not between", got)
	}
}
