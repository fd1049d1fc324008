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

// apply performs changes while tokens last: first the cancels of orders that no quote replaces, then the best quotes of
// all markets, then deeper ones. A level whose quotes must wait loses the orders that have lost their edge.
func (m *maker) apply(ctx context.Context, list []requote, cancels []schemas.U64) error {
	slices.SortStableFunc(list, func(a, b requote) int { return cmp.Compare(a.level, b.level) })
	var before, quotes []schemas.Quote
	for i := range list {
		r := &list[i]
		cost := 1.0
		if r.crosses {
			cost = 2
		}
		if cost > m.budget.write {
			for o, id := range r.ids {
				if r.stale[o] {
					cancels = append(cancels, id)
				}
			}
			continue
		}
		m.budget.write -= cost
		if r.crosses {
			before = append(before, m.quoteOf(r, r.away()))
		}
		quotes = append(quotes, m.quoteOf(r, r.want))
	}
	if err := m.cancel(ctx, cancels); err != nil {
		return err
	}
	if err := m.quote(ctx, before); err != nil {
		return err
	}
	return m.quote(ctx, quotes)
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

// quote waits for the response to each request even if ctx ends meanwhile. An abandoned one could reach the venue
// after the cancel-all of shutdown.
func (m *maker) quote(ctx context.Context, quotes []schemas.Quote) error {
	for batch := range slices.Chunk(quotes, schemas.BatchCap) {
		if err := ctx.Err(); err != nil {
			return err
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		results, err := m.c.PutQuotes(end, batch)
		cancel()
		if err != nil {
			return err
		}
		for i := range results {
			for _, side := range results[i].Sides() {
				if side.Error != nil {
					m.logError(&client.Error{Wire: *side.Error, Status: side.Error.HTTP()})
				}
			}
		}
	}
	return nil
}
