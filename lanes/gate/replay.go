package gate

import (
	"crypto/sha256"
	"sync"

	"duplex/core"
	"duplex/tools"
)

// replayFilter holds the signatures of recent writes for Gate.ReplayGuard
// (docs/rules/accounts.md#replay-guard). On several machines it is a filter of one of them: the
// log judges by marks. A timestamp may be 5 s ahead of the venue's clock,
// so a signature can be valid for signatureTTL after its first use. The filter rotates two
// sets every signatureTTL, so that expiry never scans. Each set holds at most
// maxSignatures; a write beyond that is shed, since a forgotten signature could be used
// again.
type replayFilter struct {
	mu                sync.Mutex
	rotatedAt         tools.WallTime // when current was created
	current, previous map[core.Mark]struct{}
}

// markOf is the mark of a request with this ReplayKey.
func markOf(repeat string) *core.Mark {
	sum := sha256.Sum256([]byte(repeat))
	m := core.Mark(sum[:len(core.Mark{})])
	return &m
}

const (
	maxSignatures = 1 << 19
	signatureTTL  = tools.WallTime(2 * replayWindowMs * core.NsPerMs)
)

// add records a replay key at time now and reports whether it is new. It returns shed
// if the current set is full.
func (s *replayFilter) add(repeat string, now tools.WallTime) (first bool, err error) {
	m := *markOf(repeat)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.rotatedAt > signatureTTL {
		s.previous = s.current
		if now-s.rotatedAt > 2*signatureTTL {
			s.previous = nil
		}
		s.current, s.rotatedAt = map[core.Mark]struct{}{}, now
	}
	if _, seen := s.current[m]; seen {
		return false, nil
	}
	if _, seen := s.previous[m]; seen {
		return false, nil
	}
	if len(s.current) >= maxSignatures {
		return false, tools.NewError("shed")
	}
	s.current[m] = struct{}{}
	return true, nil
}
