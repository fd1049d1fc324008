package arena

import (
	"cmp"
	"math/bits"

	"duplex/core"
)

// prices are the index of a run, second by second: of a tape, or drawn from the seed.
type prices struct {
	index *indexPath
	tape  *tape // nil: the index is drawn

	anonymous bool
	base      core.Price // the first index of an anonymous run; 0: none yet
}

func newPrices(c *Config, seed uint64) *prices {
	p := &prices{index: newIndexPath(stream(seed, "index")), anonymous: c.Anonymous}
	if c.tape != nil {
		p.tape = &tape{prices: c.tape}
	}
	return p
}

// next returns the price of the next second; false if the tape has none.
func (p *prices) next() (price core.Price, ok bool, err error) {
	if p.tape == nil {
		price, ok = p.index.next(), true
	} else if price, ok, err = p.tape.next(); err != nil {
		return 0, false, err
	}
	if p.anonymous {
		p.base = cmp.Or(p.base, price)
		price = anonymousPrice(price, p.base)
	}
	return price, ok, nil
}

// anonymousStart is the first index of an anonymous run, at 1e8 scale.
const anonymousStart = 1_000 * 100_000_000

// anonymousPrice scales an index, so that its level does not tell the asset.
func anonymousPrice(p, base core.Price) core.Price {
	high, low := bits.Mul64(uint64(p), anonymousStart)
	q, _ := bits.Div64(high, low, uint64(base))
	return core.Price(q)
}
