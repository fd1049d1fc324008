package ws

import (
	"iter"
	"math/bits"

	"duplex/core"
	"duplex/core/venue"
	"duplex/schemas"
)

// channel is an index into schemas.WSChannels (docs/rules/events.md#channels).
type channel uint8

const (
	deltas channel = iota
	snapshots
	trades
	oracle
	rounds
	user
	channels = 6
)

func (c channel) String() string { return schemas.WSChannels[c] }

// channelOf returns the channel with a name. It panics on an unknown name, which decoding
// rejects.
func channelOf(name string) channel {
	for i, n := range schemas.WSChannels {
		if n == name {
			return channel(i)
		}
	}
	panic("ws: unknown channel " + name)
}

// book reports whether the channel carries books, whose prev_seq is per market.
func (c channel) book() bool { return c == deltas || c == snapshots }

// byMarket reports whether market_ids select what the channel carries.
func (c channel) byMarket() bool { return c.book() || c == trades || c == rounds }

// marketSet is a set of market ids, one bit each.
type marketSet uint64

const _ = uint(63 - venue.Slots) // fails to compile if a marketSet has too few bits

func marketSetOf(ids []schemas.Int) (s marketSet) {
	for _, id := range ids {
		s |= marketBit(core.MarketID(id.MarketID()))
	}
	return s
}

func marketBit(m core.MarketID) marketSet { return 1 << m }

func (s marketSet) has(m core.MarketID) bool { return s&marketBit(m) != 0 }

// each iterates over the set by rising id.
func (s marketSet) each() iter.Seq[core.MarketID] {
	return func(yield func(core.MarketID) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(core.MarketID(bits.TrailingZeros64(uint64(s)))) {
				return
			}
		}
	}
}

// ids returns the set as a list by rising id, never nil.
func (s marketSet) ids() []uint32 {
	out := []uint32{}
	for m := range s.each() {
		out = append(out, uint32(m))
	}
	return out
}
