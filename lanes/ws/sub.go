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
	text    string // sid, in digits
	channel channel
	all     bool // every market, also those that open later

	// Under the lane's lock.
	markets slots
	born    time.Time // of its first snapshots
	owed    slots     // snapshots held back for being too soon after those
	phase   int       // when in the interval it gets them

	// Under the connection's lock.
	last  []uint64 // seq of the frame before, of books by market
	stale slots    // books whose frames were dropped: a fresh snapshot is due
}

func newSub(c *conn, sid int, ch channel, markets slots) *sub {
	s := &sub{conn: c, sid: sid, text: strconv.Itoa(sid), channel: ch, last: make([]uint64, 1)}
	if ch.byMarket() {
		s.markets, s.all = markets, markets == 0
	}
	if ch.book() {
		s.last = make([]uint64, venue.Slots+1)
	}
	return s
}

// wants tells whether the subscription carries a market.
func (s *sub) wants(m core.MarketID) bool { return s.all || s.markets.has(m) }

// chain is which of the subscription's sequences a frame belongs to.
func (s *sub) chain(f *frame) core.MarketID {
	if s.channel.book() {
		return f.market
	}
	return 0
}

// overlaps tells whether two subscriptions would carry the same.
func (s *sub) overlaps(ch channel, markets slots) bool {
	if s.channel != ch {
		return false
	}
	return !ch.byMarket() || s.all || markets == 0 || s.markets&markets != 0
}

func (s *sub) wire() schemas.WSSubscription {
	return schemas.WSSubscription{Channel: s.channel.String(), Sid: int64(s.sid), MarketIDs: s.markets.ids()}
}

// put hands the subscription a frame.
func (s *sub) put(f *frame) {
	c := s.conn
	c.mu.Lock()
	c.push(s, f)
	c.mu.Unlock()
}

// topics finds the subscriptions of a channel. All of it is under the lane's lock.
type topics struct {
	all [channels][]*sub
	one [channels][venue.Slots + 1][]*sub
}

func (t *topics) add(s *sub) {
	if s.all || !s.channel.byMarket() {
		t.all[s.channel] = append(t.all[s.channel], s)
		return
	}
	t.join(s, s.markets)
}

func (t *topics) join(s *sub, markets slots) {
	for m := range markets.each() {
		t.one[s.channel][m] = append(t.one[s.channel][m], s)
	}
}

func (t *topics) remove(s *sub) {
	if s.all || !s.channel.byMarket() {
		t.all[s.channel] = without(t.all[s.channel], s)
		return
	}
	t.leave(s, s.markets)
}

func (t *topics) leave(s *sub, markets slots) {
	for m := range markets.each() {
		t.one[s.channel][m] = without(t.one[s.channel][m], s)
	}
}

func without(list []*sub, s *sub) []*sub {
	i := slices.Index(list, s)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	return list[:last]
}

// read tells whether anybody would get a frame of this channel and market.
func (t *topics) read(c channel, m core.MarketID) bool {
	return len(t.all[c]) > 0 || len(t.one[c][m]) > 0
}

// publish hands a frame to all who subscribed.
func (t *topics) publish(f *frame) (n int) {
	for _, s := range t.all[f.channel] {
		s.put(f)
	}
	for _, s := range t.one[f.channel][f.market] {
		s.put(f)
	}
	return len(t.all[f.channel]) + len(t.one[f.channel][f.market])
}
