package gate

import (
	"container/list"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/internal/timeouts"
	"duplex/tools"
)

// Bounds of the connections of one listener (docs/rules/limits.md#connections).
const (
	MaxConns        = 16_384 // at once; the server lowers it to what the limit of open files allows
	ConnsPerNetwork = 256    // from one network, of connections that have shown no valid credential
	connsPerFamily  = 1024   // signed, of one family of accounts
)

// UnsignedTimeout is how long a connection stays that has shown no valid credential: from its start,
// or from its last answer.
const UnsignedTimeout = 5 * time.Second

// answerTime is added to the timeout: net/http answers an incomplete head at HeaderTimeout, and the
// connection must not end at the same moment.
const answerTime = 100 * time.Millisecond

// Places bounds the connections of a listener. The zero value has the defaults.
type Places struct {
	Max        int            // connections at once; 0: MaxConns
	PerNetwork int            // unsigned connections from one network; 0: ConnsPerNetwork
	Proxies    []netip.Prefix // trusted proxies, whose connections count as signed
	Timeout    time.Duration  // of an unsigned connection; 0: UnsignedTimeout
}

// placeTable holds the connections of a listener. A connection is unsigned until a request on it shows a
// valid signature or token, and signed from then on, by the family of that request. Strangers can open
// any number of connections, so only unsigned ones end to make room for others while there is one:
//
//	take (a new connection):
//	    its network has too many unsigned ones  → the oldest of these ends
//	    the listener is full                    → the oldest unsigned one ends
//	      and none is unsigned                  → one of the largest family ends (candidateOf)
//	      and each has a write in progress      → the new one is closed
//	sign (its first valid credential):
//	    its family has too many                 → one of the family ends
//	expire (5 s after its start or last answer):
//	    it is unsigned and has no request in progress → it ends
//
// Invariants:
//
//  1. A connection ends only once its place is free, so the listener never has more than Max.
//  2. No request begins on a connection that has been chosen to end while it was idle, and no write on any
//     that has been chosen: a write that was begun is never cut.
//  3. A request does not run if its connection was chosen to end before the request was authenticated.
//
// A request takes no lock of the table: it counts itself on its own place.
type placeTable struct {
	Places
	evicted  [3]atomic.Uint64
	rejected atomic.Uint64

	mu       sync.Mutex
	open     int
	unsigned list.List // of *place, oldest first
	networks map[netip.Prefix]*list.List
	families map[core.UserID]map[*place]struct{}
}

// eviction is why a connection ended for another one.
type eviction int

// The values of eviction.
const (
	evictFull eviction = iota
	evictNetwork
	evictFamily
)

var evictionNames = [...]string{evictFull: "full", evictNetwork: "network", evictFamily: "family"}

func newPlaceTable(p Places) *placeTable {
	if p.Max == 0 {
		p.Max = MaxConns
	}
	if p.PerNetwork == 0 {
		p.PerNetwork = ConnsPerNetwork
	}
	if p.Timeout == 0 {
		p.Timeout = timeouts.Of(UnsignedTimeout)
	}
	return &placeTable{Places: p, networks: map[netip.Prefix]*list.List{}, families: map[core.UserID]map[*place]struct{}{}}
}

// place is the place of a connection. A nil place, that of a connection without a Listener, has no bounds.
type place struct {
	table   *placeTable
	conn    net.Conn     // accepted, below TLS
	framing *framingConn // above TLS; nil for HTTP/2
	network netip.Prefix
	proxy   bool // of a trusted proxy

	busy      atomic.Int64 // requests in progress; far below zero once the connection ends while it is idle
	writes    atomic.Int64 // of these, writes that have been authorized; far below zero once a read or a socket ends
	idleSince atomic.Int64 // ns since the Unix epoch: the end of its last request
	socket    atomic.Bool  // hijacked: it has no more requests and is busy for good
	signed    atomic.Bool

	// Guarded by table.mu.
	gone           bool
	family         core.UserID   // of a signed one
	byAge, ofOwner *list.Element // of an unsigned one: in table.unsigned and in the list of its network
	expiry         *time.Timer
}

