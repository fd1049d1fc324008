package arena

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"duplex/core"
	"duplex/internal/marketsim"
)

// stream returns the random numbers of one part of a run. They depend on the seed and the name alone,
// so that another seat changes no draws but its own.
func stream(seed uint64, name string) *rand.Rand {
	h := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("duplex arena\n"+name+"\n"), seed))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])))
}

// indexPath is the index of a feed, second by second: a geometric random walk whose volatility changes
// between three regimes, with rare jumps. All arithmetic is on integers, so that every machine has the
// same path.
type indexPath struct {
	r      *rand.Rand
	price  int64 // at 1e8 scale
	regime int
}

const (
	startPrice  = 65_000 * 100_000_000
	regimeLasts = 120 // seconds, on average
	jumpEvery   = 900 // seconds, on average
	jumpSize    = 8   // standard deviations of a second, at least
)

// regimes are the standard deviations of a second, at 1e9 scale.
var regimes = [...]int64{60_000, 100_000, 180_000}

func newIndexPath(r *rand.Rand) *indexPath { return &indexPath{r: r, price: startPrice, regime: 1} }

// next returns the price of the next second.
func (p *indexPath) next() core.Price {
	if p.r.IntN(regimeLasts) == 0 {
		p.regime = p.r.IntN(len(regimes))
	}
	z := normalDraw(p.r)
	if p.r.IntN(jumpEvery) == 0 {
		size := int64(jumpSize+p.r.IntN(jumpSize)) << 16
		if p.r.IntN(2) == 0 {
			size = -size
		}
		z += size
	}
	unit := p.price / 1_000_000 * regimes[p.regime] / 1_000
	p.price = min(max(p.price+unit*z/65_536, startPrice/10), startPrice*10)
	return core.Price(p.price)
}

// normalDraw returns a draw from the normal distribution with the standard deviation 65,536: the sum
// of twelve uniform draws.
func normalDraw(r *rand.Rand) (z int64) {
	for range 3 {
		x := r.Uint64()
		for range 4 {
			z += int64(x & 0xffff)
			x >>= 16
		}
	}
	return z - 6*65_536
}

// model values a round from the index, in integers. Baselines and the market maker maker each have their own.
type model struct {
	at       int64 // the last second
	price    int64
	variance int64 // of a second's return, at 1e18 scale
	seconds  [modelSeconds]int64
}

const modelSeconds = 64 // more than the longest settle window

// observe adds the index of a second.
func (m *model) observe(second int64, price core.Price) {
	p := int64(price)
	switch {
	case m.price == 0:
		m.variance = regimes[1] * regimes[1]
	case second <= m.at:
		return
	default:
		change := (p - m.price) * 1_000_000 / (m.price / 1_000) // at 1e9 scale
		change = min(max(change, -1_000_000), 1_000_000)
		m.variance += (change*change - m.variance) / 32
	}
	for s := max(m.at+1, second-modelSeconds+1); s < second; s++ {
		m.seconds[s%modelSeconds] = m.price
	}
	m.seconds[second%modelSeconds] = p
	m.at, m.price = second, p
}

// value returns the chance that the mean index of a round's settle window is above its strike, in
// pips, and the standard deviation of its change within a second. now is venue time in ns.
//
// A part of the window's mean is known once the window has begun. The mean of a random walk over r
// seconds has the variance of the walk after r/3 seconds.
func (m *model) value(r *core.Round, now int64) (fair, move core.Tick) {
	left := max((r.CloseTs-now)/core.NsPerSec, 1)
	mean, open, hundredths := m.price, int64(100), left*100-r.Window*200/3
	if left < r.Window {
		open = 100 * left / r.Window
		known, n := int64(0), int64(0)
		for s := r.CloseTs/core.NsPerSec - r.Window; s <= m.at; s++ {
			known, n = known+m.seconds[s%modelSeconds], n+1
		}
		if n > 0 {
			mean = known/n*(100-open)/100 + m.price*open/100
		}
		hundredths = 100 * left * left * left / (3 * r.Window * r.Window)
	}
	volatility := max(marketsim.Sqrt(m.variance), 1_000)
	deviation := max(volatility*marketsim.Sqrt(max(hundredths, 5)*100)/100, 1) // 1e9 scale
	strike := int64(r.Strike)
	far := (mean - strike) * 1_000_000 / (strike / 1_000) * 1_000 / deviation // thousandths of the deviation
	chance, slope := marketsim.NormalPips(far)
	return core.Tick(min(max(chance, 50), 9_950)), core.Tick(slope * 10 * open * volatility / (100 * deviation))
}
