package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"duplex/internal/rawhttp"
	"duplex/schemas"
)

var errNoMarket = errors.New("no market trades")

// tradingMarkets returns the markets that trade, the one that closes last first.
func tradingMarkets(w *rawhttp.Conn) ([]schemas.Market, error) {
	var l schemas.MarketList
	if err := getJSON(w, "/v1/markets?status=trading", &l); err != nil {
		return nil, err
	}
	slices.SortFunc(l.Markets, func(a, b schemas.Market) int { return cmp.Compare(b.CloseTs, a.CloseTs) })
	return l.Markets, nil
}

// longestMarket returns the market that closes last, or errNoMarket.
func (v *Venue) longestMarket(as *trader) (uint32, error) {
	w, err := v.dial(as)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	all, err := tradingMarkets(w)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errNoMarket
	}
	return all[0].MarketID, nil
}

// marketBoard holds the markets that trade, for all clients of a mix. It polls the venue,
// because rounds end and open every minute. Clients may use trading and stale concurrently
// with run.
type marketBoard struct {
	wire    *rawhttp.Conn
	single  bool // only the market that closes last, until it stops trading
	trading atomic.Pointer[[]slot]
	stale   atomic.Bool // a client had an order rejected because its market does not trade

	rounds map[schemas.U64]bool // the round_numbers seen
	series map[uint16]bool      // the categories of these rounds
}

// slot is a market in one of its rounds.
type slot struct{ market, generation uint32 }

// newMarketBoard returns a board with at least one market, or errNoMarket.
func newMarketBoard(w *rawhttp.Conn, single bool) (*marketBoard, error) {
	b := &marketBoard{wire: w, single: single, rounds: map[schemas.U64]bool{}, series: map[uint16]bool{}}
	if err := b.refresh(); err != nil {
		return nil, err
	}
	if b.trading.Load() == nil {
		return nil, errNoMarket
	}
	return b, nil
}

const (
	boardInterval     = 100 * time.Millisecond // between checks of stale
	boardRefreshEvery = 10                     // checks between refreshes of a board that is not stale, which find new markets
)

// run keeps the board up to date until ctx ends.
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
		var rejected *statusError // such as rate_limited; the next refresh may succeed
		if err := b.refresh(); err != nil && !errors.As(err, &rejected) {
			return err
		}
	}
}

// refresh reads the markets. If none trades, because a round has ended and the next has not
// opened, the board keeps the old ones, where orders are rejected.
func (b *marketBoard) refresh() error {
	now, err := tradingMarkets(b.wire)
	if err != nil || len(now) == 0 {
		return err
	}
	if b.single {
		kept := 0
		if old := b.trading.Load(); old != nil {
			kept = max(0, slices.IndexFunc(now, func(m schemas.Market) bool { return m.MarketID == (*old)[0].market }))
		}
		now = now[kept : kept+1]
	}
	slots := make([]slot, len(now))
	for i, m := range now {
		slots[i] = slot{m.MarketID, m.Generation}
	}
	b.trading.Store(&slots)
	for _, m := range now {
		if err := b.recordRound(&m); err != nil {
			return err
		}
	}
	return nil
}

// recordRound reads the series of a new round, which the list of markets does not contain.
func (b *marketBoard) recordRound(m *schemas.Market) error {
	if b.rounds[m.RoundNumber] {
		return nil
	}
	var r schemas.RoundRead
	if err := getJSON(b.wire, fmt.Sprintf("/v1/rounds/%d", m.MarketID), &r); err != nil {
		return err
	}
	if r.RoundNumber == m.RoundNumber { // else the slot already has another round
		b.rounds[r.RoundNumber], b.series[r.Category] = true, true
	}
	return nil
}

// getJSON decodes the response to a GET. A status other than 200 is a *statusError.
func getJSON(w *rawhttp.Conn, target string, into any) error {
	status, body, err := w.Do("GET", target, "", nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return &statusError{target, status, string(body)}
	}
	return json.Unmarshal(body, into)
}

// statusError is a response without the expected status.
type statusError struct {
	target string
	status int
	body   string
}

func (r *statusError) Error() string {
	return fmt.Sprintf("GET %s: %d %s", r.target, r.status, r.body)
}
