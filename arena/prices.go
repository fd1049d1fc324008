package arena

import (
	"cmp"
	"math/bits"

	"duplex/core"
)

// prices are the index of a run, second by second: of a tape, or drawn from the seed.
type prices struct {
	index *indexPath
	tape  []core.Price // the rest of the window of a tape; nil: the index is drawn

	anonymous bool
	base      core.Price // the first index of an anonymous run; 0: none yet
}

// newPrices returns the prices of a seed; w is its window of the tape, or nil.
func newPrices(c *Config, seed uint64, w *window) *prices {
	p := &prices{index: newIndexPath(stream(seed, "index")), anonymous: c.Anonymous}
	if w != nil {
		p.tape = c.pricesOf(w)
	}
	return p
}

// next returns the price of the next second. The end of a tape is an error.
func (p *prices) next() (price core.Price, err error) {
	switch {
	case p.tape == nil:
		price = p.index.next()
	case len(p.tape) == 0:
		return 0, badConfig("the tape ends before the rounds do")
	default:
		price, p.tape = p.tape[0], p.tape[1:]
	}
	if p.anonymous {
		p.base = cmp.Or(p.base, price)
		price = anonymousPrice(price, p.base)
	}
	return price, nil
}

// anonymousStart is the first index of an anonymous run, at 1e8 scale.
const anonymousStart = 1_000 * 100_000_000

// anonymousPrice scales an index, so that its level does not tell the asset.
func anonymousPrice(p, base core.Price) core.Price {
	high, low := bits.Mul64(uint64(p), anonymousStart)
	q, _ := bits.Div64(high, low, uint64(base))
	return core.Price(q)
}
