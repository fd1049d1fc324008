package tools

import (
	"context"
	"time"

	"duplex/core"
)

// WallTime is a moment of the machine's clock, in ns since the Unix epoch. What concerns a client and
// its connection uses it: signatures, replays, token buckets, time budgets. Venue time, which stamps,
// rounds and deadlines use, is an int64 like a stamp. The two types differ so that neither can be used
// in place of the other by mistake (docs/rules/operation.md#venue-time).
type WallTime int64

// Time returns w as a time.Time.
func (w WallTime) Time() time.Time { return time.Unix(0, int64(w)) }

// Ms returns w in ms.
func (w WallTime) Ms() int64 { return int64(w) / core.NsPerMs }

// VirtualTime drives the time of a venue whose clock is virtual. Its methods are safe for concurrent
// use.
type VirtualTime interface {
	// Await blocks a call of a key until venue time has reached until, in ns, or until there may be
	// something new for the call. changed is signaled when there is; nil never. It reports whether
	// venue time has reached until. The error is that of ctx, or says that no call waits any more,
	// because the venue closes or the key is revoked.
	Await(ctx context.Context, key string, until int64, changed <-chan struct{}) (reached bool, err error)
}

// The names of the clocks (docs/rules/rest.md#get_time).
const (
	clockWall    = "wall"
	clockVirtual = "virtual"
)

// Wall returns the machine's clock. On an ordinary venue, venue time is the same clock.
func (c *Config) Wall() WallTime {
	if c.WallClock == nil {
		return WallTime(c.Now())
	}
	return c.WallClock()
}
