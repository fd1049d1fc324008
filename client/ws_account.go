package client

import (
	"maps"

	"duplex/schemas"
)

// Account is the state of the caller's account, kept up to date by a Stream.
type Account struct {
	Seq       schemas.U64 // of the last event
	Cash      schemas.U64
	Reserved  schemas.U64
	Positions map[uint32]schemas.Position           // by market
	Orders    map[schemas.U64]schemas.Order         // resting, by order_id
	Approvals map[schemas.U64]schemas.AgentApproval // what waits for the owner, also of the account's agents, by approval_id
	Deadman   schemas.Deadman
}

// Account returns a copy of the account. It reports false before the first snapshot.
// Between connections it returns the last known state.
func (s *Stream) Account() (Account, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account
	a.Positions, a.Orders, a.Approvals = maps.Clone(a.Positions), maps.Clone(a.Orders), maps.Clone(a.Approvals)
	return a, s.resume.known
}

// resumePoint is the position in the account's events. One command can cause several
// events, and a connection may break between them, but since_seq names whole commands. So
// a resumed connection starts after complete and skips seenOfLast events.
type resumePoint struct {
	known      bool
	complete   schemas.U64 // all events up to this seq were seen
	at         schemas.U64 // seq of the last event seen
	seenOfLast int         // events of at that were seen
}

func (k *resumePoint) advance(seq schemas.U64) {
	if seq != k.at {
		k.complete, k.at, k.seenOfLast = k.at, seq, 0
	}
	k.seenOfLast++
}

func (l *streamConn) applyUserSnapshot(m *serverMessage) error {
	var p schemas.WSUserSnapshot
	if err := decode(m.Msg, &p); err != nil {
		return err
	}
	a := Account{
		Seq: p.AsOfSeq, Cash: p.Cash, Reserved: p.Reserved, Deadman: p.Deadman,
		Positions: map[uint32]schemas.Position{}, Orders: map[schemas.U64]schemas.Order{}, Approvals: map[schemas.U64]schemas.AgentApproval{},
	}
	for _, x := range p.Positions {
		a.Positions[x.MarketID] = x
	}
	for i := range p.Orders {
		a.order(&p.Orders[i])
	}
	for i := range p.Approvals {
		a.approval(&p.Approvals[i])
	}
	l.account, l.skipEvents = a, 0
	l.resume = resumePoint{known: true, complete: p.AsOfSeq, at: p.AsOfSeq}
	l.last[chain{sid: m.Sid}] = m.Seq
	return nil
}

// applyUserEvent applies an event. It reports false if an earlier connection delivered it.
func (l *streamConn) applyUserEvent(m *serverMessage) (fresh bool, err error) {
	at := chain{sid: m.Sid}
	if l.last[at] != m.PrevSeq {
		return false, errGap
	}
	l.last[at] = m.Seq
	if l.skipEvents > 0 && m.Seq == l.resume.at {
		l.skipEvents--
		return false, nil
	}
	l.skipEvents = 0
	if err := l.account.apply(m.Msg); err != nil {
		return false, err
	}
	l.account.Seq = m.Seq
	l.resume.advance(m.Seq)
	return true, nil
}

func (a *Account) apply(raw []byte) error {
	var head schemas.EventHead
	if err := decode(raw, &head); err != nil {
		return err
	}
	switch head.Event {
	case "order":
		return decodeThen(raw, func(e *schemas.OrderEvent) { a.order(&e.Order) })
	case "balance":
		return decodeThen(raw, func(e *schemas.BalanceEvent) { a.Cash, a.Reserved = e.Cash, e.Reserved })
	case "position":
		return decodeThen(raw, func(e *schemas.PositionEvent) { a.position(&e.Position) })
	case "approval":
		return decodeThen(raw, func(e *schemas.ApprovalEvent) { a.approval(&e.Approval) })
	case "deadman":
		return decodeThen(raw, func(e *schemas.DeadmanEvent) {
			if e.GroupID != 0 {
				return
			}
			a.Deadman = schemas.Deadman{Armed: e.Armed, TimeoutMs: e.TimeoutMs, DeadlineTs: e.DeadlineTs}
		})
	default:
		return nil // the other events do not change the Account
	}
}

// decodeThen decodes an event and calls do with it.
func decodeThen[E any](raw []byte, do func(*E)) error {
	e := new(E)
	if err := decode(raw, e); err != nil {
		return err
	}
	do(e)
	return nil
}

func (a *Account) order(o *schemas.Order) {
	switch {
	case o.OrderID == nil: // a rejected order never rested
	case o.Status == "resting" || o.Status == "partially_filled":
		a.Orders[*o.OrderID] = *o
	default:
		delete(a.Orders, *o.OrderID)
	}
}

func (a *Account) approval(x *schemas.AgentApproval) {
	if x.Status != waiting {
		delete(a.Approvals, x.ApprovalID)
		return
	}
	a.Approvals[x.ApprovalID] = *x
}

func (a *Account) position(p *schemas.Position) {
	if p.YesQty+p.NoQty == 0 {
		delete(a.Positions, p.MarketID)
		return
	}
	a.Positions[p.MarketID] = *p
}
