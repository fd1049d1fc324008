//go:build !race

package ws

import (
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestAllocs bounds the allocations for publishing a message: one frame, however many readers
// it has, and none per reader. A higher number is a regression. With the race detector nothing is
// counted: a sync.Pool then drops values at random.
func TestAllocs(t *testing.T) {
	const readers = 100
	l := &Lane{limits: defaultLimits}
	for m := range l.books {
		l.books[m] = &book{}
	}
	conns := make([]*conn, readers)
	for i := range conns {
		c := &conn{lane: l, conflateAt: defaultLimits.conflateBytes, scheduled: true, probe: probe{mute: true}} // the test is the writer, and answers no ping
		conns[i] = c
		l.topics.change(newSub(c, 1, deltas, 0), 0, with)
		l.topics.change(newSub(c, 2, trades, 0), 0, with)
	}
	scratch := make([]byte, 0, 2*writeChunk)
	written := 0
	socket := func(b []byte) (int, error) { written += len(b); return len(b), nil }
	drain := func() {
		for _, c := range conns {
			batch, more := c.nextBatch()
			if !more {
				t.Fatal("nothing was queued")
			}
			if rest, err := c.writeBatch(batch, &scratch, socket); rest != nil || err != nil {
				t.Fatal(err)
			}
			c.written(batch)
		}
	}
	seq := uint64(0)
	level := core.LevelChanged{Market: 1, Generation: 1, Bid: true, Tick: 4700, Delta: 10, Qty: 10}
	fill := core.Filled{Market: 1, Generation: 1, TickYes: 4700, Qty: 10}
	frame := frameOf(trades, "trade", 1, 1, &schemas.WSOracle{})
	for name, c := range map[string]struct {
		limit float64
		do    func()
	}{
		"a level change for 100 readers": {2, func() {
			seq++
			level.Qty++
			l.publishLevel(core.Stamp{Seq: seq, Ts: int64(seq)}, &level)
			l.flush()
			drain()
		}},
		"a trade for 100 readers": {4, func() {
			seq++
			l.publishTrade(core.Stamp{Seq: seq, Ts: int64(seq)}, &fill)
			drain()
		}},
		"an encoded frame for 100 readers": {0, func() {
			l.topics.publish(frame)
			drain()
		}},
	} {
		for range firstProbe / 50 { // until each connection has sent its ping: grows the spare queues
			c.do()
		}
		if n := testing.AllocsPerRun(100, c.do); n > c.limit {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.limit)
		} else {
			t.Logf("%s: %v", name, n)
		}
	}
	if written == 0 {
		t.Error("nothing was written")
	}
}
