package marketsim

import (
	"math/rand/v2"
	"time"

	"duplex/core"
)

// NoiseOptions are the options of a noise trader.
type NoiseOptions struct {
	Every  time.Duration // mean time between two of its orders
	MaxQty core.Qty      // most contracts of an order
}

// DefaultNoise returns an order every 5 s in the mean, of 1 to 20 contracts.
func DefaultNoise() NoiseOptions { return NoiseOptions{Every: 5 * time.Second, MaxQty: 20} }

// Noise is a noise trader: it trades without a reason, at the times of a Poisson process.
type Noise struct {
	opt NoiseOptions
	rng *rand.Rand
}

// NewNoise returns the noise trader of a name under a seed. Its stream has the name "noise " and
// that of the trader.
func NewNoise(seed uint64, name string, o NoiseOptions) *Noise {
	return &Noise{opt: o, rng: Stream(seed, "noise "+name)}
}

// Intent is what a noise trader wants to do at one arrival, before it looks at the market.
type Intent struct {
	market, size, offset float64 // from 0 to 1
	outcome              core.Outcome
	takes, sells         bool
	rests                time.Duration // how long an order rests that does not take
}

// Next returns the wait until the next arrival, and what the trader wants to do then. It uses
// eight numbers of the stream.
func (n *Noise) Next() (wait time.Duration, i Intent) {
	wait = time.Duration(mul(exponential(n.rng), float64(n.opt.Every)))
	i = Intent{market: uniform(n.rng), outcome: core.Outcome(n.rng.Uint64() & 1), takes: uniform(n.rng) < 0.6, sells: uniform(n.rng) < 0.4, offset: uniform(n.rng)}
	size := uniform(n.rng)
	i.size = mul(mul(size, size), float64(n.opt.MaxQty)) // small orders are more frequent
	i.rests = 5*time.Second + time.Duration(mul(uniform(n.rng), float64(35*time.Second)))
	return wait, i
}

// Market is a trading market as a noise trader sees it.
type Market struct {
	ID         core.MarketID
	Generation uint32
	Category   uint16
	Bid, Ask   core.Tick   // the best prices of YES; 0 for none
	Free       [2]core.Qty // contracts that the trader holds and has not offered, by outcome
	Left       time.Duration
	Grid       core.Grid
}

// Order is an order of a noise trader, always with a limit.
type Order struct {
	Market     core.MarketID
	Generation uint32
	Side       core.Side
	Outcome    core.Outcome
	Tick       core.Tick
	Qty        core.Qty
	Rests      time.Duration // how long a post-only order rests; 0 is an immediate-or-cancel order
}

// slippage is how far beyond the best price an order may fill.
const slippage = 200

// feedWeight is how often a market of the feed is chosen, compared with others. BTC has most, because the
// screen opens with it.
func feedWeight(f core.Feed) int {
	if f == core.BTC {
		return 3
	}
	return 1
}

// Order turns the intent into an order, given the trading markets in the order of their category.
// It is false if the chosen market has no price to trade at.
func (i Intent) Order(markets []Market) (o Order, ok bool) {
	m, ok := i.choose(markets)
	if !ok {
		return o, false
	}
	bid, ask := m.Bid, m.Ask // of the chosen outcome
	if i.outcome == core.No {
		bid, ask = opposite(m.Ask), opposite(m.Bid)
	}
	o = Order{Market: m.ID, Generation: m.Generation, Outcome: i.outcome, Qty: 1 + core.Qty(i.size)}
	switch free := m.Free[i.outcome]; {
	case i.sells && free > 0:
		o.Side, o.Qty = core.Sell, min(o.Qty, free)
		o.Tick, _ = m.Grid.Nearest(max(bid-slippage, m.Grid.Bands[0].From))
		return o, bid > 0
	case i.takes:
		o.Tick, _ = m.Grid.Nearest(ask + slippage)
		return o, ask > 0
	}
	// From a step above the best bid to three below it, but never at the ask.
	above, step := 1-pick(i.offset, 5), core.Tick(100)
	if bid < 400 || bid > 9600 {
		step = 10
	}
	o.Tick, _ = m.Grid.Nearest(bid + core.Tick(above)*step)
	o.Rests = min(i.rests, m.Left)
	return o, bid > 0 && o.Tick > 0 && (ask == 0 || o.Tick < ask) && o.Rests > 0
}

func (i Intent) choose(markets []Market) (m Market, ok bool) {
	weight := func(m *Market) int {
		s, _ := core.SeriesOf(m.Category)
		return feedWeight(s.Feed)
	}
	sum := 0
	for k := range markets {
		sum += weight(&markets[k])
	}
	if sum == 0 {
		return m, false
	}
	at := pick(i.market, sum)
	for k := range markets {
		if at -= weight(&markets[k]); at < 0 {
			return markets[k], true
		}
	}
	return m, false
}

// opposite is the price of the other outcome; 0 stays 0.
func opposite(t core.Tick) core.Tick {
	if t == 0 {
		return 0
	}
	return t.Opposite()
}