// ending is the value of place.busy of an idle connection that ends, or of place.writes of another one.
const ending = math.MinInt64 / 2

// take gives a new connection a place. It returns nil if there is none.
func (t *placeTable) take(c net.Conn) *place {
	p := &place{table: t, conn: c, network: clientNetwork(addrOf(c))}
	p.idleSince.Store(time.Now().UnixNano())
	p.proxy = contains(t.Proxies, addrOf(c))
	p.signed.Store(p.proxy)
	var ended []*place
	defer func() { closeAll(ended) }() // after the lock
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.networks[p.network]; !p.proxy && of != nil && of.Len() >= t.PerNetwork {
		ended = append(ended, t.evict(of.Front().Value.(*place), evictNetwork))
	}
	if t.open >= t.Max {
		victim := t.candidate()
		if victim == nil {
			t.rejected.Add(1)
			return nil
		}
		ended = append(ended, t.evict(victim, evictFull))
	}
	t.open++
	if p.proxy {
		return p
	}
	of := t.networks[p.network]
	if of == nil {
		of = list.New()
		t.networks[p.network] = of
	}
	p.byAge, p.ofOwner = t.unsigned.PushBack(p), of.PushBack(p)
	p.expiry = time.AfterFunc(t.Timeout+answerTime, p.expire)
	return p
}

// candidate returns the place that a full listener frees for a new connection; nil if all have a write in
// progress. The caller holds mu.
//
// It looks at every family if nothing is unsigned. That is rare, since the connection which gets the place
// is unsigned.
func (t *placeTable) candidate() *place {
	if oldest := t.unsigned.Front(); oldest != nil {
		return oldest.Value.(*place)
	}
	var largest map[*place]struct{}
	for _, f := range t.families {
		if len(f) > len(largest) {
			largest = f
		}
	}
	return candidateOf(largest)
}

// candidateOf chooses the place of a family that ends: the one that is idle for longest, else the oldest
// socket, whose client can resume, else the oldest read, which can wait for long and be sent again. It returns
// nil if each has a write in progress.
func candidateOf(family map[*place]struct{}) *place {
	for {
		var idle, socket, read *place
		for p := range family {
			switch {
			case p.writes.Load() != 0:
			case p.socket.Load():
				socket = older(socket, p)
			case p.busy.Load() == 0:
				idle = older(idle, p)
			default:
				read = older(read, p)
			}
		}
		if idle != nil {
			if idle.busy.CompareAndSwap(0, ending) {
				return idle
			}
			continue
		}
		if socket == nil {
			socket = read
		}
		if socket == nil || socket.writes.CompareAndSwap(0, ending) {
			return socket
		}
	}
}

func older(a, b *place) *place {
	if a == nil || b.idleSince.Load() < a.idleSince.Load() {
		return b
	}
	return a
}

// evict frees a place. The caller holds mu, and closes the connection after it.
func (t *placeTable) evict(p *place, why eviction) *place {
	t.evicted[why].Add(1)
	p.leave()
	return p
}

// leave frees the place, once. The caller holds mu.
func (p *place) leave() {
	if p.gone {
		return
	}
	p.gone = true
	p.table.open--
	p.forgetUnsigned()
	if family := p.table.families[p.family]; family != nil {
		if delete(family, p); len(family) == 0 {
			delete(p.table.families, p.family)
		}
	}
}

// forgetUnsigned removes the place from those of unsigned connections. The caller holds mu.
func (p *place) forgetUnsigned() {
	if p.byAge == nil {
		return
	}
	p.expiry.Stop()
	p.table.unsigned.Remove(p.byAge)
	of := p.table.networks[p.network]
	if of.Remove(p.ofOwner); of.Len() == 0 {
		delete(p.table.networks, p.network)
	}
	p.byAge, p.ofOwner = nil, nil
}

