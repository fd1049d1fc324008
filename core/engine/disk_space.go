package engine

import (
	"sync/atomic"
	"time"
)

// minFreeBytes is the disk space, in bytes, that placements must leave free: the log's
// next segments and a snapshot, so that cancels, rounds and operators go on and
// nothing meets a full disk in the middle of a write.
const minFreeBytes = 256 << 20

// freeSpaceCacheTime is how old the answer may be that a placement is judged by.
const freeSpaceCacheTime = 250 * time.Millisecond

// diskSpace watches how much of the disk is left.
type diskSpace struct {
	checkedAt atomic.Int64 // ns, when it was asked last
	low       atomic.Bool
}

// DiskNearlyFull tells whether there is too little space for anything but cancels and what
// the venue does itself: then placements are refused with ErrShed. A disk that cannot
// be asked is taken for a good one; the log will tell.
func (e *Engine) DiskNearlyFull() bool {
	s, now := &e.space, time.Now().UnixNano()
	if at := s.checkedAt.Load(); now-at > int64(freeSpaceCacheTime) && s.checkedAt.CompareAndSwap(at, now) {
		free, err := e.opt.Free()
		low := err == nil && free < minFreeBytes
		if was := s.low.Swap(low); was != low {
			e.opt.Logf(map[bool]string{true: "the disk is nearly full: placements are refused", false: "there is space on the disk again"}[low], "free_bytes", free)
		}
	}
	return s.low.Load()
}
