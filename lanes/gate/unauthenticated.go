package gate

import (
	"container/list"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"duplex/core"
	"duplex/tools"
)

// Bounds of the work before the caller is known (docs/rules/limits.md#before-a-signature).
const (
	pendingBodyBudget = 64 << 20 // bytes of pending bodies
	freeBodyBytes     = 4 << 10  // of each body, which the budget does not count
)

// source is where a request comes from before its caller is known: a network, or the family that has
// signed its connection.
type source struct {
	network netip.Prefix
	family  core.UserID
}

// sourceOf returns the source of a request, and how many pending bodies that may have.
func (g *Gate) sourceOf(r *http.Request) (s source, most int) {
	p := placeOf(r)
	switch {
	case p == nil || p.proxy:
		return source{network: clientNetwork(g.ClientAddr(r))}, ConnsPerNetwork
	case p.signed.Load():
		return source{family: p.family}, connsPerFamily // set before signed, and never again
	}
	return source{network: p.network}, p.table.PerNetwork
}

// unauthenticated bounds what requests take before their caller is known: the pending bodies, in bytes and
// by source, and the requests in progress of each network behind a trusted proxy. A body beyond a bound ends
// the oldest one, of all or of its source. An attacker who holds many bodies open therefore ends the own
// ones, and a body that is sent at once passes. The zero value is ready to use.
type unauthenticated struct {
	mu        sync.Mutex
	bytes     int64     // counted, at most pendingBodyBudget and one read
	counted   list.List // of *pendingBody with counted bytes, in the order in which they began to count
	bySource  map[source]*list.List
	forwarded map[netip.Prefix]int
	shed      atomic.Uint64
}

// pendingBody is a body that is being read for a caller who is not known yet. Its reader alone uses read; of.mu guards what follows.
type pendingBody struct {
	of     *unauthenticated
	source source
	stop   func() // makes the read of the body fail
	read   int64  // bytes

	bytes         int64 // counted in of.bytes
	shed          bool
	counted, ours *list.Element
}

// begin counts a body of a source that may have at most `most`. stop must make the read of the body fail.
func (s *unauthenticated) begin(from source, most int, stop func()) *pendingBody {
	b := &pendingBody{of: s, source: from, stop: stop}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.bySource[from]
	if same == nil {
		if s.bySource == nil {
			s.bySource = map[source]*list.List{}
		}
		same = list.New()
		s.bySource[from] = same
	}
	b.ours = same.PushBack(b)
	if same.Len() > most {
		same.Front().Value.(*pendingBody).shedLocked()
	}
	return b
}

// errShedBody is the error of a read of a body that was shed.
var errShedBody = errors.New("gate: the body was shed")

// reader counts what is read of the body.
func (b *pendingBody) reader(body io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := body.Read(p)
		before := max(b.read, freeBodyBytes)
		if b.read += int64(n); b.read > before && b.count(b.read-before) {
			return n, errShedBody
		}
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// count counts n more bytes, and sheds the oldest bodies while there are too many. It reports whether b is
// one of these.
func (b *pendingBody) count(n int64) (shed bool) {
	s := b.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.shed {
		return true
	}
	if b.counted == nil {
		b.counted = s.counted.PushBack(b)
	}
	b.bytes += n
	for s.bytes += n; s.bytes > pendingBodyBudget; {
		s.counted.Front().Value.(*pendingBody).shedLocked()
	}
	return b.shed
}

// shedLocked ends the body early. The caller holds of.mu.
func (b *pendingBody) shedLocked() {
	b.shed = true
	b.of.shed.Add(1)
	b.leave()
	b.stop()
}

// leave takes the body from the counts. The caller holds of.mu.
func (b *pendingBody) leave() {
	s := b.of
	if b.counted != nil {
		s.counted.Remove(b.counted)
		s.bytes -= b.bytes
		b.counted = nil
	}
	if b.ours != nil {
		same := s.bySource[b.source]
		if same.Remove(b.ours); same.Len() == 0 {
			delete(s.bySource, b.source)
		}
		b.ours = nil
	}
}

// end is called once the body is read, and reports whether it was shed. stop is not called from then on.
func (b *pendingBody) end() (shed bool) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.leave()
	return b.shed
}

// enterForwarded counts a request of a network behind a trusted proxy, or returns shed if it has `most` in
// progress. leaveForwarded must follow once its caller is known, or at its end.
func (s *unauthenticated) enterForwarded(network netip.Prefix, most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forwarded[network] >= most {
		s.shed.Add(1)
		return tools.NewError("shed")
	}
	if s.forwarded == nil {
		s.forwarded = map[netip.Prefix]int{}
	}
	s.forwarded[network]++
	return nil
}

func (s *unauthenticated) leaveForwarded(network netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forwarded[network]--; s.forwarded[network] == 0 {
		delete(s.forwarded, network)
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
