package view

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"duplex/core"
)

// state is the view as a snapshot keeps it. Fields are only ever added at the end:
// one that an older snapshot lacks is empty. Those of its parts do not change.
type state struct {
	_      struct{} `cbor:",toarray"`
	Users  []accountState
	Tapes  []tapeState
	Rounds []*Round
	Trail  trailState
}

type trailState struct {
	_           struct{} `cbor:",toarray"`
	Actions     []Action
	NextAction  uint64
	Routine     []Action
	NextRoutine uint64
}

// read is Unmarshal of a state that may be older and so have fewer fields.
func (s *state) read(b []byte) error {
	var parts []cbor.RawMessage
	if err := cbor.Unmarshal(b, &parts); err != nil {
		return err
	}
	var users []cbor.RawMessage
	into := []any{&users, &s.Tapes, &s.Rounds, &s.Trail}
	if len(parts) < 3 || len(parts) > len(into) {
		return fmt.Errorf("%d parts, known are 3 to %d", len(parts), len(into))
	}
	s.Trail.NextAction, s.Trail.NextRoutine = 1, 1
	for i, p := range parts {
		if err := cbor.Unmarshal(p, into[i]); err != nil {
			return err
		}
	}
	s.Users = make([]accountState, len(users))
	var all errgroup.Group // most of a start's time goes here
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, b := range users {
		all.Go(func() error { return cbor.Unmarshal(b, &s.Users[i]) })
	}
	return all.Wait()
}

type accountState struct {
	_           struct{} `cbor:",toarray"`
	Rows        []*Order // by created_seq
	Ended       []uint64 // created_seq of terminal rows, in the order they ended
	Fills       []Fill
	NextFill    uint64
	Settlements []Settlement
	NextSettled uint64
	Withdrawals []core.Withdrawal
	Events      []eventState
	NextEvent   uint64
	Volume      volume
}

// eventState is a UserEvent: one of the pointers is set, or KeyRevoked.
type eventState struct {
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

func (e *UserEvent) state() eventState {
	x := eventState{Seq: e.Seq, Ts: e.Ts}
	switch what := e.What.(type) {
	case *Order:
		x.Order = what
	case *Fill:
		x.Fill = what
	case *Balance:
		x.Balance = what
	case *core.Position:
		x.Position = what
	case *Settlement:
		x.Settlement = what
	case *core.Deposited:
		x.Deposit = what
	case *core.Withdrawal:
		x.Withdrawal = what
	case *core.DeadmanChanged:
		x.Deadman = what
	case KeyRevoked:
		x.KeyRevoked = what
	}
	return x
}

func (x *eventState) event() UserEvent {
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

type tapeState struct {
	_      struct{} `cbor:",toarray"`
	Market core.MarketID
	Trades []Trade
	Next   uint64
}

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

// MarshalBinary gives the view's state, the same bytes for the same commands and
// caps. No command may come meanwhile.
func (w *View) MarshalBinary() ([]byte, error) { return w.Image().Finish(nobody{}) }

// nobody is a lock where nobody else is.
type nobody struct{}

func (nobody) Lock()   {}
func (nobody) Unlock() {}

func (w *View) tapeStates() (out []tapeState) {
	for m, t := range w.tapes {
		out = append(out, tapeState{Market: m, Trades: t.list(), Next: t.next})
	}
	slices.SortFunc(out, func(a, b tapeState) int { return int(a.Market) - int(b.Market) })
	return out
}

func (t *trail) state() trailState {
	return trailState{Actions: t.actions.list(), NextAction: t.actions.next, Routine: t.routine.list(), NextRoutine: t.routine.next}
}

// Restore makes a view of MarshalBinary's bytes.
func Restore(b []byte, caps Caps) (w *View, err error) {
	var s state
	if err := s.read(b); err != nil {
		return nil, fmt.Errorf("state of the view: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			w, err = nil, fmt.Errorf("state of the view does not hold together: %v", p)
		}
	}()
	w = New(caps)
	for i := range s.Users {
		w.restore(core.UserID(i+1), &s.Users[i])
	}
	for _, t := range s.Tapes {
		r := newRing[Trade](caps.Tape)
		r.restore(t.Trades, t.Next)
		w.tapes[t.Market] = &r
	}
	for _, x := range s.Rounds {
		w.rounds.add(x, x.Round)
		w.rounds.byslot[x.Market] = x
	}
	w.trail.actions.restore(s.Trail.Actions, s.Trail.NextAction)
	w.trail.routine.restore(s.Trail.Routine, s.Trail.NextRoutine)
	return w, nil
}

func (w *View) restore(u core.UserID, x *accountState) {
	a := w.user(u)
	a.fills.restore(x.Fills, x.NextFill)
	a.settlements.restore(x.Settlements, x.NextSettled)
	events := make([]UserEvent, len(x.Events))
	for i := range events {
		events[i] = x.Events[i].event()
	}
	a.events.restore(events, x.NextEvent)
	a.withdrawals, a.volume = x.Withdrawals, x.Volume
	byseq := make(map[uint64]*Order, len(x.Rows))
	for _, o := range x.Rows {
		a.rows.all = append(a.rows.all, o)
		byseq[o.CreatedSeq] = o
		switch {
		case o.Status == core.Rejected:
			a.rows.rejected = a.rows.evict(append(a.rows.rejected, o), w.caps.Rejects)
		case o.Status.Live():
			w.live[o.ID] = o
		}
	}
	for _, seq := range x.Ended {
		if o := byseq[seq]; o != nil {
			a.rows.terminal = a.rows.evict(append(a.rows.terminal, o), w.caps.Terminal)
		}
	}
}
