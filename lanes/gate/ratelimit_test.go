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

func rateLimitersAt(c *manualClock, volume *atomic.Int64) *rateLimiters {
	terms := tools.DefaultConfig(c.now)
	return &rateLimiters{config: &terms, volume: func(core.UserID) core.Qty { return core.Qty(volume.Load()) }}
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
	c, volume := &manualClock{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	b := rateLimitersAt(c, volume)
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

// TestBatchPassesAfterRetryAfter checks that a batch is accepted after waiting as long as
// the error says, although the retry pays for its first token again.
func TestBatchPassesAfterRetryAfter(t *testing.T) {
	c, volume := &manualClock{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	b := rateLimitersAt(c, volume)
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
	c, volume := &manualClock{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	b := rateLimitersAt(c, volume)
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
