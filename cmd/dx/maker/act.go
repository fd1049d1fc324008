package maker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// tokenBudget estimates the tokens in the key's write and cancel buckets.
type tokenBudget struct {
	write, cancel           float64
	limits                  schemas.Limits
	updatedAt, limitsReadAt time.Time
}

// limitsInterval is the interval of reading the limits, which grow with the volume.
const limitsInterval = 30 * time.Second

// refill adds the tokens since the last call.
func (b *tokenBudget) refill(ctx context.Context, c *client.Client) (err error) {
	now := time.Now()
	if now.Sub(b.limitsReadAt) > limitsInterval {
		if b.limits, err = c.Limits(ctx); err != nil {
			return err
		}
		b.limitsReadAt = now
	}
	secs := now.Sub(b.updatedAt).Seconds() // on the first call long enough for full buckets
	b.write = addTokens(b.write, b.limits.Write, secs)
	b.cancel = addTokens(b.cancel, b.limits.Cancel, secs)
	b.updatedAt = now
	return nil
}

// The delay of a request varies, so the budget leaves a margin. The rest of a burst of 20
// still suffices for the best quotes of nine markets.
const (
	rateMargin  = 0.95
	burstMargin = 2
)

func addTokens(have float64, b schemas.Bucket, secs float64) float64 {
	return min(have+secs*rateMargin*float64(b.SustainedRatePerS), float64(max(b.Burst-burstMargin, 1)))
}

// drain empties the budget after a rejection for the rate.
func (b *tokenBudget) drain() { b.write, b.cancel = 0, 0 }

// redeem redeems pairs if there are as many as the contracts of one quote.
func (m *maker) redeem(ctx context.Context, p schemas.Position) error {
	pairs := min(p.YesQty-p.YesReserved, p.NoQty-p.NoReserved)
	if pairs < int64(m.quotes.Qty) || m.budget.write < 1 {
		return nil
	}
	m.budget.write--
	_, err := m.c.Redeem(ctx, schemas.Redeem{MarketID: schemas.Int(p.MarketID), Qty: schemas.Int(min(pairs, schemas.QtyMax))})
	return err
}

// applyChanges performs changes while rate tokens last: first the required cancels, then the best quotes of all
// markets, then deeper ones. It places a new quote before it cancels the old one, so that no side is ever
// empty. Quotes that move away from the middle come first, because the others could trade with them.
func (m *maker) applyChanges(ctx context.Context, c *quoteChanges) error {
	slices.SortStableFunc(c.replaces, func(a, b quoteChange) int { return cmp.Compare(a.level, b.level) })
	var back, forth struct {
		places  []schemas.PlaceOrder
		cancels []schemas.U64
	}
	back.cancels = c.cancels
	for _, r := range c.replaces[:min(len(c.replaces), int(m.budget.write))] {
		part := &forth
		if r.behind {
			part = &back
		}
		part.places = append(part.places, r.place)
		if r.cancel != 0 {
			part.cancels = append(part.cancels, r.cancel)
		}
	}
	if err := m.place(ctx, back.places); err != nil {
		return err
	}
	if err := m.cancel(ctx, back.cancels); err != nil {
		return err
	}
	if err := m.place(ctx, forth.places); err != nil {
		return err
	}
	return m.cancel(ctx, forth.cancels)
}

func (m *maker) cancel(ctx context.Context, ids []schemas.U64) error {
	ids = ids[:min(len(ids), int(m.budget.cancel))]
	for batch := range slices.Chunk(ids, schemas.BatchCap) {
		m.budget.cancel -= float64(len(batch))
		if _, err := m.c.CancelMany(ctx, batch); err != nil {
			return err // an order that no longer rests is an error of its item only
		}
	}
	return nil
}

// place waits for the response to each placement even if ctx ends meanwhile. An abandoned
// placement could reach the venue after the cancel-all of shutdown.
func (m *maker) place(ctx context.Context, orders []schemas.PlaceOrder) error {
	for batch := range slices.Chunk(orders, schemas.BatchCap) {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.budget.write -= float64(len(batch))
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		results, err := m.c.PlaceOrders(end, batch)
		cancel()
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Error != nil {
				m.logError(&client.Error{Wire: *r.Error, Status: r.Error.HTTP()})
			}
		}
	}
	return nil
}
