// Package backoff waits between attempts: with jitter, so that many clients of one server do
// not return at the same moment, and until a context ends.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter returns a random duration from half of d up to d.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
