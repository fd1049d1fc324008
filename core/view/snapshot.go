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
	"duplex/core/statecode"
)

// A snapshot holds the view as a stream of pieces: first the state shared by all accounts
// (sharedState, in CBOR), then each account (account.code), by rising id. So writing and
// reading a snapshot need memory for a few encoded accounts, not for all.

// stateFormat is the version of the encoding of both kinds of pieces. That of dx 0.1.0 is still read:
// in format 4 accounts end before their forecasts, in format 5 before their asks.
const stateFormat = 6

// sharedState is the first piece. New fields are only added at the end.
type sharedState struct {
	_        struct{} `cbor:",toarray"`
	Format   uint64
	Accounts uint64
	Tapes    []tapeState
	Rounds   []*Round
	Trail    trailState
	Prices   [][]byte       // by feed
	Seconds  []secondsState // by category, then by rising number
	Ledgers  ledgersState
}

type ledgersState struct {
	_          struct{} `cbor:",toarray"`
	On         bool     // true
	FirstRound uint64   // 1: the first round whose rows of accounts are complete

	ReleasedRound, ReleasedSeq uint64 // of the rounds
}

// secondsState are the rows of a round.
type secondsState struct {
	_        struct{} `cbor:",toarray"`
	Category uint16
	Number   uint64
	Rows     []byte
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

// code codes the account in a format. What is written is the same whether or not the account was
// restored from a snapshot in between. Reading returns
// the orders and the seqs of those that have ended, of which rows.restore makes the rows.
func (a *account) code(c *coder, format uint64) (orders []*Order, ended []uint64) {
	orders = a.rows.list()
	for _, o := range a.rows.terminal {
		ended = append(ended, o.CreatedSeq)
	}
	codeList(c, &orders, func(o **Order) {
		if c.reading {
			*o = new(Order)
		}
		(*o).code(c)
	})
	codeList(c, &ended, func(seq *uint64) { delta(c, seq, c.seq) })
	a.fills.code(c)
	a.settlements.code(c)
	a.events.code(c)
	codeList(c, &a.withdrawals, func(w *core.Withdrawal) { codeWithdrawal(c, w) })
	signed(c, &a.volume.Day)
	c.check(a.volume.Day >= 0)
	for i := range a.volume.Days {
		signed(c, &a.volume.Days[i])
	}
	a.keys.code(c)
	unsigned(c, &a.owner)
	a.activity.code(c)
	signed(c, &a.balance)
	a.ledger.code(c)
	a.rounds.code(c)
	a.deposits.code(c)
	for _, r := range []*Released{&a.rows.released, &a.roundsReleased} {
		unsigned(c, &r.Newest)
		unsigned(c, &r.Seq)
	}
	if format > 4 {
		a.forecasts.code(c)
	}
	if format > 5 {
		a.asks.code(c)
	}
	return orders, ended
}

// decodeAccount reads what account.code wrote for user u in a format.
func decodeAccount(b []byte, u core.UserID, format uint64, caps RetentionCaps) (*account, error) {
	a := newAccount(caps)
	c := &coder{reading: true, b: b, user: u}
	orders, ended := a.code(c, format)
	if err := c.end(); err != nil {
		return nil, err
	}
	a.finalRounds = a.rounds.final()
	a.evictRounds(caps.AccountRounds)
	err := a.rows.restore(orders, ended, caps)
	a.nameRows()
	a.numberFills()
	return a, err
}

// Restore builds a view from the pieces of Image.Pieces, in their order. It copies a piece
// before it takes the next. It returns an error of the sequence, or one that says why the
// pieces are not a view; accounts are decoded concurrently.
func Restore(pieces iter.Seq2[[]byte, error], caps RetentionCaps) (w *View, err error) {
	w = New(caps)
	var shared *sharedState
	var list []*account
	var decoding errgroup.Group // decoding takes most of the time of a start
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	for b, err := range pieces {
		if err == nil && shared == nil {
			shared, err = decodeShared(b)
		} else if err == nil {
			u, b := core.UserID(len(list)+1), slices.Clone(b)
			slot := new(account)
			list = append(list, slot)
			decoding.Go(func() error {
				a, err := decodeAccount(b, u, shared.Format, caps)
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
	if shared == nil || uint64(len(list)) != shared.Accounts {
		return nil, fmt.Errorf("state of the view: %w", errShort)
	}
	defer recoverInconsistent(&w, &err)
	w.accounts = append(w.accounts, list...)
	for i, a := range list {
		w.indexResting(a)
		w.indexTraders(core.UserID(i+1), a)
		w.indexForecasters(core.UserID(i+1), a)
	}
	w.restoreShared(shared.Tapes, shared.Rounds, &shared.Trail)
	w.restorePrices(shared.Prices)
	w.restoreSeconds(shared.Seconds)
	w.rounds.released.note(shared.Ledgers.ReleasedRound, shared.Ledgers.ReleasedSeq)
	return w, nil
}

func decodeShared(b []byte) (*sharedState, error) {
	var fields []cbor.RawMessage
	var format uint64
	err := statecode.Unmarshal(b, &fields)
	switch {
	case err != nil:
	case len(fields) == 0:
		err = errShort
	default:
		err = statecode.Unmarshal(fields[0], &format)
	}
	if err == nil && (format < 4 || format > stateFormat) {
		err = fmt.Errorf("format %d; this program reads formats 4 to %d", format, stateFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("state of the view: %w", err)
	}
	s := new(sharedState)
	parts := []any{&s.Format, &s.Accounts, &s.Tapes, &s.Rounds, &s.Trail, &s.Prices, &s.Seconds, &s.Ledgers}
	if len(fields) != len(parts) {
		return nil, fmt.Errorf("state of the view: %d parts, want %d", len(fields), len(parts))
	}
	for i, p := range parts {
		if err := statecode.Unmarshal(fields[i], p); err != nil {
			return nil, fmt.Errorf("state of the view: %w", err)
		}
	}
	return s, nil
}

// recoverInconsistent turns a panic caused by an inconsistent state into an error.
func recoverInconsistent(w **View, err *error) {
	if p := recover(); p != nil {
		*w, *err = nil, fmt.Errorf("state of the view is inconsistent: %v", p)
	}
}

func (w *View) restoreShared(tapes []tapeState, rounds []*Round, t *trailState) {
	for _, t := range tapes {
		r := newRing[Trade](w.caps.Tape)
		r.restore(t.Trades, t.Next)
		w.tapes[t.Market] = &r
	}
	for _, x := range rounds {
		w.rounds.add(x, x.Round)
		w.rounds.newestOf[x.Market] = x
	}
	w.auditTrail.actions.restore(t.Actions, t.NextAction)
	w.auditTrail.routine.restore(t.Routine, t.NextRoutine)
}

// encodePrices returns the price history of each feed as bytes.
func encodePrices(all *[core.Feeds]history[PriceTick]) (out [][]byte) {
	for f := range all {
		var c coder
		all[f].code(&c)
		out = append(out, c.b)
	}
	return out
}

func (w *View) restorePrices(list [][]byte) {
	for f, b := range list { // more than there are feeds panics
		c := coder{reading: true, b: b}
		w.prices[f].code(&c)
		if err := c.end(); err != nil {
			panic(err)
		}
	}
}

// states returns the rows as bytes.
func (l *roundSeconds) states() (out []secondsState) {
	for i, list := range l {
		for _, x := range list {
			var c coder
			x.rows.code(&c)
			out = append(out, secondsState{Category: uint16(i + 1), Number: x.number, Rows: c.b})
		}
	}
	return out
}

func (w *View) restoreSeconds(states []secondsState) {
	for _, s := range states {
		x := &roundRows{s.Number, newHistory[RoundSecond](roundRowCap)}
		c := coder{reading: true, b: s.Rows}
		x.rows.code(&c)
		if err := c.end(); err != nil {
			panic(err)
		}
		list := &w.seconds[s.Category-1] // a category of no series panics
		*list = append(*list, x)
	}
}

// indexTraders adds the account to the traders of each round that is not final.
func (w *View) indexTraders(u core.UserID, a *account) {
	for _, x := range a.rounds {
		if !x.Status.Final() {
			w.traders[x.Number] = append(w.traders[x.Number], u)
		}
	}
}

// indexResting adds the account's resting orders to the index by id.
func (w *View) indexResting(a *account) {
	for _, o := range a.rows.list() {
		if o.Status.Live() {
			w.resting[o.ID] = o
		}
	}
}
