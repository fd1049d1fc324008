package line

import (
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
)

const (
	// skew is how far a venue's clock and ours may differ. A stamp further ahead
	// must not count: every sound one would then come after it.
	skew = 10 * time.Second
	// patience is how many drops in a row one connection may send. It also ends
	// one whose sequence an absurd value has run away with.
	patience = 1000
)

// judge tells what one connection may be believed. Order is kept within a
// connection only: a venue may count anew in the next.
type judge struct {
	feed  core.Feed
	stamp int64
	seq   uint64
	drops int // in a row
}

// hear gives the verdict on a quote received at a moment.
func (j *judge) hear(q Quote, now time.Time) feeds.Drop {
	why := j.verdict(q, now)
	if why != feeds.Sound {
		j.drops++
		return why
	}
	j.drops = 0
	j.stamp, j.seq = q.Stamp, q.Seq
	return feeds.Sound
}

func (j *judge) verdict(q Quote, now time.Time) feeds.Drop {
	oldest := now.Add(-time.Duration(feed.FreshFor(j.feed)) - skew)
	switch {
	case q.Drop != feeds.Sound:
		return q.Drop
	case q.Price == 0:
		return feeds.Zero
	case q.Stamp != 0 && q.Stamp > now.Add(skew).UnixNano():
		return feeds.Future
	case q.Stamp != 0 && q.Stamp < oldest.UnixNano():
		return feeds.Outdated
	case !j.after(q):
		return feeds.OutOfOrder
	}
	return feeds.Sound
}

// after tells whether a quote follows the last one: of stamp and sequence neither
// falls and one rises. What has neither cannot be out of order.
func (j *judge) after(q Quote) bool {
	if q.Stamp == 0 && q.Seq == 0 {
		return true
	}
	return q.Stamp >= j.stamp && q.Seq >= j.seq && (q.Stamp > j.stamp || q.Seq > j.seq)
}
