package manual

import (
	"errors"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
)

// maxSourceName is the greatest length in bytes of a source's name, which the evidence of
// rounds contains.
const maxSourceName = 64

// Errors of Post.
var (
	ErrFeed    = errors.New("manual: there is no such feed")
	ErrSource  = errors.New("manual: a source has a name of 1 to 64 bytes")
	ErrPrice   = errors.New("manual: a price is above 0")
	ErrNoIndex = errors.New("manual: the fresh sources are too far apart for an index")
)

// Oracle keeps the prices posted by hand. The zero Oracle is ready to use. It is safe for
// concurrent use.
type Oracle struct {
	mu       sync.Mutex
	index    feed.Index
	lastPost int64 // ns, the highest time of a post
}

// Post sets a source's price and returns the manual tick of the second of at: the median
// of the fresh sources posted by hand (docs/rules/prices-sources.md#prices-by-hand). If at
// is before the time of an earlier call, Post uses the time of that call, so that
// concurrent posts keep the order of their calls.
//
// It returns ErrFeed, ErrSource or ErrPrice for an invalid post, which it ignores, and
// ErrNoIndex if the sources are too far apart; it then keeps the price.
func (o *Oracle) Post(f core.Feed, source string, price core.Price, at time.Time) (core.IndexTick, error) {
	switch {
	case f >= core.Feeds:
		return core.IndexTick{}, ErrFeed
	case source == "" || len(source) > maxSourceName:
		return core.IndexTick{}, ErrSource
	case price == 0:
		return core.IndexTick{}, ErrPrice
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastPost = max(o.lastPost, at.UnixNano())
	o.index.Update(f, source, price, o.lastPost)
	tick, gap := o.index.Tick(f, o.lastPost)
	if gap != feed.NoGap {
		return core.IndexTick{}, ErrNoIndex
	}
	tick.Manual = true
	return tick, nil
}

// States lists the sources posted by hand, with their age and freshness at now.
func (o *Oracle) States(now time.Time) []feeds.State {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []feeds.State
	for f := range core.Feed(core.Feeds) {
		for _, s := range o.index.Sources(f) {
			age := now.Sub(time.Unix(0, s.At))
			out = append(out, feeds.State{Feed: f, Source: s, Age: age, Fresh: int64(age) <= feed.FreshFor(f), Up: true})
		}
	}
	return out
}
