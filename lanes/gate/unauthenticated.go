package gate

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"duplex/core"
	"duplex/tools"
)

// Bounds of the work before the caller is known (docs/rules/limits.md#before-a-signature).
const (
	maxPendingBodies  = 2048     // bodies that are being read
	pendingBodyBudget = 64 << 20 // bytes that the large ones of them may have
	smallBodyBytes    = 4 << 10  // a longer body is a large one
)

// source is where a request comes from before its caller is known: a network, or the family that has
// signed its connection.
type source struct {
	network netip.Prefix
	family  core.UserID
}

// sourceOf returns the source of a request, and how many pending bodies it may have.
func (g *Gate) sourceOf(r *http.Request) (s source, limit int) {
	p := placeOf(r)
	switch {
	case p == nil || p.proxy:
		return source{network: clientNetwork(g.ClientAddr(r))}, ConnsPerNetwork
	case p.signed.Load():
		return source{family: p.family}, connsPerFamily // set before signed, and never again
	}
	return source{network: p.network}, p.table.PerNetwork
}

// unauthenticated bounds what requests take before their caller is known: the bodies that are being read,
// by number, by source and by size, and the requests in progress of each network behind a trusted proxy.
//
// A body beyond a bound ends the oldest one: of all, or of its source. So an attacker who holds many bodies
// open ends the own ones, and a body that is sent at once passes. The new body waits until the old one has
// given its memory back, so the bounds hold while a busy machine ends bodies slowly.
type unauthenticated struct {
	mu        sync.Mutex
	all       *bodyBound
	large     *bodyBound
	sources   map[source]*bodyBound
	forwarded map[netip.Prefix]int
	shed      atomic.Uint64
}

func newUnauthenticated() unauthenticated {
	return unauthenticated{all: newBodyBound(maxPendingBodies), large: newBodyBound(pendingBodyBudget / MaxBodyBytes), sources: map[source]*bodyBound{}, forwarded: map[netip.Prefix]int{}}
}

// bodyBound bounds a number of bodies. unauthenticated.mu guards all but free.
type bodyBound struct {
	limit int
	free  *semaphore.Weighted // places that no body holds, also not one that is ending
	live  list.List           // of *pendingBody that have not been shed, oldest first
	refs  int                 // bodies that have not ended
}

func newBodyBound(limit int) *bodyBound {
	return &bodyBound{limit: limit, free: semaphore.NewWeighted(int64(limit))}
}

// share is the place of a body within a bound.
type share struct {
	of      *bodyBound
	element *list.Element // in of.live; nil before it is taken, and once it is shed or ended
	held    int64         // places of of.free, 0 or 1; used by the reader alone
}

// pendingBody is a body that is being read for a caller who is not known yet.
type pendingBody struct {
	of     *unauthenticated
	source source
	stop   func()   // makes the read of the body fail
	shares [3]share // of all, of its source, of the large ones

	// Guarded by of.mu.
	wasShed bool
	cancel  context.CancelFunc // ends a wait for a share; nil before the first
}

// errShedBody is the error of the read of a body that was shed.
var errShedBody = errors.New("gate: the body was shed")

// begin counts a body of a source that may have at most limit of them. stop must make the read of the body fail. It
// returns errShedBody if the body was shed meanwhile. end must follow in any case.
func (u *unauthenticated) begin(from source, limit int, stop func()) (*pendingBody, error) {
	b := &pendingBody{of: u, source: from, stop: stop}
	u.mu.Lock()
	same := u.sources[from]
	if same == nil {
		same = newBodyBound(limit)
		u.sources[from] = same
	}
	same.refs++
	b.shares = [3]share{{of: u.all}, {of: same}, {of: u.large}}
	u.mu.Unlock()
	for i := range b.shares[:2] {
		if err := b.take(&b.shares[i]); err != nil {
			return b, err
		}
	}
	return b, nil
}

// grow is called before a body becomes a large one. It returns errShedBody if the body was shed meanwhile.
func (b *pendingBody) grow() error { return b.take(&b.shares[2]) }

// take takes a place within a bound. If there are too many bodies it sheds the oldest, and waits until that
// has ended.
func (b *pendingBody) take(s *share) error {
	u := b.of
	u.mu.Lock()
	if b.wasShed {
		u.mu.Unlock()
		return errShedBody
	}
	if s.element = s.of.live.PushBack(b); s.of.live.Len() > s.of.limit {
		s.of.live.Front().Value.(*pendingBody).shedLocked()
	}
	if s.of.free.TryAcquire(1) {
		s.held = 1
		u.mu.Unlock()
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.cancel = cancel
	u.mu.Unlock()
	if s.of.free.Acquire(ctx, 1) != nil {
		return errShedBody
	}
	s.held = 1
	return nil
}

// shedLocked ends the body early. The caller holds of.mu.
func (b *pendingBody) shedLocked() {
	b.wasShed = true
	b.of.shed.Add(1)
	b.leave()
	if b.cancel != nil {
		b.cancel()
	}
	b.stop()
}

// leave takes the body from the live ones. The caller holds of.mu.
func (b *pendingBody) leave() {
	for i := range b.shares {
		s := &b.shares[i]
		if s.element != nil {
			s.of.live.Remove(s.element)
			s.element = nil
		}
	}
}

// end is called once the body's buffers are free, and reports whether it was shed. stop is not called from
// then on.
func (b *pendingBody) end() (shed bool) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.leave()
	for _, s := range b.shares {
		s.of.free.Release(s.held)
	}
	if same := b.shares[1].of; same.refs > 1 {
		same.refs--
	} else {
		delete(b.of.sources, b.source)
	}
	return b.wasShed
}

// enterForwarded counts a request of a network behind a trusted proxy, or returns shed if it has limit in
// progress. leaveForwarded must follow once its caller is known, or at its end.
func (u *unauthenticated) enterForwarded(network netip.Prefix, limit int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.forwarded[network] >= limit {
		u.shed.Add(1)
		return tools.NewError("shed")
	}
	u.forwarded[network]++
	return nil
}

func (u *unauthenticated) leaveForwarded(network netip.Prefix) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.forwarded[network]--; u.forwarded[network] == 0 {
		delete(u.forwarded, network)
	}
}

// UnauthenticatedShed returns the number of requests that were shed before their caller was known, because
// such requests took too much together. It is safe for concurrent use.
func (g *Gate) UnauthenticatedShed() uint64 { return g.unauthenticated.shed.Load() }

// admitForwarded bounds the requests of one network behind a trusted proxy. known must be called once the
// caller is known, or at the end of the request; it may be called twice.
func (g *Gate) admitForwarded(r *http.Request) (known func(), err error) {
	p := placeOf(r)
	if p == nil || !p.proxy {
		return func() {}, nil
	}
	network := clientNetwork(g.ClientAddr(r))
	if err := g.unauthenticated.enterForwarded(network, p.table.PerNetwork); err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() { g.unauthenticated.leaveForwarded(network) }), nil
}
