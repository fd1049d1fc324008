package marketsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
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
		x, model, strike := NewIndex(1, f), PriceModel{}, core.Price(0)
		for s := int64(1); s <= 20_000; s++ {
			p := x.Next()
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
	const want = "cbeb868611a5440ce3f34788db38091b88cd732c4dfd5b61f9e2773bc19ca9c3"
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

// TestIndexIsFair checks that a minute is up as often as down, that its deviation is near that of
// the model, and that jumps occur.
func TestIndexIsFair(t *testing.T) {
	for f := range core.Feed(core.Feeds) {
		x := NewIndex(3, f)
		up, jumps, sum, last := 0, 0, 0.0, x.Next()
		const minutes = 4000
		for range minutes {
			first := last
			for range 60 {
				p := x.Next()
				if math.Abs(math.Log(float64(p)/float64(last))) > 16*x.vol { // bursts have three times the volatility
					jumps++
				}
				last = p
			}
			r := math.Log(float64(last) / float64(first))
			sum += r * r
			if last > first {
				up++
			}
		}
		if up < minutes/2-130 || up > minutes/2+130 { // four deviations of 4000 coin flips
			t.Errorf("%s is up in %d of %d minutes", f, up, minutes)
		}
		if ratio := math.Sqrt(sum/minutes) / (x.vol * math.Sqrt(60)); ratio < 1 || ratio > 2.5 {
			t.Errorf("%s moves %.2f times as much in a minute as in its ordinary regime", f, ratio)
		}
		if jumps == 0 {
			t.Errorf("%s never jumps", f)
		}
	}
}
