package client

import (
	"cmp"
	"slices"

	"duplex/schemas"
)

// keptBook is a book as of a seq; whole unless a frame of it is missing.
type keptBook struct {
	schemas.WSBook
	seq   schemas.U64
	whole bool
}

// Book gives a market's book and the seq it is as of; false while it is not known
// for sure: before the first snapshot, between connections, behind a gap.
func (s *Stream) Book(market uint32) (book schemas.WSBook, seq schemas.U64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[market]
	if b == nil || !b.whole {
		return book, 0, false
	}
	book = b.WSBook
	book.Yes, book.No = slices.Clone(book.Yes), slices.Clone(book.No)
	return book, b.seq, true
}

func (l *link) snapshot(m *received) error {
	b := &keptBook{seq: m.Seq, whole: true}
	if err := decode(m.Msg, &b.WSBook); err != nil {
		return err
	}
	l.books[b.MarketID] = b
	l.last[chain{m.Sid, b.MarketID}] = m.Seq
	delete(l.asked, b.MarketID)
	return nil
}

// delta folds a change in. It gives the market whose snapshot has to be asked for,
// 0 if none.
func (l *link) delta(m *received) (gap uint32, err error) {
	var d schemas.WSBookDelta
	if err := decode(m.Msg, &d); err != nil {
		return 0, err
	}
	at, b := chain{m.Sid, d.MarketID}, l.books[d.MarketID]
	follows := b != nil && b.whole && b.Generation == d.Generation && l.last[at] == m.PrevSeq
	l.last[at] = m.Seq
	switch {
	case follows:
		b.change(d.Changes)
		b.seq = m.Seq
		return 0, nil
	case b != nil:
		b.whole = false
	}
	if l.asked[d.MarketID] {
		return 0, nil // its snapshot is on the way
	}
	return d.MarketID, nil
}

func (b *keptBook) change(changes []schemas.WSChange) {
	for _, c := range changes {
		side := &b.Yes
		if c.Outcome == "no" {
			side = &b.No
		}
		*side = withLevel(*side, c.Tick, c.Qty)
	}
}

// withLevel sets one level of a side, which is sorted from the best, highest, on.
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
