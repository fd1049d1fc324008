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

// marketBoard is the markets that trade, kept up to date for all connections of a mix: a
// minute later a third of them are others.
type marketBoard struct {
	wire    *rawConn
	single  bool // the one that trades longest, until it does no more
	trading atomic.Pointer[[]uint32]
	stale   atomic.Bool // somebody was told that a market does not trade

	rounds map[schemas.U64]bool // all that were seen, by round_number
	series map[uint16]bool      // theirs
}

// newMarketBoard wants one market at least.
func newMarketBoard(w *rawConn, one bool) (*marketBoard, error) {
	b := &marketBoard{wire: w, single: one, rounds: map[schemas.U64]bool{}, series: map[uint16]bool{}}
	if err := b.refresh(); err != nil {
		return nil, err
	}
	if b.trading.Load() == nil {
		return nil, errNoMarket
	}
	return b, nil
}

const (
	boardInterval     = 100 * time.Millisecond // how soon a market that went is noticed
	boardRefreshEvery = 10                     // until the board is looked at anyway, for those that came
)

// run keeps it up to date until ctx ends.
func (b *marketBoard) run(ctx context.Context) error {
	ticker := time.NewTicker(boardInterval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if !b.stale.Swap(false) && n%boardRefreshEvery != 0 {
			continue
		}
		var busy *statusError // the next turn may find tokens
		if err := b.refresh(); err != nil && !errors.As(err, &busy) {
			return err
		}
	}
}

// refresh asks the venue. Where none trades, since one round has ended and the next not
// begun, the old ones stay, and tell so themselves.
func (b *marketBoard) refresh() error {
	now, err := b.wire.tradingMarkets()
	if err != nil || len(now) == 0 {
		return err
	}
	if b.single {
		kept := 0
		if old := b.trading.Load(); old != nil {
			kept = max(0, slices.IndexFunc(now, func(m schemas.Market) bool { return m.MarketID == (*old)[0] }))
		}
		now = now[kept : kept+1]
	}
	ids := make([]uint32, len(now))
	for i, m := range now {
		ids[i] = m.MarketID
	}
	b.trading.Store(&ids)
	for _, m := range now {
		if err := b.recordRound(&m); err != nil {
			return err
		}
	}
	return nil
}

// recordRound finds a new round's series, which its market does not tell.
func (b *marketBoard) recordRound(m *schemas.Market) error {
	if b.rounds[m.RoundNumber] {
		return nil
	}
	var r schemas.RoundRead
	if err := b.wire.getJSON(fmt.Sprintf("/v1/rounds/%d", m.MarketID), &r); err != nil {
		return err
	}
	if r.RoundNumber == m.RoundNumber { // or the slot has another one already
		b.rounds[r.RoundNumber], b.series[r.Category] = true, true
	}
	return nil
}
