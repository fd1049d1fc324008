package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"duplex/schemas"
)

// board is the markets that trade, kept up to date for all connections of a mix: a
// minute later a third of them are others.
type board struct {
	wire   *wire
	one    bool // the one that trades longest, until it does no more
	trades atomic.Pointer[[]uint32]
	stale  atomic.Bool // somebody was told that a market does not trade

	rounds map[schemas.U64]bool // all that were seen, by round_number
	series map[uint16]bool      // theirs
}

// newBoard wants one market at least.
func newBoard(w *wire, one bool) (*board, error) {
	b := &board{wire: w, one: one, rounds: map[schemas.U64]bool{}, series: map[uint16]bool{}}
	if err := b.look(); err != nil {
		return nil, err
	}
	if b.trades.Load() == nil {
		return nil, errNoMarket
	}
	return b, nil
}

const (
	boardTurn  = 100 * time.Millisecond // how soon a market that went is noticed
	boardTurns = 10                     // until the board is looked at anyway, for those that came
)

// run keeps it up to date until ctx ends.
func (b *board) run(ctx context.Context) error {
	turn := time.NewTicker(boardTurn)
	defer turn.Stop()
	for n := 1; ; n++ {
		select {
		case <-turn.C:
		case <-ctx.Done():
			return nil
		}
		if !b.stale.Swap(false) && n%boardTurns != 0 {
			continue
		}
		var busy *refused // the next turn may find tokens
		if err := b.look(); err != nil && !errors.As(err, &busy) {
			return err
		}
	}
}

// look asks the venue. Where none trades, since one round has ended and the next not
// begun, the old ones stay, and tell so themselves.
func (b *board) look() error {
	now, err := b.wire.trading()
	if err != nil || len(now) == 0 {
		return err
	}
	if b.one {
		kept := 0
		if old := b.trades.Load(); old != nil {
			kept = max(0, slices.IndexFunc(now, func(m schemas.Market) bool { return m.MarketID == (*old)[0] }))
		}
		now = now[kept : kept+1]
	}
	ids := make([]uint32, len(now))
	for i, m := range now {
		ids[i] = m.MarketID
	}
	b.trades.Store(&ids)
	for _, m := range now {
		if err := b.note(&m); err != nil {
			return err
		}
	}
	return nil
}

// note finds a new round's series, which its market does not tell.
func (b *board) note(m *schemas.Market) error {
	if b.rounds[m.RoundNumber] {
		return nil
	}
	var r schemas.RoundRead
	if err := b.wire.read(fmt.Sprintf("/v1/rounds/%d", m.MarketID), &r); err != nil {
		return err
	}
	if r.RoundNumber == m.RoundNumber { // or the slot has another one already
		b.rounds[r.RoundNumber], b.series[r.Category] = true, true
	}
	return nil
}
