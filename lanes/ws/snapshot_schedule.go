package ws

import "duplex/core"

// snapshotSlices is the number of groups that the readers of orderbook_snapshot are divided
// into. Each group has its own moment in the interval, because sending to thousands of
// readers at once would delay everything else.
const snapshotSlices = 10

// snapshotSchedule divides the readers of orderbook_snapshot into slices and tracks the
// changed books of each slice. It is guarded by the lane's lock.
type snapshotSchedule struct {
	readers      [snapshotSlices]map[*sub]struct{}
	dirty        [snapshotSlices]marketSet // books changed since the slice's last snapshots
	next         int                       // the slice to send to next
	lastAssigned int                       // the slice for the next new reader
}

func (p *snapshotSchedule) add(s *sub) {
	if s.channel != snapshots {
		return
	}
	s.slice, p.lastAssigned = p.lastAssigned, (p.lastAssigned+1)%snapshotSlices
	if p.readers[s.slice] == nil {
		p.readers[s.slice] = map[*sub]struct{}{}
	}
	p.readers[s.slice][s] = struct{}{}
}

func (p *snapshotSchedule) remove(s *sub) {
	if s.channel == snapshots {
		delete(p.readers[s.slice], s)
	}
}

// setDirty records that a book has changed.
func (p *snapshotSchedule) setDirty(m core.MarketID) {
	for i := range p.dirty {
		p.dirty[i] |= marketBit(m)
	}
}

// advance returns the readers of the next slice and the books changed since its last
// snapshots, and moves on to the following slice.
func (p *snapshotSchedule) advance() (readers map[*sub]struct{}, dirty marketSet) {
	readers, dirty = p.readers[p.next], p.dirty[p.next]
	p.dirty[p.next] = 0
	p.next = (p.next + 1) % snapshotSlices
	return readers, dirty
}
