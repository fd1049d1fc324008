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
	feed      = 0               // BTC
	qty       = 20              // contracts a quote
	most      = 200             // contracts of one outcome, net of the other, to hold in a market
	deadmanMs = 10_000          // if this program dies, the venue takes its quotes back
	heartbeat = 3 * time.Second // well within
	margin    = 3               // seconds before the settling mean begins, from where on it does not quote
)

// maker is one run. All of it happens in the stream's goroutine, an event at a time.
type maker struct {
	*client.Client
	stream *client.Stream
	walk   walk
	armed  time.Time
	wrote  schemas.U64 // seq of the last write: nothing is decided before its events are here
}

// run quotes until ctx ends or the stream fails for good, then takes all quotes back,
// in a moment of its own. The switch goes only with the orders: if they could not be
// canceled, it will do that.
func (m *maker) run(ctx context.Context) error {
	m.stream = m.Stream(client.StreamOptions{Channels: []string{"oracle", "user"}, On: func(e client.StreamEvent) {
		if err := m.take(ctx, e); err != nil && ctx.Err() == nil {
			fmt.Println("refused:", err) // the next tick tries again
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

// take puts quotes right at each tick of the feed. The account needs no care: the
// stream keeps it, also over connections that end.
func (m *maker) take(ctx context.Context, e client.StreamEvent) error {
	var tick schemas.WSOracle
	if e.Type != "oracle" {
		return nil
	}
	if err := json.Unmarshal(e.Msg, &tick); err != nil || tick.Feed != feed || tick.Price == 0 {
		return err
	}
	m.walk.see(float64(tick.Price))
	if time.Since(m.armed) > heartbeat {
		if _, err := m.ArmDeadman(ctx, deadmanMs); err != nil {
			return err
		}
		m.armed = time.Now()
	}
	account, known := m.stream.Account()
	if !known || account.Seq < m.wrote {
		return nil
	}
	want, err := m.wanted(ctx, account.Positions)
	if err != nil {
		return err
	}
	return m.change(ctx, account.Orders, want)
}

// wanted are the quotes that should rest now.
func (m *maker) wanted(ctx context.Context, held map[uint32]schemas.Position) (out []schemas.PlaceOrder, err error) {
	markets, err := m.Markets(ctx, schemas.ListMarkets{Status: "trading"})
	rounds, err2 := m.Rounds(ctx, schemas.ListRounds{})
	for _, r := range rounds.Rounds {
		i := slices.IndexFunc(markets.Markets, func(k schemas.Market) bool { return k.RoundNumber == r.RoundNumber })
		if i < 0 || r.Paused || (r.Category-1)/3 != feed {
			continue
		}
		k, p, window := &markets.Markets[i], held[r.MarketID], float64(r.TwapWindowSecs)
		left := time.Unix(0, k.CloseTs.Int64()).Sub(m.Now()).Seconds()
		if left < window+margin {
			continue
		}
		for _, q := range quotes(m.walk.fair(float64(r.Strike), left, window), p.YesQty-p.NoQty, k.TickSize) {
			q.ClientOrderID = schemas.U64(m.Now().UnixNano() + int64(len(out)))
			q.MarketID, q.Generation = schemas.Int(r.MarketID), schemas.Int(r.Generation)
			out = append(out, q)
		}
	}
	return out, errors.Join(err, err2)
}

// change cancels what rests badly in one request, and places what is missing in another.
func (m *maker) change(ctx context.Context, resting map[schemas.U64]schemas.Order, want []schemas.PlaceOrder) error {
	var bad []schemas.U64
	for id, o := range resting {
		if i := slices.IndexFunc(want, func(w schemas.PlaceOrder) bool { return serves(&o, &w) }); i >= 0 {
			want = slices.Delete(want, i, i+1)
		} else if len(bad) < schemas.BatchCap {
			bad = append(bad, id)
		}
	}
	if len(bad) > 0 { // one that was filled meanwhile is unknown_order, and no harm
		if _, err := m.CancelMany(ctx, bad); err != nil {
			return err
		}
	}
	if len(want) == 0 {
		return nil
	}
	// To its end, also when we are told to stop: half-way it could come behind the cancel of all.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	done, err := m.PlaceOrders(end, want)
	for i, r := range done {
		became := ""
		if r.Error != nil {
			became = r.Error.Code
		} else {
			m.wrote, became = max(m.wrote, r.Seq), r.Status+" "+r.Reason
		}
		fmt.Printf("market %d: bid %d for %s: %s\n", want[i].MarketID, *want[i].Tick, want[i].Outcome, became)
	}
	return err
}
