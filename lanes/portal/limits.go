package portal

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/tools"
)

// Limits of the accounts service. Keys are uncapped, hence newKeys a minute and
// account (contract core, Limits).
const (
	newKeys       = 10
	failuresPerS  = 1
	failuresBurst = 30
	remembered    = 4096 // addresses in each of two halves
)

func (l *lane) now() time.Time { return time.Unix(0, l.Venue.Terms.Now()) }

// strangers bounds failed bearers by client address. It remembers two halves of
// addresses: when the younger is full the older is forgotten, so that many
// addresses cost no more than that.
type strangers struct {
	mu         sync.Mutex
	young, old map[netip.Prefix]*rate.Limiter
}

// fail counts one failure of an address; it refuses when there were too many.
func (s *strangers) fail(remote string, now time.Time) error {
	return gate.Take(s.limiter(network(remote)), now, 1)
}

func (s *strangers) limiter(p netip.Prefix) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lim := s.young[p]; lim != nil {
		return lim
	}
	lim := s.old[p]
	if lim == nil {
		lim = rate.NewLimiter(failuresPerS, failuresBurst)
	}
	if len(s.young) >= remembered || s.young == nil {
		s.old, s.young = s.young, map[netip.Prefix]*rate.Limiter{}
	}
	s.young[p] = lim
	return lim
}

// network is what counts as one address: an IPv4 address, or the /64 of an IPv6 one,
// all of which one client has. What cannot be read counts as one together.
func network(remote string) netip.Prefix {
	host, _, _ := net.SplitHostPort(remote)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // an address has that many bits
	return p
}

// holders are the limits of each account that called.
type holders struct{ all sync.Map } // core.UserID → *holder

// holder is one account's: calls as a key's reads, and the times of its last new
// keys in a ring.
type holder struct {
	calls *rate.Limiter
	mu    sync.Mutex
	made  [newKeys]time.Time
	next  int
}

func (s *holders) of(u core.UserID) *holder {
	if h, ok := s.all.Load(u); ok {
		return h.(*holder)
	}
	h, _ := s.all.LoadOrStore(u, &holder{calls: rate.NewLimiter(tools.ReadRate, 2*tools.ReadRate)})
	return h.(*holder)
}

func (h *holder) call(now time.Time) error { return gate.Take(h.calls, now, 1) }

// key grants a new key unless newKeys were granted within the minute before. A
// bucket would grant twice as many in its first minute.
func (h *holder) key(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if again := h.made[h.next].Add(time.Minute); now.Before(again) {
		return gate.RateLimited(again.Sub(now))
	}
	h.made[h.next] = now
	h.next = (h.next + 1) % newKeys
	return nil
}
