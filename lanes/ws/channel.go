package ws

import (
	"iter"
	"math/bits"

	"duplex/core"
	"duplex/core/venue"
	"duplex/schemas"
)

// channel is one of the six, in the order of schemas.WSChannels.
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

// channelOf gives the channel of a name that decoding let pass.
func channelOf(name string) channel {
	for i, n := range schemas.WSChannels {
		if n == name {
			return channel(i)
		}
	}
	panic("ws: a channel that is not one")
}

// book tells whether the channel carries books, with a chain for each market.
func (c channel) book() bool { return c == deltas || c == snapshots }

// byMarket tells whether market_ids choose what the channel carries.
func (c channel) byMarket() bool { return c.book() || c == trades || c == rounds }

// slots is a set of markets.
type slots uint64

const _ = uint(63 - venue.Slots) // a set has a bit for each slot

func slotsOf(ids []schemas.Int) (s slots) {
	for _, id := range ids {
		s |= bit(core.MarketID(id.Slot()))
	}
	return s
}

func bit(m core.MarketID) slots { return 1 << m }

func (s slots) has(m core.MarketID) bool { return s&bit(m) != 0 }

// each walks the set by rising id.
func (s slots) each() iter.Seq[core.MarketID] {
	return func(yield func(core.MarketID) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(core.MarketID(bits.TrailingZeros64(uint64(s)))) {
				return
			}
		}
	}
}

// ids lists the set for the wire.
func (s slots) ids() []uint32 {
	out := []uint32{}
	for m := range s.each() {
		out = append(out, uint32(m))
	}
	return out
}
