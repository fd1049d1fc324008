package marketsim

import (
	"math"
	"math/rand/v2"

	"duplex/core"
)

// asset has the parameters of a feed's index.
type asset struct {
	start core.Price // 1e8 scale
	vol   float64    // deviation of the log price in a second of the ordinary regime
	grain core.Price // prices are multiples of it
}

// assets move more than the real ones, so that prices change visibly within a minute, and as much
// as those of package feeds/sim.
var assets = [core.Feeds]asset{
	core.BTC:  {start: 65_000_00000000, vol: 1.0e-4, grain: 1_000_000},
	core.Gold: {start: 2_400_00000000, vol: 0.7e-4, grain: 1_000_000},
	core.WTI:  {start: 78_00000000, vol: 1.2e-4, grain: 100_000},
}

// regime is a period of constant volatility.
type regime struct {
	factor float64 // of the asset's volatility
	mean   float64 // seconds
}

// regimes are the ordinary one, a quiet one and a burst.
var regimes = [...]regime{{1, 60}, {0.35, 30}, {3, 6}}

// A jump comes every 15 minutes in the mean. Its deviation is that of 100 ordinary seconds.
const (
	jumpChance = 1.0 / 900
	jumpFactor = 10
)

// Index is the index of a feed: a geometric Brownian motion with regimes of volatility and jumps.
// It has no drift.
type Index struct {
	asset
	rng     *rand.Rand
	log     float64 // of the price ÷ start
	regime  regime
	seconds int // left of the regime
}

// NewIndex returns the index of a feed under a seed. Its stream has the name "index " and the
// feed's, such as "index BTC".
func NewIndex(seed uint64, f core.Feed) *Index {
	return &Index{asset: assets[f], rng: Stream(seed, "index "+f.String()), regime: regimes[0], seconds: int(regimes[0].mean)}
}

// Next returns the price of the next second, at 1e8 scale. It uses five numbers of the stream.
func (x *Index) Next() core.Price {
	kind, length, step, jumps, jump := uniform(x.rng), exponential(x.rng), normal(x.rng), uniform(x.rng), normal(x.rng)
	if x.seconds--; x.seconds <= 0 {
		x.regime = regimes[pick(kind, len(regimes))]
		x.seconds = 1 + int(mul(length, x.regime.mean))
	}
	move := mul(step, mul(x.vol, x.regime.factor))
	if jumps < jumpChance {
		move += mul(jump, mul(x.vol, jumpFactor))
	}
	if next := x.log + move; math.Abs(next) < math.Ln2*2 { // a bound for paths of months: a quarter to four times the start
		x.log = next
	}
	return core.Price(math.Floor(mul(float64(x.start), exp(x.log))/float64(x.grain)+0.5)) * x.grain
}
