package portal

import (
	"sync"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/tools"
)

// newKeysPerMinute bounds the growth of a family's keys, with or without Options.AccountKeys
// (docs/rules/accounts.md#new-keys).
const newKeysPerMinute = 10

func (l *lane) now() time.Time { return l.Venue.Config.Wall().Time() }

// accountLimiters holds the limits of every account that has called.
type accountLimiters struct{ byUser sync.Map } // core.UserID → *accountLimiter

// accountLimiter limits one account: its calls at the read rate of a key, and its new keys
// by a ring of their last times. creating holds a value while a key of its family is created.
type accountLimiter struct {
	calls    *gate.TokenBucket
	creating chan struct{}
	mu       sync.Mutex
	keyTimes [newKeysPerMinute]time.Time
	next     int
}

func (s *accountLimiters) of(u core.UserID) *accountLimiter {
	if h, ok := s.byUser.Load(u); ok {
		return h.(*accountLimiter)
	}
	h, _ := s.byUser.LoadOrStore(u, &accountLimiter{calls: gate.NewTokenBucket(tools.DefaultReadRate, 2*tools.DefaultReadRate), creating: make(chan struct{}, 1)})
	return h.(*accountLimiter)
}

func (h *accountLimiter) allowCall(now time.Time) error { return h.calls.Take(now, 1) }

// allowNewKey returns rate_limited if newKeysPerMinute keys were created within the last
// minute. A token bucket would allow twice as many in its first minute.
func (h *accountLimiter) allowNewKey(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if again := h.keyTimes[h.next].Add(time.Minute); now.Before(again) {
		return gate.RateLimited(again.Sub(now))
	}
	h.keyTimes[h.next] = now
	h.next = (h.next + 1) % newKeysPerMinute
	return nil
}
