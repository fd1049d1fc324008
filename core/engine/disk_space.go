package engine

import (
	"math"
	"sync/atomic"
	"time"
)

// minFreeBytes is the disk space, in bytes, below which placements are refused
// (docs/rules/limits.md#disk). It is enough for the log's next segments and a snapshot, so
// that cancels, rounds and operators' commands still get through.
const minFreeBytes = 256 << 20

// freeSpaceCacheTime is how long a measurement of the free space is used.
const freeSpaceCacheTime = 250 * time.Millisecond

// diskSpace is the last measurement of the free space.
type diskSpace struct {
	checkedAt atomic.Int64  // ns
	free      atomic.Uint64 // bytes
	low       atomic.Bool
}

// DiskNearlyFull reports whether the disk has less than 256 MiB left. Placements are then
// refused with ErrShed; cancels and the venue's own commands go on. It measures at most every
// 250 ms. If the space cannot be measured, it reports false: a write that fails will stop the
// log.
func (e *Engine) DiskNearlyFull() bool {
	s, now := &e.space, time.Now().UnixNano()
	if at := s.checkedAt.Load(); now-at > int64(freeSpaceCacheTime) && s.checkedAt.CompareAndSwap(at, now) {
		free, err := e.opt.Free()
		if err != nil {
			free = math.MaxUint64
		}
		s.free.Store(free)
		low := free < minFreeBytes
		if was := s.low.Swap(low); was != low {
			e.opt.Logf(map[bool]string{true: "the disk is nearly full: placements are refused", false: "the disk has space again: placements are accepted"}[low], "free_bytes", free)
		}
	}
	return s.low.Load()
}

// FreeBytes is the free space of the disk, at most 250 ms old; the greatest number if it cannot be
// measured.
func (e *Engine) FreeBytes() uint64 {
	e.DiskNearlyFull()
	return e.space.free.Load()
}
