package ws

import (
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// What a command costs the event lane in allocations: its frame once, however many
// read it, and a reader nothing. A number may fall; one that rises is a regression. (A
// change takes one less without the race detector.)
func TestAllocs(t *testing.T) {
	const readers = 100
	l := &Lane{bounds: defaultBounds}
	for m := range l.books {
		l.books[m] = &book{}
	}
	conns := make([]*conn, readers)
	for i := range conns {
		c := &conn{lane: l, thinAt: defaultBounds.thin, writing: true} // there is a writer: this test
		conns[i] = c
		l.topics.add(newSub(c, 1, deltas, 0))
		l.topics.add(newSub(c, 2, trades, 0))
	}
	room := make([]byte, 0, 2*chunk)
	written := 0
	socket := func(b []byte) (int, error) { written += len(b); return len(b), nil }
	drain := func() {
		for _, c := range conns {
			batch, more := c.take()
			if !more {
				t.Fatal("nothing was queued")
			}
			if _, rest, err := c.out(batch, 0, &room, socket); rest != nil || err != nil {
				t.Fatal(err)
			}
			c.giveBack(batch)
		}
	}
	seq := uint64(0)
	level := core.LevelChanged{Market: 1, Generation: 1, Bid: true, Tick: 4700, Delta: 10, Qty: 10}
	fill := core.Filled{Market: 1, Generation: 1, TickYes: 4700, Qty: 10}
	frame := frameOf(trades, "trade", 1, 1, &schemas.WSOracle{})
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"a change of a book for 100 readers": {3, func() {
			seq++
			level.Qty++
			l.level(seq, &level)
			l.flush()
			drain()
		}},
		"a trade for 100 readers": {5, func() {
			seq++
			l.trade(core.Stamp{Seq: seq, Ts: int64(seq)}, &fill)
			drain()
		}},
		"a frame that is there, to 100 readers": {0, func() {
			l.topics.publish(frame)
			drain()
		}},
	} {
		c.do() // a queue and its spare grow once; AllocsPerRun warms up only the one
		if n := testing.AllocsPerRun(100, c.do); n > c.most {
			t.Errorf("%s: %v allocations, %v before", name, n, c.most)
		} else {
			t.Logf("%s: %v", name, n)
		}
	}
	if written == 0 {
		t.Error("nothing was written")
	}
}
