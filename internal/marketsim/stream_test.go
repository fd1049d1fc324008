package marketsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"duplex/core"
)

// TestSameOnEveryMachine compares a long path, ladders along it and a trader's orders with a hash
// that every machine must reach.
func TestSameOnEveryMachine(t *testing.T) {
	h := sha256.New()
	maker, noise := DefaultMaker(), NewNoise(1, "ann", DefaultNoise())
	for f := range core.Feed(core.Feeds) {
		walk, model := Stream(1, "walk "+f.String()), PriceModel{}
		strike, p := core.Price(0), core.Price(65_000_00000000)
		for s := int64(1); s <= 20_000; s++ {
			p += core.Price(walk.Int64N(13_00000000)) - 6_50000000
			if model.Observe(p, s); s%60 == 1 {
				strike = p
			}
			now, end := s*core.NsPerSec, (s+60)/60*60*core.NsPerSec
			l := maker.Ladder(model.Fair(strike, now, end, 10), end-now, core.Qty(s%9000-4500), core.Narrow())
			wait, intent := noise.Next()
			m := Market{ID: 1, Generation: 1, Category: 1, Left: time.Duration(end - now), Free: [2]core.Qty{3, 0}, Grid: core.Narrow()}
			for _, q := range l.Quotes {
				if q.Level == 0 && q.Outcome == core.Yes {
					m.Bid = q.Tick
				} else if q.Level == 0 {
					m.Ask = q.Tick.Opposite()
				}
			}
			o, ok := intent.Order([]Market{m})
			fmt.Fprintln(h, p, l.Quotes, wait, o, ok)
		}
	}
	const want = "42351ffa0778ad9e2a5f2719751a1087510a5e25530b2d269f0e4f62900e5f2b"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestStreams(t *testing.T) {
	a, b, c, again := Stream(7, "a"), Stream(7, "b"), Stream(8, "a"), Stream(7, "a")
	for range 100 {
		x := a.Uint64()
		if y := again.Uint64(); x != y {
			t.Fatal("a stream is not a function of its seed and name")
		}
		if x == b.Uint64() || x == c.Uint64() {
			t.Fatal("two streams share a number")
		}
	}
}
