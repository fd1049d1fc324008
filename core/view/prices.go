package view

import (
	"iter"

	"duplex/core"
)

// priceCap is the number of index ticks of each feed that are kept: those of 24 hours, if the
// feed has one a second (docs/rules/prices-sources.md#price-history).
const priceCap = 86_400

// PriceTick is the index of a feed for one second, in Unix seconds. Price is at 1e8 scale, and
// Sources is the number of sources behind it.
type PriceTick struct {
	Second  int64
	Price   core.Price
	Sources uint8
}

func newPrices() (all [core.Feeds]history[PriceTick]) {
	for f := range all {
		all[f] = newHistory[PriceTick](priceCap)
	}
	return all
}

// foldTick adds an accepted index tick. The venue accepts a second tick of one second only from
// an operator; it replaces the first (docs/rules/prices-sources.md#which-tick-counts).
func (w *View) foldTick(t *core.IndexTick) {
	h, x := w.prices[t.Feed], PriceTick{Second: t.Second, Price: t.Price, Sources: t.Count}
	if last := h.newest(); last != nil && last.Second == x.Second {
		*last = x
	} else {
		h.add(x, &w.scratch)
	}
	if w.sink != nil {
		w.sink.Tick(t.Feed, h.newest())
	}
}

// PriceTicks iterates over the newest n index ticks of a feed with a second below before, newest
// first. Unlike other reads, the iterator may be used after the lock is released: it shares only
// chunks, which never change, so that reading a day does not delay commands.
func (w *View) PriceTicks(f core.Feed, before int64, n int) iter.Seq[*PriceTick] {
	h := w.prices[f]
	return h.detached(h.search(func(t *PriceTick) bool { return t.Second >= before }), n)
}

// PriceTicksReleased returns the newest second whose tick memory has released, if it had one; 0 if it
// released none.
func (w *View) PriceTicksReleased(f core.Feed) int64 {
	h := w.prices[f]
	n := h.oldest()
	if n <= 1 {
		return 0
	}
	for _, t := range h.newestFirst(0, n+1) {
		return t.Second - 1
	}
	return 0
}

// code codes the tick as a difference to the tick before: about 4 bytes for a price in cents. Its first
// byte has the exponent above two flags.
func (t *PriceTick) code(c *coder) {
	const gapFlag, sourcesFlag, exponentAt, end = 1 << 0, 1 << 1, 2, 1 << 6
	p := &c.lastTick
	var head byte
	var change int64
	if c.reading {
		*t = *p
		t.Second++
	} else {
		change, head = scaleDown(int64(t.Price - p.Price))
		head <<= exponentAt
		if t.Second != p.Second+1 {
			head |= gapFlag
		}
		if t.Sources != p.Sources {
			head |= sourcesFlag
		}
	}
	octet(c, &head)
	c.check(head < end && head>>exponentAt <= maxExponent)
	if head&gapFlag != 0 {
		delta(c, &t.Second, p.Second)
	}
	if head&sourcesFlag != 0 {
		octet(c, &t.Sources)
	}
	if signed(c, &change); c.reading {
		t.Price += core.Price(scaleUp(change, head>>exponentAt))
	}
	*p = *t
}

// maxExponent is the largest power of ten that scaleDown takes out: that of a whole dollar.
const maxExponent = 8

// scaleDown takes powers of ten out of the change of a price, because most prices have few
// decimals. scaleUp returns the change.
func scaleDown(change int64) (int64, byte) {
	var exponent byte
	for exponent < maxExponent && change != 0 && change%10 == 0 {
		change /= 10
		exponent++
	}
	return change, exponent
}

func scaleUp(change int64, exponent byte) int64 {
	for range min(exponent, maxExponent) {
		change *= 10
	}
	return change
}
