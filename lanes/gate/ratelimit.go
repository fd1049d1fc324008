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
	payer  func(core.UserID) core.UserID // whose shared buckets an account draws from
	keys   sync.Map                      // key id → *keyLimiters

	// accounts are the buckets that all keys of an account share, and of its agents without money,
	// core.UserID → *writeLimiters, if Config.AccountRate is not 0.
	accounts sync.Map
}

type keyLimiters struct {
	read *TokenBucket
	writeLimiters
	checkedAt atomic.Int64 // time of the last volume lookup, ns
}

// writeLimiters are the buckets that follow a write rate, those of a key or of an account.
type writeLimiters struct {
	write, cancel *TokenBucket
	mu            sync.Mutex
	perSecond     int64 // current write rate, tokens per second
}

func newWriteLimiters(perSecond int64) writeLimiters {
	return writeLimiters{write: NewTokenBucket(rate.Limit(perSecond), int(perSecond)), cancel: NewTokenBucket(rate.Limit(2*perSecond), int(2*perSecond)), perSecond: perSecond}
}

// set changes the write rate.
func (l *writeLimiters) set(now time.Time, perSecond int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perSecond == perSecond {
		return
	}
	l.perSecond = perSecond
	l.write.set(now, rate.Limit(perSecond), int(perSecond))
	l.cancel.set(now, rate.Limit(2*perSecond), int(2*perSecond))
}

// bucket returns the bucket of writes or that of cancels.
func (l *writeLimiters) bucket(which tools.Bucket) *TokenBucket {
	if which == tools.Cancel {
		return l.cancel
	}
	return l.write
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
	now := b.config.Wall().Time()
	if which == tools.Read {
		return kb.read.takeOrRetry(now, n, retry)
	}
	shared := b.sharedLimiters(k.User)
	b.updateWriteRate(kb, shared, k.User, now)
	if shared != nil {
		return takeOfBoth(kb.bucket(which), shared.bucket(which), now, n, retry)
	}
	return kb.bucket(which).takeOrRetry(now, n, retry)
}

// sharedLimiters returns the buckets that all keys of an account share, or nil. An agent that never held
// money uses those of its owner: an owner makes agents for nothing.
func (b *rateLimiters) sharedLimiters(u core.UserID) *writeLimiters {
	perSecond := b.config.SharedRate(b.config.WriteFloor)
	if perSecond == 0 {
		return nil
	}
	u = b.payer(u)
	of, ok := b.accounts.Load(u)
	if !ok {
		made := newWriteLimiters(perSecond)
		of, _ = b.accounts.LoadOrStore(u, &made)
	}
	return of.(*writeLimiters)
}

// TokenBucket is a token bucket. Its methods are safe for concurrent use.
//
// Callers read the clock before they come to the bucket, so they come with times out of order. A
// rate.Limiter would count the time between two of them twice and give too many tokens; a bucket
// does not go back in time. Only if the clock of the machine was set back, by maxDisorder or more,
// does the bucket follow it: otherwise it would stay empty until the clock is where it was.
type TokenBucket struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	latest  time.Time
}

// NewTokenBucket returns a full bucket of burst tokens that gains perSecond tokens a second.
func NewTokenBucket(perSecond rate.Limit, burst int) *TokenBucket {
	return &TokenBucket{limiter: rate.NewLimiter(perSecond, burst)}
}

// maxDisorder is more than any time between the reading of the clock and the bucket.
const maxDisorder = time.Second

// at locks the bucket and returns now, or the latest time of a call before, if that is later.
func (b *TokenBucket) at(now time.Time) time.Time {
	b.mu.Lock()
	if behind := b.latest.Sub(now); behind <= 0 || behind >= maxDisorder {
		b.latest = now
	}
	return b.latest
}

// Take takes n tokens, or none and returns rate_limited with the time until there are n.
func (b *TokenBucket) Take(now time.Time, n int) error { return b.takeOrRetry(now, n, n) }

// takeOrRetry is Take for a request whose retry needs `retry` tokens.
func (b *TokenBucket) takeOrRetry(now time.Time, n, retry int) error {
	now = b.at(now)
	defer b.mu.Unlock()
	if b.limiter.AllowN(now, n) {
		return nil
	}
	return RateLimited(b.wait(now, retry))
}