// release frees the place of a connection that is closed.
func (p *place) release() {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	p.leave()
}

// sign marks the connection as signed by a family, 0 for the operators. It returns shed if the connection
// was chosen to end meanwhile, so that its request does not run, and too_many_connections if the family has
// too many connections, each with a write in progress.
func (p *place) sign(family core.UserID) error {
	if p == nil || p.signed.Load() {
		return nil
	}
	t := p.table
	var ended []*place
	defer func() { closeAll(ended) }() // after the lock
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case p.gone:
		return tools.NewError("shed")
	case p.signed.Load(): // by another request of the connection
		return nil
	}
	of := t.families[family]
	if len(of) >= connsPerFamily {
		victim := candidateOf(of)
		if victim == nil {
			return tools.NewError("too_many_connections")
		}
		ended = append(ended, t.evict(victim, evictFamily))
	}
	if of = t.families[family]; of == nil {
		of = map[*place]struct{}{}
		t.families[family] = of
	}
	p.forgetUnsigned()
	of[p], p.family = struct{}{}, family
	p.signed.Store(true)
	return nil
}

// beginWrite counts a write that is about to have an effect. It returns shed if the connection has been chosen
// to end.
func (p *place) beginWrite() error {
	if p != nil && p.writes.Add(1) <= 0 {
		return tools.NewError("shed")
	}
	return nil
}

// endWrite counts the end of a write that beginWrite has counted.
func (p *place) endWrite() {
	if p != nil {
		p.writes.Add(-1)
	}
}

// begin counts a request. It returns false if the connection has been chosen to end.
func (p *place) begin() bool { return p == nil || p.busy.Add(1) > 0 }

// end counts the end of a request that begin has counted.
func (p *place) end() {
	if p == nil || p.socket.Load() {
		return
	}
	p.idleSince.Store(time.Now().UnixNano())
	if p.busy.Add(-1) == 0 && !p.signed.Load() {
		p.expiry.Reset(p.table.Timeout + answerTime)
	}
}

// expire ends an unsigned connection without a request in progress.
func (p *place) expire() {
	t := p.table
	t.mu.Lock()
	ends := p.byAge != nil && p.busy.CompareAndSwap(0, ending)
	if ends {
		p.leave()
	}
	t.mu.Unlock()
	if ends {
		closeAll([]*place{p})
	}
}

// closeAll closes the connections of places. Whatever happens in them sees the end.
func closeAll(ended []*place) {
	for _, p := range ended {
		_ = p.conn.Close()
	}
}

// identify marks the connection of a request as signed by whoever the call is from, if the caller is known.
func (g *Gate) identify(p *place, c *Call) error {
	if p == nil || p.signed.Load() || !c.identified() {
		return nil
	}
	family := core.UserID(0)
	switch {
	case c.Key != nil:
		family = g.Venue.Engine.Owner(c.Key.User)
	case c.User != 0:
		family = g.Venue.Engine.Owner(c.User)
	}
	return p.sign(family)
}

// closeUnsigned ends an unsigned connection after a request that failed to authenticate. A client that may
// fail again needs a new one, so that a stranger cannot keep a place. HTTP/2 has no end after one answer:
// there the timeout does it.
func closeUnsigned(w http.ResponseWriter, r *http.Request, err error) {
	if p := placeOf(r); p != nil && r.ProtoMajor == 1 && !p.signed.Load() && tools.ErrorOf(err).HTTP() == http.StatusUnauthorized {
		w.Header().Set("Connection", "close")
	}
}

// placeOf returns the place of a request's connection, nil if it has no Listener.
func placeOf(r *http.Request) *place {
	p, _ := r.Context().Value(connKey{}).(*place)
	return p
}

// addrOf returns the address of a connection's peer, the zero Addr if it has none.
func addrOf(c net.Conn) netip.Addr {
	at, _ := netip.ParseAddrPort(c.RemoteAddr().String()) // the zero AddrPort with an error
	return at.Addr().Unmap().WithZone("")
}

func contains(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}
