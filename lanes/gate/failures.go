package gate

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of failed bearer tokens (docs/rules/limits.md#failed-bearers).
const (
	authFailuresPerSecond = 1
	authFailureBurst      = 30
	maxTrackedNetworks    = 4096 // networks in each of two generations
)

// Limits of failed signatures (docs/rules/limits.md#failed-signatures).
const (
	signatureFailuresPerSecond = 10
	signatureFailureBurst      = 300
	signatureFailureBuckets    = 4096
)

// keyFailures limits failed signatures by the API key that a request names, known or not, so that the
// limit tells nothing about a key. Names share a fixed number of buckets by a hash that nobody can predict:
// names that are made up cost no memory and push no other name out. The zero keyFailures is ready to use.
type keyFailures struct {
	once    sync.Once
	seed    maphash.Seed
	buckets [signatureFailureBuckets]atomic.Pointer[TokenBucket]
}

// fail counts a failure of a key. It returns rate_limited if there were too many.
func (s *keyFailures) fail(key string, now time.Time) error {
	s.once.Do(func() { s.seed = maphash.MakeSeed() })
	slot := &s.buckets[maphash.String(s.seed, key)%signatureFailureBuckets]
	b := slot.Load()
	if b == nil {
		slot.CompareAndSwap(nil, NewTokenBucket(signatureFailuresPerSecond, signatureFailureBurst))
		b = slot.Load()
	}
	return b.Take(now, 1)
}

// AuthFailures limits failed authentications by client network
// (docs/rules/limits.md#failed-bearers).
type AuthFailures struct{ networks NetworkBuckets }

// Fail counts a failure of an address. It returns rate_limited if there were too many.
func (s *AuthFailures) Fail(client netip.Addr, now time.Time) error {
	limiter := s.networks.Of(client, func() *TokenBucket { return NewTokenBucket(authFailuresPerSecond, authFailureBurst) })
	return limiter.Take(now, 1)
}

// NetworkBuckets holds a limiter for each client network. It has two generations of networks: when
// the younger is full, the older is discarded, which bounds its memory.
type NetworkBuckets struct {
	mu         sync.Mutex
	young, old map[netip.Prefix]*TokenBucket
}

// ClientNetwork is the network by which a client's address is limited.
func ClientNetwork(a netip.Addr) netip.Prefix { return clientNetwork(a) }

// Of returns the limiter of the network of an address, one that create makes if there is none.
func (s *NetworkBuckets) Of(client netip.Addr, create func() *TokenBucket) *TokenBucket {
	p := clientNetwork(client)
	s.mu.Lock()
	defer s.mu.Unlock()
	if lim := s.young[p]; lim != nil {
		return lim
	}
	lim := s.old[p]
	if lim == nil {
		lim = create()
	}
	if len(s.young) >= maxTrackedNetworks || s.young == nil {
		s.old, s.young = s.young, map[netip.Prefix]*TokenBucket{}
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
