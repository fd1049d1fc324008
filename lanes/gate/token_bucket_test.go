package gate

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// TestTokenBucketFollowsTheClock checks that a clock that was set back does not stop a bucket.
func TestTokenBucketFollowsTheClock(t *testing.T) {
	b, now := NewTokenBucket(1, 1), time.Unix(1_800_000_000, 0)
	for range 3 {
		if err := b.Take(now, 1); err != nil {
			t.Fatalf("at %v: %v", now, err)
		}
		now = now.Add(-time.Hour)
		if err := b.Take(now, 1); err == nil {
			t.Fatal("setting the clock back gives a token")
		}
		now = now.Add(time.Second)
	}
}

// TestTokenBucketNeverGoesBack takes tokens at times in any order and checks that there are never more
// than the burst and what the time between the first and the latest one gains.
func TestTokenBucketNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const perSecond, burst = 100, 5
		b, start := NewTokenBucket(rate.Limit(perSecond), burst), time.Unix(1_800_000_000, 0)
		latest, taken := time.Duration(0), 0
		for _, ms := range rapid.SliceOfN(rapid.IntRange(0, 40), 1, 200).Draw(t, "ms") {
			now := time.Duration(ms) * time.Millisecond
			latest = max(latest, now)
			if b.Take(start.Add(now), 1) == nil {
				taken++
			}
			if most := burst + perSecond*latest.Seconds(); float64(taken) > most {
				t.Fatalf("%d tokens until %v, at most %v", taken, latest, most)
			}
		}
	})
}
