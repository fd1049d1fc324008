package portal

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/tools"
)

// Limits of the accounts service. The number of keys is not capped, so newKeysPerMinute
// bounds their growth for each account (docs/rules/accounts.md#new-keys).
const (
	newKeysPerMinute      = 10
	authFailuresPerSecond = 1
	authFailureBurst      = 30
	maxTrackedNetworks    = 4096 // networks in each of two generations
)

func (l *lane) now() time.Time { return time.Unix(0, l.Venue.Config.Now()) }

// authFailureLimiter limits failed authentications by client network
// (docs/rules/limits.md#failed-bearers). It has two generations of networks: when the
// younger is full, the older is discarded, which bounds its memory.
type authFailureLimiter struct {
	mu         sync.Mutex
	young, old map[netip.Prefix]*rate.Limiter
}

// fail counts a failure of an address. It returns rate_limited if there were too many.
func (s *authFailureLimiter) fail(client netip.Addr, now time.Time) error {
	return gate.TakeTokens(s.limiter(clientNetwork(client)), now, 1)
}

func (s *authFailureLimiter) limiter(p netip.Prefix) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lim := s.young[p]; lim != nil {
		return lim
	}
	lim := s.old[p]
	if lim == nil {
		lim = rate.NewLimiter(authFailuresPerSecond, authFailureBurst)
	}
	if len(s.young) >= maxTrackedNetworks || s.young == nil {
		s.old, s.young = s.young, map[netip.Prefix]*rate.Limiter{}
	}
	s.young[p] = lim
	return lim
}

// clientNetwork returns the network that counts as one client: an IPv4 address, or the /64
// of an IPv6 address, since one client typically has all of it. Unknown addresses count as
// one client.
func clientNetwork(client netip.Addr) netip.Prefix {
	bits := 64
	if client = client.Unmap().WithZone(""); client.Is4() {
		bits = 32
	}
	p, _ := client.Prefix(bits) // fails only for the zero Addr and then returns the zero Prefix
	return p
}

// accountLimiters holds the limits of every account that has called.
type accountLimiters struct{ byUser sync.Map } // core.UserID → *accountLimiter

// accountLimiter limits one account: its calls at the read rate of a key, and its new keys
// by a ring of their last times.
type accountLimiter struct {
	calls    *rate.Limiter
	mu       sync.Mutex
	keyTimes [newKeysPerMinute]time.Time
	next     int
}

func (s *accountLimiters) of(u core.UserID) *accountLimiter {
	if h, ok := s.byUser.Load(u); ok {
		return h.(*accountLimiter)
	}
	h, _ := s.byUser.LoadOrStore(u, &accountLimiter{calls: rate.NewLimiter(tools.DefaultReadRate, 2*tools.DefaultReadRate)})
	return h.(*accountLimiter)
}

func (h *accountLimiter) allowCall(now time.Time) error { return gate.TakeTokens(h.calls, now, 1) }

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
