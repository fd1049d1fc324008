package sim

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"duplex/core"
)

// quantum is the length of one step.
const quantum = 100 * time.Millisecond

// ppb is the scale of relative moves: one part in 10^9.
const ppb = 1_000_000_000

// model is the character of a feed.
type model struct {
	start core.Price // 1e8 scale
	sigma int64      // ppb, standard deviation of a step in ordinary times
	grain core.Price // quotes are multiples of it
	noise int64      // ppb, standard deviation of a source around the walk
}

// models are livelier than their markets, so that a minute is worth watching: a
// standard deviation in 60 s of 0.077 % (50 dollars of BTC), 0.054 % (1.30 of
// gold) and 0.093 % (7 cents of WTI). Without drift, a round is a coin flip.
var models = [core.Feeds]model{
	core.BTC:  {start: 65_000_00000000, sigma: 31_600, grain: 1_000_000, noise: 8_000},
	core.Gold: {start: 2_400_00000000, sigma: 22_000, grain: 1_000_000, noise: 2_000},
	core.WTI:  {start: 78_00000000, sigma: 38_000, grain: 100_000, noise: 2_000},
}

// mood is how lively a walk is at present.
type mood struct {
	pct  int64 // of sigma
	mean int64 // steps it lasts on average
}

// moods: ordinary for a minute, quiet for half of one, a burst for six seconds.
var moods = [...]mood{{100, 600}, {35, 300}, {300, 60}}

// walk is the price of a feed.
type walk struct {
	model
	rng   *rand.Rand
	price core.Price
	mood  mood
	left  int64 // steps of the mood
}

func newWalk(seed uint64, f core.Feed) *walk {
	return &walk{model: models[f], rng: stream(seed, uint64(f)), price: models[f].start, mood: moods[0], left: moods[0].mean}
}

// stream is a source of chance of its own for each id under one seed.
func stream(seed, id uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, id)) }

// step moves the price by one quantum.
func (w *walk) step() {
	if w.left--; w.left <= 0 {
		w.mood = moods[w.rng.IntN(len(moods))]
		w.left = 1 + w.rng.Int64N(2*w.mood.mean)
	}
	moved := shift(w.price, gauss(w.rng, w.sigma)*w.mood.pct/100)
	if moved > w.start/4 && moved < w.start*4 { // or it stays: a walk left alone for months must not leave the world
		w.price = moved
	}
}

// shift moves a price by a relative amount.
func shift(p core.Price, by int64) core.Price {
	hi, lo := bits.Mul64(uint64(p), uint64(max(by, -by)))
	d, _ := bits.Div64(hi, lo, ppb)
	if by < 0 {
		return p - core.Price(d)
	}
	return p + core.Price(d)
}

// gauss draws a number of about normal distribution around 0: twelve even ones
// added up have a variance of one. It ends at six deviations.
func gauss(rng *rand.Rand, sigma int64) int64 {
	const one, mean = 1 << 16, 12 * (1<<16 - 1) / 2
	var sum int64
	for range 3 {
		bits := rng.Uint64() // four of the twelve
		for ; bits > 0; bits >>= 16 {
			sum += int64(bits % one)
		}
	}
	return (sum - mean) * sigma / one
}
