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

// buckets are the token buckets of all keys: three each, independent (spec 8).
type buckets struct {
	terms  *tools.Terms
	volume func(core.UserID) core.Qty
	keys   sync.Map // key id → *keyBuckets
}

type keyBuckets struct {
	of    [3]*rate.Limiter // by tools.Bucket
	grant atomic.Int64     // the write rate in force
	at    atomic.Int64     // when it was last looked up, ns
}

// regrant is how long a write rate stands before the volume is asked again.
const regrant = int64(time.Second)

// take draws n tokens, or none. A refusal tells when they will be there.
func (b *buckets) take(k *core.Key, which tools.Bucket, n int) error { return b.draw(k, which, n, n) }

// rest draws the n tokens of a batch behind its first, or none. Who sends it again pays
// the first again, so a refusal tells when there will be one more.
func (b *buckets) rest(k *core.Key, which tools.Bucket, n int) error { return b.draw(k, which, n, n+1) }

func (b *buckets) draw(k *core.Key, which tools.Bucket, n, again int) error {
	if n <= 0 {
		return nil
	}
	kb := b.key(k)
	now := time.Unix(0, b.terms.Now())
	if which != tools.Read {
		b.scale(kb, k.User, now)
	}
	return draw(kb.of[which], now, n, again)
}

// Take draws n tokens of a bucket, or none and refuses with rate_limited.
func Take(lim *rate.Limiter, now time.Time, n int) error { return draw(lim, now, n, n) }

// draw is Take of n tokens, where the next attempt will want `again`.
func draw(lim *rate.Limiter, now time.Time, n, again int) error {
	if lim.AllowN(now, n) {
		return nil
	}
	wait := time.Second
	if r := lim.ReserveN(now, again); r.OK() {
		wait = r.DelayFrom(now)
		r.CancelAt(now)
	}
	return RateLimited(wait)
}

// RateLimited is the refusal that tells to wait, in whole ms and at least 1.
func RateLimited(wait time.Duration) error {
	return tools.Refused{Wire: schemas.RateLimited(max(1, int64((wait+time.Millisecond-1)/time.Millisecond)))}
}

func (b *buckets) key(k *core.Key) *keyBuckets {
	if kb, ok := b.keys.Load(k.ID); ok {
		return kb.(*keyBuckets)
	}
	kb := &keyBuckets{}
	kb.of[tools.Read] = rate.NewLimiter(rate.Limit(b.terms.ReadRate), int(2*b.terms.ReadRate))
	floor := b.terms.WriteFloor
	kb.of[tools.Write] = rate.NewLimiter(rate.Limit(floor), int(floor))
	kb.of[tools.Cancel] = rate.NewLimiter(rate.Limit(2*floor), int(2*floor))
	kb.grant.Store(floor)
	got, _ := b.keys.LoadOrStore(k.ID, kb)
	return got.(*keyBuckets)
}

// scale brings the write and cancel rates to what the account's volume grants now.
func (b *buckets) scale(kb *keyBuckets, u core.UserID, now time.Time) {
	was := kb.at.Load()
	if at := now.UnixNano(); at-was < regrant && was != 0 || !kb.at.CompareAndSwap(was, at) {
		return
	}
	grant := b.terms.WriteRate(b.volume(u))
	if kb.grant.Swap(grant) == grant {
		return
	}
	for which, times := range map[tools.Bucket]int64{tools.Write: 1, tools.Cancel: 2} {
		kb.of[which].SetLimitAt(now, rate.Limit(grant*times))
		kb.of[which].SetBurstAt(now, int(grant*times))
	}
}

// Left tells how many whole tokens a key has in a bucket now.
func (g *Gate) Left(k *core.Key, which tools.Bucket) int {
	return int(g.buckets.key(k).of[which].TokensAt(time.Unix(0, g.Venue.Terms.Now())))
}
