package sim

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"duplex/core"
)

// stepLength is the length of one step.
const stepLength = 100 * time.Millisecond

// ppb is the scale of relative moves: one part in 10^9.
const ppb = 1_000_000_000

// model has the parameters of a feed.
type model struct {
	start core.Price // 1e8 scale
	sigma int64      // ppb, standard deviation of a step in the ordinary regime
	grain core.Price // quotes are multiples of it
	noise int64      // ppb, standard deviation of a source around the walk
}

// models are more volatile than the real markets, so that prices move visibly within a
// minute: the standard deviation in 60 s is 0.077 % of BTC (50 dollars), 0.054 % of gold
// (1.30 dollars) and 0.093 % of WTI (7 cents). Without drift, both outcomes of a round are
// equally likely.
var models = [core.Feeds]model{
	core.BTC:  {start: 65_000_00000000, sigma: 31_600, grain: 1_000_000, noise: 8_000},
	core.Gold: {start: 2_400_00000000, sigma: 22_000, grain: 1_000_000, noise: 2_000},
	core.WTI:  {start: 78_00000000, sigma: 38_000, grain: 100_000, noise: 2_000},
}

// regime is a period of constant volatility.
type regime struct {
	pct  int64 // standard deviation, percent of sigma
	mean int64 // average length in steps
}

// regimes are the ordinary one (60 s), a quiet one (30 s) and a burst (6 s).
var regimes = [...]regime{{100, 600}, {35, 300}, {300, 60}}

// walk is the price of a feed.
type walk struct {
	model
	rng       *rand.Rand
	price     core.Price
	regime    regime
	stepsLeft int64 // of the regime
}

func newWalk(seed uint64, f core.Feed) *walk {
	id := uint64(f)
	if f >= firstWalks {
		id += laterWalks
	}
	return &walk{model: models[f], rng: newRand(seed, id), price: models[f].start, regime: regimes[0], stepsLeft: regimes[0].mean}
}

// newRand returns the random numbers of an id under a seed.
func newRand(seed, id uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, id)) }

// step moves the price by one step.
func (w *walk) step() {
	if w.stepsLeft--; w.stepsLeft <= 0 {
		w.regime = regimes[w.rng.IntN(len(regimes))]
		w.stepsLeft = 1 + w.rng.Int64N(2*w.regime.mean)
	}
	moved := moveBy(w.price, normal(w.rng, w.sigma)*w.regime.pct/100)
	if moved > w.start/4 && moved < w.start*4 { // a bound for walks that run for months
		w.price = moved
	}
}

// moveBy moves a price by a relative amount.
func moveBy(p core.Price, by int64) core.Price {
	hi, lo := bits.Mul64(uint64(p), uint64(max(by, -by)))
	d, _ := bits.Div64(hi, lo, ppb)
	if by < 0 {
		return p - core.Price(d)
	}
	return p + core.Price(d)
}

// normal draws an approximately normal number with mean 0 and standard deviation sigma:
// the sum of twelve uniform numbers of [0, 1) has variance 1. It lies within six sigma.
func normal(rng *rand.Rand, sigma int64) int64 {
	const one, mean = 1 << 16, 12 * (1<<16 - 1) / 2
	var sum int64
	for range 3 {
		bits := rng.Uint64() // four of the twelve numbers
		for ; bits > 0; bits >>= 16 {
			sum += int64(bits % one)
		}
	}
	return (sum - mean) * sigma / one
}
