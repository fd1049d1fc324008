package load

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// In an open loop a latency counts from when the request was due, so that one stall of the
// server shows in every request that it delays.
func TestOpenLoop(t *testing.T) { synctest.Test(t, testOpenLoop) }

func testOpenLoop(t *testing.T) {
	o := &Options{Conns: 2, Rate: 100}
	start := time.Now()
	for conn, want := range [][]time.Duration{{0, 20 * time.Millisecond, 40 * time.Millisecond}, {10 * time.Millisecond, 30 * time.Millisecond, 50 * time.Millisecond}} {
		due := o.schedule(conn, start)
		for n, w := range want {
			if got := due(n).Sub(start); got != w {
				t.Errorf("request %d of connection %d is due after %v, not %v", n, conn, got, w)
			}
		}
	}
	served := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	operations := []mixOperation{{"x", 1, func(*mixClient) (int, []byte, error) {
		switch served++; served {
		case 1:
			time.Sleep(100 * time.Millisecond) // the stall that is measured
		case 8:
			cancel()
		}
		return 200, nil, nil
	}, false}}
	m := newMixClient(nil, nil, nil, operations, newLatencyRecorder(operations), 1)
	var done atomic.Int64
	if err := m.loop(ctx, start, func(n int) time.Time { return start.Add(time.Duration(n) * 10 * time.Millisecond) }, &done); err != nil || done.Load() != 8 {
		t.Fatal(err, done.Load())
	}
	late, times := 0, m.recorder.by["x"].times
	for _, bar := range times.Distribution() {
		if bar.From >= 45_000 {
			late += int(bar.Count)
		}
	}
	if late < 5 {
		t.Errorf("%d requests were late by half the stall, of %d", late, times.TotalCount())
	}
}
