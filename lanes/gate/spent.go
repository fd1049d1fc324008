package gate

import (
	"context"
	"crypto/sha256"
	"sync"

	"duplex/core"
	"duplex/tools"
)

// spent remembers the signatures of writes for as long as they could come again, where
// the venue takes each of them once (Gate.ReplayGuard). A signature may be stamped 5 s
// ahead, so it is good for 10 s from when it is first seen. Two sets take turns every 10
// s, so that nothing is looked through to forget it; each holds spentMax. What would not
// fit is refused rather than forgotten.
type spent struct {
	mu       sync.Mutex
	begun    int64 // when the newer set was begun, ns
	new, old map[mark]struct{}
}

// mark is a digest of key, timestamp and signature.
type mark [16]byte

const (
	spentMax = 1 << 19
	spentFor = 2 * window * core.NsPerMs
)

// take tells whether this is the first time. It refuses with shed where no more can be
// remembered.
func (s *spent) take(repeat string, now int64) (first bool, err error) {
	sum := sha256.Sum256([]byte(repeat))
	m := mark(sum[:len(mark{})])
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.begun > spentFor {
		s.old = s.new
		if now-s.begun > 2*spentFor {
			s.old = nil
		}
		s.new, s.begun = map[mark]struct{}{}, now
	}
	if _, seen := s.new[m]; seen {
		return false, nil
	}
	if _, seen := s.old[m]; seen {
		return false, nil
	}
	if len(s.new) >= spentMax {
		return false, tools.Refuse("shed")
	}
	s.new[m] = struct{}{}
	return true, nil
}

// guarded is a write whose signature is good once, whatever came of it. Where the
// contract wants the first answer again it is given, also if that was a refusal by the
// door; any other repeat is unauthorized.
func guarded[In, Out any](ctx context.Context, g *Gate, c *Call, op *tools.Op[In, Out], read func(*In) error) (out Out, err error) {
	now := g.Venue.Terms.Now()
	first, err := g.spent.take(c.Repeat(), now)
	do := func() (Out, error) { return act(ctx, g, c, op, read, op.Do) }
	switch {
	case err != nil:
		return out, err
	case op.Once:
		return onlyOnce(&g.once, c.Repeat(), now, do)
	case !first:
		return out, tools.Refuse("unauthorized")
	}
	return do()
}
