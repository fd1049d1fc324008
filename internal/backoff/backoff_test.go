package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestJitter(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 2, 3, time.Second} {
		for range 200 {
			if got := Jitter(d); got < d/2 || got > d {
				t.Fatalf("jitter of %v is %v", d, got)
			}
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !Sleep(t.Context(), time.Minute) || time.Since(begun) != time.Minute {
			t.Errorf("slept %v", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if Sleep(ctx, time.Minute) || time.Since(begun) != time.Second {
			t.Errorf("a context that ended after 1 s: slept %v", time.Since(begun))
		}
	})
}
