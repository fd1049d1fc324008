package ws

import "duplex/core"

// phases spread the readers of orderbook_snapshot over the interval between two of
// them: thousands at one moment would keep everything else from the processors.
const phases = 10

// phase says whose turn it is. All of it is under the lane's lock.
type phase struct {
	readers [phases]map[*sub]struct{}
	dirty   [phases]slots // books changed since the readers' last snapshots
	next    int           // whose turn is next
	newest  int           // the phase of the last subscription
}

func (p *phase) add(s *sub) {
	if s.channel != snapshots {
		return
	}
	s.phase, p.newest = p.newest, (p.newest+1)%phases
	if p.readers[s.phase] == nil {
		p.readers[s.phase] = map[*sub]struct{}{}
	}
	p.readers[s.phase][s] = struct{}{}
}

func (p *phase) remove(s *sub) {
	if s.channel == snapshots {
		delete(p.readers[s.phase], s)
	}
}

// soil notes that a book has changed.
func (p *phase) soil(m core.MarketID) {
	for i := range p.dirty {
		p.dirty[i] |= bit(m)
	}
}

// turn gives the readers whose turn it is, and what has changed for them.
func (p *phase) turn() (readers map[*sub]struct{}, dirty slots) {
	readers, dirty = p.readers[p.next], p.dirty[p.next]
	p.dirty[p.next] = 0
	p.next = (p.next + 1) % phases
	return readers, dirty
}
