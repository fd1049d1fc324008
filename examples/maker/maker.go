package main

import (
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
	qty              = 20              // contracts per quote
	maxPosition      = 200             // maximum net position in one market, in contracts
	deadmanMs        = 10_000          // if this program stops, the venue cancels its quotes after this time
	heartbeat        = 3 * time.Second // well within deadmanMs
	stopBeforeWindow = 3               // quoting stops this many seconds before the settlement window
)

// maker is one run. It handles one event at a time, in the stream's goroutine.
type maker struct {
	*client.Client
	stream       *client.Stream
	model        priceModel
	armed        time.Time
	lastWriteSeq schemas.U64 // seq of the last write: no decision is made before its events arrive
}

// run quotes until ctx ends or the stream fails permanently. Then it cancels all quotes,
// with a deadline of its own, and disarms the switch. If the cancel fails, the switch stays
// armed and cancels them.
func (m *maker) run(ctx context.Context) error {
	m.stream = m.Stream(client.StreamOptions{Channels: []string{"oracle", "user"}, OnEvent: func(e client.StreamEvent) {
		if err := m.onEvent(ctx, e); err != nil && ctx.Err() == nil {
			fmt.Println("rejected:", err) // the next tick retries
		}
	}})
	if err := m.stream.Run(ctx); ctx.Err() == nil {
		fmt.Println("the stream ended:", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := m.CancelAll(ctx, schemas.CancelAll{})
	if err == nil {
		_, err = m.DisarmDeadman(ctx)
	}
	return err
}

// onEvent updates the quotes at each tick of the feed. The stream maintains the account, over
// connections that end.
func (m *maker) onEvent(ctx context.Context, e client.StreamEvent) error {
	var tick schemas.WSOracle
	if e.Type != "oracle" {
		return nil
	}
	if err := json.Unmarshal(e.Msg, &tick); err != nil || tick.Feed != feed || tick.Price == 0 {
		return err
	}
	m.model.observe(float64(tick.Price))
	if time.Since(m.armed) > heartbeat {
		if _, err := m.ArmDeadman(ctx, deadmanMs); err != nil {
			return err
		}
		m.armed = time.Now()
	}
	account, known := m.stream.Account()
	if !known || account.Seq < m.lastWriteSeq {
		return nil
	}
	want, err := m.wantedQuotes(ctx, account.Positions)
	if err != nil {
		return err
	}
	return m.updateQuotes(ctx, account.Orders, want)
}

// wantedQuotes returns the quotes that should rest now.
func (m *maker) wantedQuotes(ctx context.Context, held map[uint32]schemas.Position) (out []schemas.PlaceOrder, err error) {
	markets, err := m.Markets(ctx, schemas.ListMarkets{Status: "trading"})
	rounds, err2 := m.Rounds(ctx, schemas.ListRounds{})
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
		for _, q := range quotes(m.model.fair(float64(r.Strike), left, window), p.YesQty-p.NoQty, k.TickSize) {
			q.ClientOrderID = schemas.U64(m.Now().UnixNano() + int64(len(out)))
			q.MarketID, q.Generation = schemas.Int(r.MarketID), schemas.Int(r.Generation)
			out = append(out, q)
		}
	}
	return out, errors.Join(err, err2)
}

// updateQuotes cancels outdated quotes in one request, and places missing ones in another.
func (m *maker) updateQuotes(ctx context.Context, resting map[schemas.U64]schemas.Order, want []schemas.PlaceOrder) error {
	var bad []schemas.U64
	for id, o := range resting {
		if i := slices.IndexFunc(want, func(w schemas.PlaceOrder) bool { return matches(&o, &w) }); i >= 0 {
			want = slices.Delete(want, i, i+1)
		} else if len(bad) < schemas.BatchCap {
			bad = append(bad, id)
		}
	}
	if len(bad) > 0 { // one that has filled meanwhile is unknown_order, which is harmless
		if _, err := m.CancelMany(ctx, bad); err != nil {
			return err
		}
	}
	if len(want) == 0 {
		return nil
	}
	// Wait for the response even when ctx ends: an interrupted placement could reach the venue
	// after the final cancel-all.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	done, err := m.PlaceOrders(end, want)
	for i, r := range done {
		became := ""
		if r.Error != nil {
			became = r.Error.Code
		} else {
			m.lastWriteSeq, became = max(m.lastWriteSeq, r.Seq), r.Status+" "+r.Reason
		}
		fmt.Printf("market %d: bid %.1f¢ for %s: %s\n", want[i].MarketID, float64(*want[i].Tick)/100, want[i].Outcome, became)
	}
	return err
}
