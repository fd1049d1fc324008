package client

import (
	"maps"

	"duplex/schemas"
)

// Account is the caller's account as the stream keeps it.
type Account struct {
	Seq       schemas.U64 // of the last event
	Cash      schemas.U64
	Reserved  schemas.U64
	Positions map[uint32]schemas.Position   // by market
	Orders    map[schemas.U64]schemas.Order // resting, by order_id
	Deadman   schemas.Deadman
}

// Account gives a copy; false before the first snapshot. Between connections it is
// what the last one told.
func (s *Stream) Account() (Account, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account
	a.Positions, a.Orders = maps.Clone(a.Positions), maps.Clone(a.Orders)
	return a, s.mark.any
}

// mark is how far the account's events were seen: all of those up to whole, and the
// first `part` of those of at. A command causes several, and a connection may break
// between them; since_seq can name but whole commands.
type mark struct {
	any       bool
	whole, at schemas.U64
	part      int
}

func (k *mark) seen(seq schemas.U64) {
	if seq != k.at {
		k.whole, k.at, k.part = k.at, seq, 0
	}
	k.part++
}

func (l *link) userSnapshot(m *received) error {
	var p schemas.WSUserSnapshot
	if err := decode(m.Msg, &p); err != nil {
		return err
	}
	a := Account{Seq: p.AsOfSeq, Cash: p.Cash, Reserved: p.Reserved, Deadman: p.Deadman, Positions: map[uint32]schemas.Position{}, Orders: map[schemas.U64]schemas.Order{}}
	for _, x := range p.Positions {
		a.Positions[x.MarketID] = x
	}
	for i := range p.Orders {
		a.order(&p.Orders[i])
	}
	l.account, l.skip = a, 0
	l.mark = mark{any: true, whole: p.AsOfSeq, at: p.AsOfSeq}
	l.last[chain{sid: m.Sid}] = m.Seq
	return nil
}

// userEvent folds an event in; false when an earlier connection brought it.
func (l *link) userEvent(m *received) (fresh bool, err error) {
	at := chain{sid: m.Sid}
	if l.last[at] != m.PrevSeq {
		return false, errGap
	}
	l.last[at] = m.Seq
	if l.skip > 0 && m.Seq == l.mark.at {
		l.skip--
		return false, nil
	}
	l.skip = 0
	if err := l.account.take(m.Msg); err != nil {
		return false, err
	}
	l.account.Seq = m.Seq
	l.mark.seen(m.Seq)
	return true, nil
}

func (a *Account) take(raw []byte) error {
	var head schemas.EventHead
	if err := decode(raw, &head); err != nil {
		return err
	}
	switch head.Event {
	case "order":
		return with(raw, func(e *schemas.OrderEvent) { a.order(&e.Order) })
	case "balance":
		return with(raw, func(e *schemas.BalanceEvent) { a.Cash, a.Reserved = e.Cash, e.Reserved })
	case "position":
		return with(raw, func(e *schemas.PositionEvent) { a.position(&e.Position) })
	case "deadman":
		return with(raw, func(e *schemas.DeadmanEvent) {
			a.Deadman = schemas.Deadman{Armed: e.Armed, TimeoutMs: e.TimeoutMs, DeadlineTs: e.DeadlineTs}
		})
	default:
		return nil // the others change nothing that is kept
	}
}

// with decodes an event whole before anything is done with it.
func with[E any](raw []byte, do func(*E)) error {
	e := new(E)
	if err := decode(raw, e); err != nil {
		return err
	}
	do(e)
	return nil
}

func (a *Account) order(o *schemas.Order) {
	switch {
	case o.OrderID == nil: // refused: it never rested
	case o.Status == "resting" || o.Status == "partially_filled":
		a.Orders[*o.OrderID] = *o
	default:
		delete(a.Orders, *o.OrderID)
	}
}

func (a *Account) position(p *schemas.Position) {
	if p.YesQty+p.NoQty == 0 {
		delete(a.Positions, p.MarketID)
		return
	}
	a.Positions[p.MarketID] = *p
}
