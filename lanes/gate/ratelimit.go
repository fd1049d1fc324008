package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// rateLimiters holds the three independent token buckets of each key
// (docs/rules/limits.md#buckets).
type rateLimiters struct {
	config *tools.Config
	volume func(core.UserID) core.Qty
	keys   sync.Map // key id → *keyLimiters
}

type keyLimiters struct {
	byBucket  [3]*rate.Limiter // by tools.Bucket
	writeRate atomic.Int64     // current write rate, tokens per second
	checkedAt atomic.Int64     // time of the last volume lookup, ns
}

// writeRateTTL is how long a write rate is used before the volume is looked up again, ns.
const writeRateTTL = int64(time.Second)

// take takes n tokens, or none and returns rate_limited with the time until there are n.
func (b *rateLimiters) take(k *core.Key, which tools.Bucket, n int) error {
	return b.takeOrRetry(k, which, n, n)
}

// takeBatchRemainder takes the n tokens of a batch after its first, or none. A retry pays
// for the whole batch, so the error carries the time until there are n+1
// (docs/rules/limits.md#retry-after).
func (b *rateLimiters) takeBatchRemainder(k *core.Key, which tools.Bucket, n int) error {
	return b.takeOrRetry(k, which, n, n+1)
}

// takeDeepRead takes the read tokens of a page beyond memory, or none
// (docs/rules/limits.md#token-costs). They fit into the bucket beside the token of the request,
// however small the bucket is.
func (b *rateLimiters) takeDeepRead(k *core.Key) error {
	n := min(tools.DeepReadTokens, int(2*b.config.ReadRate)-1)
	return b.takeOrRetry(k, tools.Read, n, n+1)
}

func (b *rateLimiters) takeOrRetry(k *core.Key, which tools.Bucket, n, retry int) error {
	if n <= 0 {
		return nil
	}
	kb := b.limitersOf(k)
	now := time.Unix(0, b.config.Now())
	if which != tools.Read {
		b.updateWriteRate(kb, k.User, now)
	}
	return takeTokensOrRetry(kb.byBucket[which], now, n, retry)
}

// TakeTokens takes n tokens of a bucket, or none and returns rate_limited.
func TakeTokens(lim *rate.Limiter, now time.Time, n int) error {
	return takeTokensOrRetry(lim, now, n, n)
}

// takeTokensOrRetry is TakeTokens for a request whose retry needs `retry` tokens.
func takeTokensOrRetry(lim *rate.Limiter, now time.Time, n, retry int) error {
	if lim.AllowN(now, n) {
		return nil
	}
	wait := time.Second
	if r := lim.ReserveN(now, retry); r.OK() {
		wait = r.DelayFrom(now)
		r.CancelAt(now)
	}
	return RateLimited(wait)
}

// RateLimited returns rate_limited with a wait in ms, rounded up and at least 1.
func RateLimited(wait time.Duration) error {
	return tools.Error{Wire: schemas.RateLimited(max(1, int64((wait+time.Millisecond-1)/time.Millisecond)))}
}

func (b *rateLimiters) limitersOf(k *core.Key) *keyLimiters {
	if kb, ok := b.keys.Load(k.ID); ok {
		return kb.(*keyLimiters)
	}
	kb := &keyLimiters{}
	kb.byBucket[tools.Read] = rate.NewLimiter(rate.Limit(b.config.ReadRate), int(2*b.config.ReadRate))
	floor := b.config.WriteFloor
	kb.byBucket[tools.Write] = rate.NewLimiter(rate.Limit(floor), int(floor))
	kb.byBucket[tools.Cancel] = rate.NewLimiter(rate.Limit(2*floor), int(2*floor))
	kb.writeRate.Store(floor)
	got, _ := b.keys.LoadOrStore(k.ID, kb)
	return got.(*keyLimiters)
}

// updateWriteRate sets the write and cancel rates to those of the account's volume
// (docs/rules/limits.md#write-rate), at most once in writeRateTTL.
func (b *rateLimiters) updateWriteRate(kb *keyLimiters, u core.UserID, now time.Time) {
	was := kb.checkedAt.Load()
	if at := now.UnixNano(); at-was < writeRateTTL && was != 0 || !kb.checkedAt.CompareAndSwap(was, at) {
		return
	}
	perSecond := b.config.WriteRate(b.volume(u))
	if kb.writeRate.Swap(perSecond) == perSecond {
		return
	}
	for which, times := range map[tools.Bucket]int64{tools.Write: 1, tools.Cancel: 2} {
		kb.byBucket[which].SetLimitAt(now, rate.Limit(perSecond*times))
		kb.byBucket[which].SetBurstAt(now, int(perSecond*times))
	}
}

// TokensLeft returns the number of whole tokens that a key has in a bucket now.
func (g *Gate) TokensLeft(k *core.Key, which tools.Bucket) int {
	return int(g.rateLimiters.limitersOf(k).byBucket[which].TokensAt(time.Unix(0, g.Venue.Config.Now())))
}