// wait is the time until there are n tokens, of a bucket that is locked.
func (b *TokenBucket) wait(now time.Time, n int) time.Duration {
	r := b.limiter.ReserveN(now, n)
	if !r.OK() {
		return time.Second
	}
	defer r.CancelAt(now)
	return r.DelayFrom(now)
}

// takeOfBoth takes n tokens of a key's bucket and of that of its account, or none of either. Every
// caller locks the key's first.
func takeOfBoth(key, account *TokenBucket, now time.Time, n, retry int) error {
	atKey := key.at(now)
	defer key.mu.Unlock()
	atAccount := account.at(now)
	defer account.mu.Unlock()
	if key.wait(atKey, n) > 0 || account.wait(atAccount, n) > 0 {
		return RateLimited(max(key.wait(atKey, retry), account.wait(atAccount, retry)))
	}
	key.limiter.ReserveN(atKey, n)
	account.limiter.ReserveN(atAccount, n)
	return nil
}

// set changes the rate and the burst.
func (b *TokenBucket) set(now time.Time, perSecond rate.Limit, burst int) {
	now = b.at(now)
	defer b.mu.Unlock()
	b.limiter.SetLimitAt(now, perSecond)
	b.limiter.SetBurstAt(now, burst)
}

// RateLimited returns rate_limited with a wait in ms, rounded up and at least 1.
func RateLimited(wait time.Duration) error {
	return tools.Error{Wire: schemas.RateLimited(max(1, int64((wait+time.Millisecond-1)/time.Millisecond)))}
}

func (b *rateLimiters) limitersOf(k *core.Key) *keyLimiters {
	if kb, ok := b.keys.Load(k.ID); ok {
		return kb.(*keyLimiters)
	}
	kb := &keyLimiters{read: NewTokenBucket(rate.Limit(b.config.ReadRate), int(2*b.config.ReadRate)), writeLimiters: newWriteLimiters(b.config.WriteFloor)}
	got, _ := b.keys.LoadOrStore(k.ID, kb)
	return got.(*keyLimiters)
}

// updateWriteRate sets the write and cancel rates of a key, and of what it shares with the others of its
// account, to those of the account's volume (docs/rules/limits.md#write-rate), at most once in writeRateTTL.
func (b *rateLimiters) updateWriteRate(kb *keyLimiters, shared *writeLimiters, u core.UserID, now time.Time) {
	was := kb.checkedAt.Load()
	if at := now.UnixNano(); at-was < writeRateTTL && was != 0 || !kb.checkedAt.CompareAndSwap(was, at) {
		return
	}
	perSecond := b.config.WriteRate(b.volume(u))
	kb.set(now, perSecond)
	if shared != nil && b.payer(u) == u {
		shared.set(now, b.config.SharedRate(perSecond))
	}
}

// draw takes a token whether there is one or not. A bucket owes at most its burst.
func (b *TokenBucket) draw(now time.Time) {
	now = b.at(now)
	defer b.mu.Unlock()
	if b.limiter.TokensAt(now) > -float64(b.limiter.Burst()) {
		b.limiter.ReserveN(now, 1)
	}
}

// bucketOf returns the bucket that pays for a command of an account. Of the two sides of a quote one costs a token.
func bucketOf(cmd core.Command) (which tools.Bucket, costs bool) {
	switch c := cmd.(type) {
	case *core.CancelOrder, *core.CancelAll, *core.ArmDeadman, *core.DisarmDeadman, *core.BindOrders:
		return tools.Cancel, true
	case *core.QuoteSide:
		return tools.Write, c.Side == core.Buy
	}
	return tools.Write, true
}

// drawForeign draws what the commands that another member has taken cost there, so that a key which is
// spread over the members has its rate once (docs/rules/limits.md#buckets).
func (g *Gate) drawForeign(cmds []core.Command) {
	if g.Unlimited {
		return
	}
	now := g.Venue.Config.Wall().Time()
	for _, cmd := range cmds {
		cmd = core.Unmarked(cmd)
		k := g.Venue.Engine.KeyNumbered(core.KeyOf(cmd))
		if k == nil {
			continue
		}
		which, costs := bucketOf(cmd)
		if !costs {
			continue
		}
		kb, shared := g.rateLimiters.limitersOf(k), g.rateLimiters.sharedLimiters(k.User)
		g.rateLimiters.updateWriteRate(kb, shared, k.User, now)
		kb.bucket(which).draw(now)
		if shared != nil {
			shared.bucket(which).draw(now)
		}
	}
}
