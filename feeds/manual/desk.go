package manual

import (
	"errors"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
)

// maxName bounds a source's name, which is kept with the evidence of rounds.
const maxName = 64

var (
	ErrFeed    = errors.New("manual: there is no such feed")
	ErrSource  = errors.New("manual: a source has a name of 1 to 64 bytes")
	ErrPrice   = errors.New("manual: a price is above 0")
	ErrNoIndex = errors.New("manual: the fresh sources are too far apart for an index")
)

// Desk holds what was posted by hand. The zero Desk is ready; many may post.
type Desk struct {
	mu     sync.Mutex
	index  feed.Index
	newest int64 // ns, the latest post
}

// Post sets a source's price and gives the tick of the second of at: the median
// of the sources posted by hand that are fresh (contract operator, Admin). Who
// posts later is taken to be later, whatever at says: posts are in the order
// they come in, also where two read the clock at once.
//
// Returns ErrFeed, ErrSource or ErrPrice for a post that makes no sense, which
// changes nothing; ErrNoIndex where the sources contradict each other, of which
// the new one then is.
func (d *Desk) Post(f core.Feed, source string, price core.Price, at time.Time) (core.IndexTick, error) {
	switch {
	case f >= core.Feeds:
		return core.IndexTick{}, ErrFeed
	case source == "" || len(source) > maxName:
		return core.IndexTick{}, ErrSource
	case price == 0:
		return core.IndexTick{}, ErrPrice
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest = max(d.newest, at.UnixNano())
	d.index.Update(f, source, price, d.newest)
	tick, ok := d.index.Tick(f, d.newest)
	if !ok {
		return core.IndexTick{}, ErrNoIndex
	}
	tick.Manual = true
	return tick, nil
}

// States lists the sources that were posted by hand, as they are at now.
func (d *Desk) States(now time.Time) []feeds.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []feeds.State
	for f := range core.Feed(core.Feeds) {
		for _, s := range d.index.Sources(f) {
			age := now.Sub(time.Unix(0, s.At))
			out = append(out, feeds.State{Feed: f, Source: s, Age: age, Fresh: int64(age) <= feed.FreshFor(f), Up: true})
		}
	}
	return out
}
