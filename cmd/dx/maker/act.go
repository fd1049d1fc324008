package maker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// budget counts the tokens believed to be in a key's write and cancel buckets.
type budget struct {
	write, cancel float64
	limits        schemas.Limits
	at, asked     time.Time
}

// asks is how often the limits are read again: they grow with the volume.
const asks = 30 * time.Second

// earn adds what has come in since.
func (b *budget) earn(ctx context.Context, c *client.Client) (err error) {
	now := time.Now()
	if now.Sub(b.asked) > asks {
		if b.limits, err = c.Limits(ctx); err != nil {
			return err
		}
		b.asked = now
	}
	secs := now.Sub(b.at).Seconds() // at the start it is ages: full
	b.write = refill(b.write, b.limits.Write, secs)
	b.cancel = refill(b.cancel, b.limits.Cancel, secs)
	b.at = now
	return nil
}

// A request takes its time to arrive, never the same, so a little is left alone. What
// remains of a burst of 20 still pays for the best quotes of nine markets.
const (
	careRate  = 0.95
	careBurst = 2
)

func refill(have float64, b schemas.Bucket, secs float64) float64 {
	return min(have+secs*careRate*float64(b.SustainedRatePerS), float64(b.Burst-careBurst))
}

// empty is what a refusal for the rate teaches.
func (b *budget) empty() { b.write, b.cancel = 0, 0 }

// redeem turns pairs back into cash once it is worth a token.
func (m *maker) redeem(ctx context.Context, p schemas.Position) error {
	pairs := min(p.YesQty-p.YesReserved, p.NoQty-p.NoReserved)
	if pairs < int64(m.opt.Qty) || m.budget.write < 1 {
		return nil
	}
	m.budget.write--
	_, err := m.c.Redeem(ctx, schemas.Redeem{MarketID: schemas.Int(p.MarketID), Qty: schemas.Int(min(pairs, schemas.QtyMax))})
	return err
}

// act does what the tokens allow: what must go first, then the best quotes of all
// markets, then those behind. A quote goes out only when its place is taken.
func (m *maker) act(ctx context.Context, c *changes) error {
	slices.SortStableFunc(c.swap, func(a, b change) int { return cmp.Compare(a.depth, b.depth) })
	swap := c.swap[:min(len(c.swap), int(m.budget.write))]
	out := c.drop
	var in []schemas.PlaceOrder
	for _, s := range swap {
		if s.out != 0 {
			out = append(out, s.out)
		}
		in = append(in, s.in)
	}
	if err := m.cancel(ctx, out); err != nil {
		return err
	}
	return m.place(ctx, in)
}

func (m *maker) cancel(ctx context.Context, ids []schemas.U64) error {
	ids = ids[:min(len(ids), int(m.budget.cancel))]
	for some := range slices.Chunk(ids, schemas.BatchCap) {
		m.budget.cancel -= float64(len(some))
		if _, err := m.c.CancelMany(ctx, some); err != nil {
			return err // an order that is gone already is an item's error
		}
	}
	return nil
}

// place sees each placement to its end, also when the maker is stopped meanwhile: one
// that is given up half-way may come to the venue behind the cancel of everything.
func (m *maker) place(ctx context.Context, orders []schemas.PlaceOrder) error {
	for some := range slices.Chunk(orders, schemas.BatchCap) {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.budget.write -= float64(len(some))
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		results, err := m.c.PlaceOrders(end, some)
		cancel()
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Error != nil {
				m.complain(&client.Error{Wire: *r.Error, Status: r.Error.HTTP()})
			}
		}
	}
	return nil
}
