package adapter

import (
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
)

const (
	// maxClockSkew is the greatest difference between a venue's clock and ours. A stamp
	// further ahead must not count: every correct stamp would then be out of order.
	maxClockSkew = 10 * time.Second
	// maxConsecutiveDrops is the number of dropped values in a row that ends a connection.
	// It also ends one on which a far too high sequence number puts all later values out
	// of order.
	maxConsecutiveDrops = 1000
)

// quoteFilter accepts or drops the values of one connection. It compares stamps and
// sequence numbers within that connection only, because a venue may restart its count on
// the next.
type quoteFilter struct {
	feed             core.Feed
	stamp            int64
	seq              uint64
	consecutiveDrops int
}

// check returns the verdict on a quote received at now and updates the filter.
func (j *quoteFilter) check(q Quote, now time.Time) feeds.DropReason {
	why := j.verdict(q, now)
	if why != feeds.NotDropped {
		j.consecutiveDrops++
		return why
	}
	j.consecutiveDrops = 0
	j.stamp, j.seq = q.Stamp, q.Seq
	return feeds.NotDropped
}

func (j *quoteFilter) verdict(q Quote, now time.Time) feeds.DropReason {
	oldest := now.Add(-time.Duration(feed.FreshFor(j.feed)) - maxClockSkew)
	switch {
	case q.Drop != feeds.NotDropped:
		return q.Drop
	case q.Price == 0:
		return feeds.Zero
	case q.Stamp != 0 && q.Stamp > now.Add(maxClockSkew).UnixNano():
		return feeds.Future
	case q.Stamp != 0 && q.Stamp < oldest.UnixNano():
		return feeds.Outdated
	case !j.inOrder(q):
		return feeds.OutOfOrder
	}
	return feeds.NotDropped
}

// inOrder reports whether a quote follows the last accepted one: neither stamp nor
// sequence number falls, and one of them rises. A quote that has neither is in order.
func (j *quoteFilter) inOrder(q Quote) bool {
	if q.Stamp == 0 && q.Seq == 0 {
		return true
	}
	return q.Stamp >= j.stamp && q.Seq >= j.seq && (q.Stamp > j.stamp || q.Seq > j.seq)
}
