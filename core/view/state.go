package view

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"duplex/core"
)

// The view goes into a snapshot in pieces: first what belongs to no account (restState,
// as CBOR), then each account (encodeAccount), in the order of their ids. So neither
// writing nor reading a snapshot ever holds more than a few accounts in a second form.

// stateFormat is the version of both kinds of piece.
const stateFormat = 2

// restState is the first piece. Fields are only ever added at the end.
type restState struct {
	_        struct{} `cbor:",toarray"`
	Format   uint64
	Accounts uint64
	Tapes    []tapeState
	Rounds   []*Round
	Trail    trailState
}

type trailState struct {
	_           struct{} `cbor:",toarray"`
	Actions     []Action
	NextAction  uint64
	Routine     []Action
	NextRoutine uint64
}

type tapeState struct {
	_      struct{} `cbor:",toarray"`
	Market core.MarketID
	Trades []Trade
	Next   uint64
}

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

func (w *View) tapeStates() (out []tapeState) {
	for m, t := range w.tapes {
		out = append(out, tapeState{Market: m, Trades: t.list(), Next: t.next})
	}
	slices.SortFunc(out, func(a, b tapeState) int { return int(a.Market) - int(b.Market) })
	return out
}

func (t *auditTrail) state() trailState {
	return trailState{Actions: t.actions.list(), NextAction: t.actions.next, Routine: t.routine.list(), NextRoutine: t.routine.next}
}

// encodeAccount appends an account. The same account has the same bytes whether or not
// it was restored from a snapshot on the way.
func (a *account) encode(e *encoder, u core.UserID) {
	orders := a.rows.list()
	e.uint(uint64(len(orders)))
	for _, o := range orders {
		o.encode(e)
	}
	e.uint(uint64(len(a.rows.terminal)))
	for _, o := range a.rows.terminal {
		e.near(o.CreatedSeq)
	}
	a.fills.encode(e, u)
	a.settlements.encode(e, u)
	a.events.encode(e, u)
	e.uint(uint64(len(a.withdrawals)))
	for i := range a.withdrawals {
		encodeWithdrawal(e, &a.withdrawals[i])
	}
	e.int(a.volume.Day)
	for _, n := range a.volume.Days {
		e.int(int64(n))
	}
}

// decodeAccount makes an account of encode's bytes.
func decodeAccount(b []byte, u core.UserID, caps RetentionCaps) (*account, error) {
	a := newAccount(caps)
	d := &decoder{b: b, user: u}
	var orders []*Order
	for range d.uint() {
		if d.err != nil {
			break
		}
		o := new(Order)
		o.decode(d)
		orders = append(orders, o)
	}
	var ended []uint64
	for range d.uint() {
		if d.err != nil {
			break
		}
		ended = append(ended, d.near())
	}
	a.fills.decode(d, u)
	a.settlements.decode(d, u)
	a.events.decode(d, u)
	for range d.uint() {
		if d.err != nil {
			break
		}
		a.withdrawals = append(a.withdrawals, *decodeWithdrawal(d))
	}
	if a.volume.Day = d.int(); a.volume.Day < 0 {
		d.fail(errRange)
	}
	for i := range a.volume.Days {
		a.volume.Days[i] = d.qty()
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return a, a.rows.restore(orders, ended, caps)
}

// Restore makes a view of the pieces that Image.Pieces gave. A piece is read before
// the next is asked for.
func Restore(pieces iter.Seq2[[]byte, error], caps RetentionCaps) (w *View, err error) {
	w = New(caps)
	var rest *restState
	var list []*account
	var decoding errgroup.Group // most of a start's time goes here
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	for b, err := range pieces {
		if err == nil && rest == nil {
			rest, err = readRest(b)
		} else if err == nil {
			u, b := core.UserID(len(list)+1), slices.Clone(b)
			slot := new(account)
			list = append(list, slot)
			decoding.Go(func() error {
				a, err := decodeAccount(b, u, caps)
				if err != nil {
					return fmt.Errorf("account %d: %w", u, err)
				}
				*slot = *a
				return nil
			})
		}
		if err != nil {
			return nil, errors.Join(err, decoding.Wait())
		}
	}
	if err := decoding.Wait(); err != nil {
		return nil, fmt.Errorf("state of the view: %w", err)
	}
	if rest == nil || uint64(len(list)) != rest.Accounts {
		return nil, fmt.Errorf("state of the view: %w", errShort)
	}
	defer notWhole(&w, &err)
	w.users = append(w.users, list...)
	for _, a := range list {
		w.enlist(a)
	}
	w.restoreRest(rest.Tapes, rest.Rounds, &rest.Trail)
	return w, nil
}

func readRest(b []byte) (*restState, error) {
	var fields []cbor.RawMessage
	var format uint64
	err := cbor.Unmarshal(b, &fields)
	switch {
	case err != nil:
	case len(fields) == 0:
		err = errShort
	default:
		err = cbor.Unmarshal(fields[0], &format)
	}
	if err == nil && format != stateFormat {
		err = fmt.Errorf("it has format %d; this program reads %d", format, stateFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("state of the view: %w", err)
	}
	s := new(restState)
	if err := cbor.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("state of the view: %w", err)
	}
	return s, nil
}

// notWhole turns a panic over a state that does not hold together into an error.
func notWhole(w **View, err *error) {
	if p := recover(); p != nil {
		*w, *err = nil, fmt.Errorf("state of the view does not hold together: %v", p)
	}
}

func (w *View) restoreRest(tapes []tapeState, rounds []*Round, t *trailState) {
	for _, t := range tapes {
		r := newRing[Trade](w.caps.Tape)
		r.restore(t.Trades, t.Next)
		w.tapes[t.Market] = &r
	}
	for _, x := range rounds {
		w.rounds.add(x, x.Round)
		w.rounds.byslot[x.Market] = x
	}
	w.auditTrail.actions.restore(t.Actions, t.NextAction)
	w.auditTrail.routine.restore(t.Routine, t.NextRoutine)
}

// enlist notes which of an account's orders rest.
func (w *View) enlist(a *account) {
	for _, o := range a.rows.list() {
		if o.Status.Live() {
			w.resting[o.ID] = o
		}
	}
}
