package ws

import (
	"slices"
	"strconv"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/schemas"
)

// sub is one subscription of a connection.
type sub struct {
	conn    *conn
	sid     int
	sidText string // sid in decimal
	channel channel
	all     bool // covers every market, including those that open later

	// Guarded by the lane's lock.
	markets       marketSet
	snapshotSince time.Time // time of its first snapshots
	deferred      marketSet // books whose snapshot is delayed until snapshotInterval after that
	slice         int       // its slice of the snapshot schedule

	// Guarded by the connection's lock.
	answeredAt int64 // lane.clock when the answer that announced it had been queued

	lastSeq []uint64  // seq of the last frame, by chain
	stale   marketSet // books whose frames were dropped and that need a fresh snapshot
}

func newSub(c *conn, sid int, ch channel, markets marketSet) *sub {
	s := &sub{conn: c, sid: sid, sidText: strconv.Itoa(sid), channel: ch, lastSeq: make([]uint64, 1)}
	if ch.byMarket() {
		s.markets, s.all = markets, markets == 0
	}
	if ch.book() {
		s.lastSeq = make([]uint64, venue.Slots+1)
	}
	return s
}

// wants reports whether the subscription covers a market.
func (s *sub) wants(m core.MarketID) bool { return s.all || s.markets.has(m) }

// chain returns which of the subscription's prev_seq chains a frame belongs to: its market
// for books, otherwise 0.
func (s *sub) chain(f *frame) core.MarketID {
	if s.channel.book() {
		return f.market
	}
	return 0
}

// overlaps reports whether the subscription carries the channel for any of the markets. An
// empty set means all markets.
func (s *sub) overlaps(ch channel, markets marketSet) bool {
	if s.channel != ch {
		return false
	}
	return !ch.byMarket() || s.all || markets == 0 || s.markets&markets != 0
}

func (s *sub) toWire() schemas.WSSubscription {
	return schemas.WSSubscription{Channel: s.channel.String(), Sid: int64(s.sid), MarketIDs: s.markets.ids()}
}

// send queues a frame for the subscription.
func (s *sub) send(f *frame) {
	c := s.conn
	c.mu.Lock()
	c.push(s, f)
	c.mu.Unlock()
}

// topics indexes the public subscriptions by channel and market. It is guarded by the lane's
// lock.
type topics struct {
	all      [channels][]*sub
	byMarket [channels][venue.Slots + 1][]*sub
}

// change applies with or without to the lists that have s, or to those of some of its markets.
func (t *topics) change(s *sub, markets marketSet, apply func([]*sub, *sub) []*sub) {
	if s.all || !s.channel.byMarket() {
		t.all[s.channel] = apply(t.all[s.channel], s)
		return
	}
	for m := range markets.each() {
		t.byMarket[s.channel][m] = apply(t.byMarket[s.channel][m], s)
	}
}

func with(list []*sub, s *sub) []*sub { return append(list, s) }

func without(list []*sub, s *sub) []*sub {
	i := slices.Index(list, s)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	return list[:last]
}

// hasReaders reports whether any subscription carries the channel and market.
func (t *topics) hasReaders(c channel, m core.MarketID) bool {
	return len(t.all[c]) > 0 || len(t.byMarket[c][m]) > 0
}

// publish queues a frame for every subscription that carries its channel and market, and
// returns their number.
func (t *topics) publish(f *frame) (n int) {
	for _, s := range t.all[f.channel] {
		s.send(f)
	}
	for _, s := range t.byMarket[f.channel][f.market] {
		s.send(f)
	}
	return len(t.all[f.channel]) + len(t.byMarket[f.channel][f.market])
}
