package view

import (
	"fmt"
	"runtime"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"duplex/core"
	"duplex/core/statecode"
)

// stateV1 is the view in a snapshot of version 1, which is read and no longer written. It is
// one CBOR array, in which each event is encoded in full. The oldest have no Trail.
type stateV1 struct {
	_      struct{} `cbor:",toarray"`
	Users  []accountV1
	Tapes  []tapeState
	Rounds []*Round
	Trail  trailState
}

func (s *stateV1) read(b []byte) error {
	var parts []cbor.RawMessage
	if err := statecode.Unmarshal(b, &parts); err != nil {
		return err
	}
	var users []cbor.RawMessage
	into := []any{&users, &s.Tapes, &s.Rounds, &s.Trail}
	if len(parts) < 3 || len(parts) > len(into) {
		return fmt.Errorf("%d parts, want 3 to %d", len(parts), len(into))
	}
	s.Trail.NextAction, s.Trail.NextRoutine = 1, 1
	for i, p := range parts {
		if err := statecode.Unmarshal(p, into[i]); err != nil {
			return err
		}
	}
	s.Users = make([]accountV1, len(users))
	var all errgroup.Group // decoding takes most of the time of a start
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, b := range users {
		all.Go(func() error { return statecode.Unmarshal(b, &s.Users[i]) })
	}
	return all.Wait()
}

type accountV1 struct {
	_           struct{} `cbor:",toarray"`
	Rows        []*Order // by created_seq
	Ended       []uint64 // created_seq of terminal rows, in the order they ended
	Fills       []Fill
	NextFill    uint64
	Settlements []Settlement
	NextSettled uint64
	Withdrawals []core.Withdrawal
	Events      []eventV1
	NextEvent   uint64
	Volume      volume
}

// eventV1 is a UserEvent: exactly one pointer is set, or KeyRevoked.
type eventV1 struct {
	Seq        uint64
	Ts         int64
	Order      *Order
	Fill       *Fill
	Balance    *Balance
	Position   *core.Position
	Settlement *Settlement
	Deposit    *core.Deposited
	Withdrawal *core.Withdrawal
	Deadman    *core.DeadmanChanged
	KeyRevoked KeyRevoked
}

func (x *eventV1) event() UserEvent {
	e := UserEvent{Seq: x.Seq, Ts: x.Ts}
	switch {
	case x.Order != nil:
		e.What = x.Order
	case x.Fill != nil:
		e.What = x.Fill
	case x.Balance != nil:
		e.What = x.Balance
	case x.Position != nil:
		e.What = x.Position
	case x.Settlement != nil:
		e.What = x.Settlement
	case x.Deposit != nil:
		e.What = x.Deposit
	case x.Withdrawal != nil:
		e.What = x.Withdrawal
	case x.Deadman != nil:
		e.What = x.Deadman
	default:
		e.What = x.KeyRevoked
	}
	return e
}

// RestoreV1 builds a view from the bytes of a snapshot of version 1.
func RestoreV1(b []byte, caps RetentionCaps) (w *View, err error) {
	var s stateV1
	if err := s.read(b); err != nil {
		return nil, fmt.Errorf("state of the view: %w", err)
	}
	defer recoverInconsistent(&w, &err)
	w = New(caps)
	for i := range s.Users {
		w.restoreAccountV1(core.UserID(i+1), &s.Users[i])
	}
	w.restoreShared(s.Tapes, s.Rounds, &s.Trail)
	return w, nil
}

func (w *View) restoreAccountV1(u core.UserID, x *accountV1) {
	a := w.mutableAccount(u)
	a.fills.restore(x.Fills, x.NextFill)
	a.numberFills()
	a.settlements.restore(x.Settlements, x.NextSettled)
	events := make([]UserEvent, len(x.Events))
	for i := range events {
		events[i] = x.Events[i].event()
	}
	a.events.restore(events, x.NextEvent)
	a.withdrawals, a.volume = x.Withdrawals, x.Volume
	if err := a.rows.restore(x.Rows, x.Ended, w.caps); err != nil {
		panic(err)
	}
	w.indexResting(a)
}
