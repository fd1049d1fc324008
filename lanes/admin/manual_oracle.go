package admin

import (
	"context"
	"errors"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/feeds/manual"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// postedTick is the index tick that follows from a price by hand, scaled by 1e8. Indexed is
// false if the feed needs more sources for an index.
type postedTick struct {
	Feed             int         `json:"feed"`
	Price            schemas.U64 `json:"price"`
	FreshSourceCount uint8       `json:"fresh_source_count"`
	Indexed          bool        `json:"indexed"`
	Seq              schemas.U64 `json:"seq"`
}

// postTick sets the price of a source by hand and sequences the resulting index tick
// (docs/rules/prices-sources.md#prices-by-hand). The last tick of a second counts, so
// posts are sequenced one at a time, in order.
func (l *lane) postTick(ctx context.Context, c *gate.Call, in *schemas.Tick) (out postedTick, err error) {
	unlock, err := l.lockPosts(ctx)
	if err != nil {
		return out, err
	}
	defer unlock()
	return l.postTickLocked(ctx, c, in)
}

// lockPosts waits until no other price is being posted.
func (l *lane) lockPosts(ctx context.Context) (unlock func(), err error) {
	select {
	case l.postMu <- struct{}{}:
		return func() { <-l.postMu }, nil
	case <-ctx.Done():
		return nil, engine.ErrShed // the price was not posted
	}
}

// postTickLocked is postTick. The caller holds the lock of lockPosts.
func (l *lane) postTickLocked(ctx context.Context, c *gate.Call, in *schemas.Tick) (out postedTick, err error) {
	now := time.Unix(0, l.Venue.Config.Now())
	tick, err := l.ManualOracle.Post(core.Feed(in.Feed), in.Source, core.Price(in.Price), now)
	if err != nil {
		return out, oracleError(err)
	}
	r, err := l.submit(ctx, c, &core.PostIndex{Tick: tick, Audit: auditOf(c, in.Reason)}, in.Reason)
	_, indexed := lastEvent[*core.Indexed](r.Events)
	return postedTick{int(in.Feed), schemas.U64(tick.Price), tick.Count, indexed, schemas.U64(r.Stamp.Seq)}, err
}

// oracleError maps the errors of an invalid feed, source or price to schema_violation.
func oracleError(err error) error {
	for _, known := range []error{manual.ErrFeed, manual.ErrSource, manual.ErrPrice, manual.ErrNoIndex} {
		if errors.Is(err, known) {
			return tools.NewError("schema_violation")
		}
	}
	return err
}
