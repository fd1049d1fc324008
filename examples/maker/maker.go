package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"duplex/client"
	"duplex/schemas"
)

const (
	feed             = 0               // BTC
	group            = 1               // of this program's orders
	qty              = 20              // contracts of each side
	maxPosition      = 200             // maximum net position in one market, in contracts
	fillLimit        = 120             // contracts that may fill in fillWindowMs; then the venue cancels the quotes
	fillWindowMs     = 10_000          // ms
	rest             = 5 * time.Second // without quotes after that
	deadmanMs        = 10_000          // if this program hangs, the venue cancels its quotes after this time
	heartbeat        = 3 * time.Second // well within deadmanMs
	notAfter         = 2 * time.Second // a quote that arrives later does nothing
	stopBeforeWindow = 3               // quoting stops this many seconds before the settlement window
)

// maker is one run. It handles one event at a time, in the stream's goroutine.
type maker struct {
	*client.Client
	stream       *client.Stream
	model        priceModel
	armed        time.Time
	tripped      time.Time   // when too much had filled; zero: the group takes quotes
	lastWriteSeq schemas.U64 // seq of the last write: no decision is made before its events arrive
	nextID       schemas.U64 // the next client_order_id
}

// run quotes until ctx ends or the stream fails permanently. Then it cancels all quotes,
// with a deadline of its own, and disarms the switch. If the cancel fails, the end of the stream has
// canceled them.
func (m *maker) run(ctx context.Context) error {
	m.nextID = schemas.U64(m.Now().UnixNano())
	if _, err := m.SetGroup(ctx, schemas.SetGroup{GroupPath: schemas.GroupPath{GroupID: group}, FillLimit: fillLimit, WindowMs: fillWindowMs}); err != nil {
		return err
	}
	if _, err := m.ResetGroup(ctx, group); err != nil { // a run before may have ended tripped
		return err
	}
	m.stream = m.Stream(client.StreamOptions{Channels: []string{"oracle", "user"}, CancelOnDisconnect: []uint32{group}, OnEvent: func(e client.StreamEvent) {
		if err := m.onEvent(ctx, e); err != nil && ctx.Err() == nil {
			fmt.Println("rejected:", err) // the next tick retries
		}
	}})
	if err := m.stream.Run(ctx); ctx.Err() == nil {
		fmt.Println("the stream ended:", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := m.CancelAll(ctx, schemas.CancelAll{GroupID: group})
	if err == nil {
		_, err = m.DisarmGroupDeadman(ctx, group)
	}
	return err
}

// onEvent updates the quotes at each tick of the feed. The stream maintains the account, over
// connections that end.
func (m *maker) onEvent(ctx context.Context, e client.StreamEvent) error {
	switch e.Type {
	case "user":
		var event schemas.GroupEvent
		if err := json.Unmarshal(e.Msg, &event); err == nil && event.Event == "group" && event.Change == "tripped" {
			m.tripped = time.Now()
			fmt.Printf("%d contracts filled in %d s: no quotes for %v\n", event.Group.Filled, fillWindowMs/1000, rest)
		}
		return nil
	case "oracle":
		var tick schemas.WSOracle
		if err := json.Unmarshal(e.Msg, &tick); err != nil || tick.Feed != feed || tick.Price == 0 {
			return err
		}
		m.model.observe(float64(tick.Price))
		return m.quote(ctx)
	}
	return nil
}

// quote brings the quotes of all markets to where they should be, in one request.
func (m *maker) quote(ctx context.Context) error {
	if time.Since(m.armed) > heartbeat {
		if _, err := m.ArmGroupDeadman(ctx, group, deadmanMs); err != nil {
			return err
		}
		m.armed = time.Now()
	}
	if !m.tripped.IsZero() {
		if time.Since(m.tripped) < rest {
			return nil
		}
		if _, err := m.ResetGroup(ctx, group); err != nil {
			return err
		}
		m.tripped = time.Time{}
	}
	account, known := m.stream.Account()
	if !known || account.Seq < m.lastWriteSeq {
		return nil
	}
	want, err := m.wanted(ctx, account.Positions)
	if err != nil {
		return err
	}
	return m.put(ctx, changes(want, account.Orders))
}

// wanted returns the quotes that should rest now, by market.
func (m *maker) wanted(ctx context.Context, held map[uint32]schemas.Position) (map[uint32]schemas.Quote, error) {
	markets, err := m.Markets(ctx, schemas.ListMarkets{Status: "trading"})
	rounds, err2 := m.Rounds(ctx, schemas.ListRounds{})
	out := map[uint32]schemas.Quote{}
	for _, r := range rounds.Rounds {
		i := slices.IndexFunc(markets.Markets, func(k schemas.Market) bool { return k.RoundNumber == r.RoundNumber })
		if i < 0 || r.Paused || (r.Category-1)/3 != feed {
			continue
		}
		k, p, window := &markets.Markets[i], held[r.MarketID], float64(r.TwapWindowSecs)
		left := time.Unix(0, k.CloseTs.Int64()).Sub(m.Now()).Seconds()
		if left < window+stopBeforeWindow {
			continue
		}
		q := quoteFor(m.model.fair(float64(r.Strike), left, window), p.YesQty-p.NoQty, k.TickSize)
		q.MarketID, q.Generation = schemas.Int(r.MarketID), schemas.Int(r.Generation)
		out[r.MarketID] = q
	}
	return out, errors.Join(err, err2)
}

// put sends quotes and prints what became of each side.
func (m *maker) put(ctx context.Context, quotes []schemas.Quote) error {
	if len(quotes) == 0 {
		return nil
	}
	for i := range quotes {
		quotes[i].GroupID, quotes[i].NotAfterTs = group, schemas.U64(m.Now().Add(notAfter).UnixNano())
		for _, s := range []*schemas.QuoteSide{quotes[i].Bid, quotes[i].Ask} {
			if s != nil {
				m.nextID++
				s.ClientOrderID = m.nextID
			}
		}
	}
	// Wait for the response even when ctx ends: an interrupted quote could reach the venue
	// after the final cancel-all.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	done, err := m.PutQuotes(end, quotes)
	for i := range done {
		fmt.Printf("market %d: bid %s, ask %s\n", done[i].MarketID, m.became(quotes[i].Bid, &done[i].Bid), m.became(quotes[i].Ask, &done[i].Ask))
	}
	return err
}

// became says what became of a side.
func (m *maker) became(s *schemas.QuoteSide, r *schemas.QuotedSide) string {
	switch {
	case r.Error != nil:
		return r.Error.Code
	case r.Emptied != nil:
		m.lastWriteSeq = max(m.lastWriteSeq, r.Emptied.Seq)
		return "none"
	}
	m.lastWriteSeq = max(m.lastWriteSeq, r.Outcome.Seq)
	what := cmp.Or(r.Outcome.Reason, r.Outcome.Status)
	if r.Outcome.Kept {
		what = "kept"
	}
	return fmt.Sprintf("%d × %.1f¢ %s", s.Qty, float64(s.Tick)/100, what)
}
