package gate

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core/engine"
	"duplex/schemas"
	"duplex/tools"
)

// TestIdempotency checks that concurrent and later exact repeats execute once and get the
// first response, until the entry expires.
func TestIdempotency(t *testing.T) {
	o, did := &idempotencyCache{entries: map[string]*idempotentCall{}}, atomic.Int64{}
	do := func() (any, error) { return did.Add(1), errors.New("the first error") }
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if n, err := o.run("a", 0, false, do); n != int64(1) || err == nil {
				t.Errorf("a repeated call returns %d, %v, want 1 and the first error", n, err)
			}
		})
	}
	wg.Wait()
	if n, _ := o.run("b", 1, false, do); n != int64(2) {
		t.Errorf("another request: %d", n)
	}
	if n, _ := o.run("a", tools.WallTime(10*time.Second), false, do); n != int64(1) {
		t.Errorf("a repeat at the end of the window: %d", n)
	}
	if n, _ := o.run("a", tools.WallTime(time.Minute), false, do); n != int64(3) || len(o.entries) != 1 || len(o.byExpiry) != 1 {
		t.Errorf("a minute later: %d, %d entries", n, len(o.entries))
	}
}

// TestIdempotencyDropsSafeFailures checks that a repeat of a request that surely had no
// effect executes again.
func TestIdempotencyDropsSafeFailures(t *testing.T) {
	o := &idempotencyCache{entries: map[string]*idempotentCall{}}
	for i, c := range []struct {
		err  error
		code string
	}{{engine.ErrShed, "shed"}, {tools.NewError("funding_unavailable"), "funding_unavailable"}, {engine.ErrUnknown, "sequencing_timeout"}, {nil, "sequencing_timeout"}} {
		_, err := o.run("a", tools.WallTime(i), false, func() (any, error) { return 0, c.err })
		if got := tools.ErrorOf(err).Code; got != c.code {
			t.Errorf("call %d: %s, want %s", i, got, c.code)
		}
	}
}

// TestIdempotencyOfBatches checks that marked commands are sent again if the outcome of one is unknown, because those
// that were executed have their receipts, and that the first answer stays in all other cases.
func TestIdempotencyOfBatches(t *testing.T) {
	outcome := func(code string) *schemas.QuoteResults {
		e := schemas.ErrorOf(code)
		side := schemas.QuotedSide{Emptied: &schemas.QuoteEmptied{}}
		return &schemas.QuoteResults{Results: []schemas.QuoteResult{{Bid: side, Ask: side}, {Bid: side, Ask: schemas.QuotedSide{Error: &e}}}}
	}
	for _, c := range []struct {
		code   string
		marked bool
		want   int
	}{{"sequencing_timeout", true, 2}, {"shed", true, 2}, {"stale_generation", true, 1}, {"sequencing_timeout", false, 1}} {
		o, did := &idempotencyCache{entries: map[string]*idempotentCall{}}, 0
		for range 2 {
			if _, err := o.run("a", 0, c.marked, func() (any, error) { did++; return outcome(c.code), nil }); err != nil {
				t.Fatal(err)
			}
		}
		if did != c.want {
			t.Errorf("%s, marked %t: executed %d times, want %d", c.code, c.marked, did, c.want)
		}
	}
}

// TestIdempotencySurvivesPanic checks that a repeat of a request that panicked gets an
// internal error.
func TestIdempotencySurvivesPanic(t *testing.T) {
	o := &idempotencyCache{entries: map[string]*idempotentCall{}}
	func() {
		defer func() { _ = recover() }()
		_, _ = o.run("a", 0, false, func() (any, error) { panic("test") })
	}()
	if _, err := o.run("a", 1, false, func() (any, error) { return 1, nil }); tools.ErrorOf(err).Code != "internal" {
		t.Errorf("after a panic: %v, want internal", err)
	}
}
