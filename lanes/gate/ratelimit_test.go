package gate

import (
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/tools"
)

// manualClock is a clock that a test advances.
type manualClock struct{ at atomic.Int64 }

func (s *manualClock) now() int64           { return s.at.Load() }
func (s *manualClock) step(d time.Duration) { s.at.Add(int64(d)) }

// newRateLimiters returns limiters with a clock, and the volume of each account.
func newRateLimiters() (b *rateLimiters, c *manualClock, volume *atomic.Int64) {
	c, volume = &manualClock{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	terms := tools.DefaultConfig(c.now)
	itself := func(u core.UserID) core.UserID { return u }
	return &rateLimiters{config: &terms, volume: func(core.UserID) core.Qty { return core.Qty(volume.Load()) }, payer: itself}, c, volume
}

func retryAfter(t *testing.T, err error) int64 {
	t.Helper()
	ms, ok := tools.ErrorOf(err).RetryAfterMs()
	if !ok {
		t.Fatalf("no retry_after_ms in %v", err)
	}
	return ms
}

// TestBuckets checks rates and bursts: read 100/s with a burst of 200, write 20/s with a
// burst of 20, cancel twice the write rate, each bucket independent and per key
// (docs/rules/limits.md#buckets).
func TestBuckets(t *testing.T) {
	b, c, _ := newRateLimiters()
	k, other := &core.Key{ID: "k", User: 1}, &core.Key{ID: "o", User: 1}
	for which, burst := range map[tools.Bucket]int{tools.Read: 200, tools.Write: 20, tools.Cancel: 40} {
		if err := b.take(k, which, burst); err != nil {
			t.Errorf("%v: a burst of %d: %v", which, burst, err)
		}
		err := b.take(k, which, 1)
		if err == nil {
			t.Errorf("%v: more than a burst of %d", which, burst)
			continue
		}
		if ms, want := retryAfter(t, err), map[tools.Bucket]int64{tools.Read: 10, tools.Write: 50, tools.Cancel: 25}[which]; ms != want {
			t.Errorf("%v: retry after %d ms, want %d", which, ms, want)
		}
	}
	if err := b.take(other, tools.Write, 20); err != nil {
		t.Errorf("another key of the account: %v", err)
	}
	c.step(50 * time.Millisecond)
	if err := b.take(k, tools.Write, 1); err != nil {
		t.Errorf("after the refill of one token: %v", err)
	}
	if err := b.take(k, tools.Write, 1); err == nil {
		t.Error("two tokens were refilled, want one")
	}
	// A rejected request takes no token.
	c.step(time.Second)
	if b.take(k, tools.Write, 21) == nil || b.take(k, tools.Write, 20) != nil {
		t.Error("a rejected request took tokens")
	}
}

// TestAccountRate checks that the keys of an account share its write and cancel tokens where the operator
// bounds them, that reads and other accounts do not, and that a rejected request takes none of either
// bucket (docs/rules/limits.md#account-rate).
func TestAccountRate(t *testing.T) {
	b, c, _ := newRateLimiters()
	b.config.AccountRate = 30
	first, second, stranger := &core.Key{ID: "a", User: 1}, &core.Key{ID: "b", User: 1}, &core.Key{ID: "c", User: 2}
	take := func(k *core.Key, which tools.Bucket, n int, want int64) {
		t.Helper()
		err := b.take(k, which, n)
		if err == nil && want == 0 {
			return
		}
		if err == nil || want == 0 {
			t.Fatalf("%d tokens of %v by %s: %v, want a wait of %d ms", n, which, k.ID, err, want)
		}
		if ms := retryAfter(t, err); ms != want {
			t.Errorf("%d tokens of %v by %s: wait %d ms, want %d", n, which, k.ID, ms, want)
		}
	}
	take(first, tools.Write, 20, 0)
	take(first, tools.Write, 1, 50)   // its own bucket is empty
	take(second, tools.Write, 11, 34) // the account has 10 left
	take(second, tools.Write, 10, 0)  // and the key had kept its own
	take(second, tools.Write, 1, 34)
	take(stranger, tools.Write, 20, 0)
	take(first, tools.Cancel, 40, 0)
	take(second, tools.Cancel, 21, 17)
	take(second, tools.Cancel, 20, 0)
	take(first, tools.Read, 200, 0)
	take(second, tools.Read, 200, 0)
	c.step(500 * time.Millisecond) // 10 tokens for each key, 15 for the account
	take(first, tools.Write, 10, 0)
	take(second, tools.Write, 6, 34)
	take(second, tools.Write, 5, 0)
	c.step(time.Hour) // no bucket holds more than its burst
	take(first, tools.Write, 20, 0)
	take(second, tools.Write, 11, 34)
	b.config.AccountRate = 0
	take(second, tools.Write, 20, 0)
}

// TestAccountRateGrows checks the default where accounts are opened by anybody: a rate of all keys of an account
// together that becomes the account's own write rate once that is more, and again less when that falls
// (docs/rules/limits.md#account-rate).
func TestAccountRateGrows(t *testing.T) {
	b, c, volume := newRateLimiters()
	b.config.AccountRate, b.config.AccountRateGrows = tools.DefaultAccountRate, true
	// together takes single tokens by 30 keys in turn, until none has any left.
	together := func(which tools.Bucket) (n int) {
		for progress := true; progress; {
			progress = false
			for i := range 30 {
				if b.take(&core.Key{ID: string(rune('a' + i)), User: 1}, which, 1) == nil {
					n++
					progress = true
				}
			}
		}
		return n
	}
	for _, x := range []struct {
		volume        int64
		write, cancel int
	}{
		{0, 100, 200}, {790_000, 100, 200}, {810_000, 101, 202}, {3_000_000, 320, 640}, {3_800_000, 400, 800}, {1 << 40, 400, 800}, {0, 100, 200},
	} {
		volume.Store(x.volume)
		c.step(2 * time.Second) // the rates are looked up again
		together(tools.Write)
		together(tools.Cancel)
		c.step(time.Second) // fills every bucket
		if write, cancel := together(tools.Write), together(tools.Cancel); write != x.write || cancel != x.cancel {
			t.Errorf("volume %d: %d writes and %d cancels in a second, want %d and %d", x.volume, write, cancel, x.write, x.cancel)
		}
	}
	c.step(time.Hour)
	for i := range 5 {
		if err := b.take(&core.Key{ID: string(rune('A' + i)), User: 2}, tools.Write, 20); err != nil {
			t.Errorf("key %d of another account: %v", i, err)
		}
	}
	if ms := retryAfter(t, b.take(&core.Key{ID: "F", User: 2}, tools.Write, 20)); ms != 200 {
		t.Errorf("the sixth key waits %d ms", ms)
	}
}

// TestBatchPassesAfterRetryAfter checks that a batch is accepted after waiting as long as
// the error says, although the retry pays for its first token again.
func TestBatchPassesAfterRetryAfter(t *testing.T) {
	b, c, _ := newRateLimiters()
	k := &core.Key{ID: "k", User: 1}
	if err := b.take(k, tools.Write, 20); err != nil {
		t.Fatal(err)
	}
	var waits []int64
	for range 3 { // the first token of an empty bucket, then the whole batch
		err := b.take(k, tools.Write, 1)
		if err == nil {
			err = b.takeBatchRemainder(k, tools.Write, 19)
		}
		if err == nil {
			break
		}
		ms := retryAfter(t, err)
		waits = append(waits, ms)
		c.step(time.Duration(ms) * time.Millisecond)
	}
	if len(waits) != 2 || waits[0] != 50 || waits[1] != 1000 {
		t.Errorf("waited %v ms", waits)
	}
}

// TestWriteRateScales checks that the write rate grows with the account's volume up to
// 400/s (docs/rules/limits.md#write-rate).
func TestWriteRateScales(t *testing.T) {
	b, c, volume := newRateLimiters()
	k := &core.Key{ID: "k", User: 1}
	if err := b.take(k, tools.Write, 1); err != nil {
		t.Fatal(err)
	}
	for shares, rate := range map[int64]int64{0: 20, 9_999: 20, 10_000: 21, 1_000_000: 120, 1 << 40: 400} {
		if got := b.config.WriteRate(core.Qty(shares)); got != rate {
			t.Errorf("%d shares: rate %d, want %d", shares, got, rate)
		}
	}
	volume.Store(1_000_000)
	c.step(5 * time.Second)
	if err := b.take(k, tools.Write, 1); err != nil { // looks up the new rate
		t.Fatal(err)
	}
	c.step(time.Second)
	if err := b.take(k, tools.Write, 120); err != nil {
		t.Errorf("a burst of 120 writes: %v", err)
	}
	c.step(time.Second)
	if err := b.take(k, tools.Cancel, 240); err != nil {
		t.Errorf("a burst of 240 cancels: %v", err)
	}
}

// TestBucketOfCommands checks which bucket pays for what another member has taken.
func TestBucketOfCommands(t *testing.T) {
	bid, ask := &core.QuoteSide{}, &core.QuoteSide{PlaceOrder: core.PlaceOrder{Side: core.Sell}}
	for _, c := range []struct {
		cmd   core.Command
		which tools.Bucket
		costs bool
	}{
		{&core.PlaceOrder{}, tools.Write, true}, {&core.PlaceOrder{Side: core.Sell}, tools.Write, true}, {bid, tools.Write, true}, {ask, tools.Write, false},
		{&core.SetGroup{}, tools.Write, true}, {&core.CancelAll{}, tools.Cancel, true}, {&core.BindOrders{}, tools.Cancel, true},
	} {
		if which, costs := bucketOf(c.cmd); which != c.which || costs != c.costs {
			t.Errorf("%T: %s, %t, want %s, %t", c.cmd, which, costs, c.which, c.costs)
		}
	}
}
