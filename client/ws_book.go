package client

import (
	"cmp"
	"slices"
	"time"

	"duplex/schemas"
)

// localBook is a book as of a seq. It is complete unless a message is missing.
type localBook struct {
	schemas.WSBook
	seq      schemas.U64
	complete bool
}

// Book returns a copy of a market's book and its seq. It reports false while the book is
// unknown: before the first snapshot, between connections, and after a gap.
func (s *Stream) Book(market uint32) (book schemas.WSBook, seq schemas.U64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[market]
	if b == nil || !b.complete {
		return book, 0, false
	}
	book = b.WSBook
	book.Yes, book.No = slices.Clone(book.Yes), slices.Clone(book.No)
	return book, b.seq, true
}

func (l *streamConn) applySnapshot(m *serverMessage) error {
	b := &localBook{seq: m.Seq, complete: true}
	if err := decode(m.Msg, &b.WSBook); err != nil {
		return err
	}
	l.books[b.MarketID] = b
	l.last[chain{m.Sid, b.MarketID}] = m.Seq
	delete(l.snapshotRequested, b.MarketID)
	return nil
}

// applyDelta applies a change. After a gap, and if the change is late, the book is unknown until a
// snapshot.
func (l *streamConn) applyDelta(m *serverMessage, d *schemas.WSBookDelta, age time.Duration) applied {
	done := applied{fresh: true}
	at, b := chain{m.Sid, d.MarketID}, l.books[d.MarketID]
	follows := b != nil && b.complete && b.Generation == d.Generation && l.last[at] == m.PrevSeq
	l.last[at] = m.Seq
	if follows && age > MaxAge {
		done.late = age
	}
	switch {
	case follows && done.late == 0:
		b.change(d.Changes)
		b.seq, b.Ts = m.Seq, d.Ts
		return done
	case b != nil:
		b.complete = false
	}
	if !l.snapshotRequested[d.MarketID] {
		done.gap = d.MarketID
	}
	return done
}

func (b *localBook) change(changes []schemas.WSChange) {
	for _, c := range changes {
		side := &b.Yes
		if c.Outcome == "no" {
			side = &b.No
		}
		*side = withLevel(*side, c.Tick, c.Qty)
	}
}

// withLevel sets one level of a side, which is sorted from the highest price down.
func withLevel(side []schemas.Level, tick, qty int64) []schemas.Level {
	i, there := slices.BinarySearchFunc(side, tick, func(l schemas.Level, t int64) int { return cmp.Compare(t, l[0]) })
	switch {
	case there && qty == 0:
		return slices.Delete(side, i, i+1)
	case there:
		side[i][1] = qty
	case qty != 0:
		return slices.Insert(side, i, schemas.Level{tick, qty})
	}
	return side
}
