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

// posted is the index tick that a price by hand made, at 1e8.
type posted struct {
	Feed             int         `json:"feed"`
	Price            schemas.U64 `json:"price"`
	FreshSourceCount uint8       `json:"fresh_source_count"`
	Seq              schemas.U64 `json:"seq"`
}

// postTick sets a source's price by hand and sequences the index it makes. Ticks of
// one second must go in in the order the desk gave them, since the last sequenced
// stands; so one is posted at a time.
func (l *lane) postTick(ctx context.Context, c *gate.Call, in *schemas.Tick) (out posted, err error) {
	select {
	case l.posting <- struct{}{}:
		defer func() { <-l.posting }()
	case <-ctx.Done():
		return out, engine.ErrShed // the desk has not seen it
	}
	now := time.Unix(0, l.Venue.Terms.Now())
	tick, err := l.Desk.Post(core.Feed(in.Feed), in.Source, core.Price(in.Price), now)
	if err != nil {
		return out, refusal(err)
	}
	r, err := l.submit(ctx, c, &core.PostIndex{Tick: tick, Audit: by(in.Reason)}, in.Reason)
	return posted{int(in.Feed), schemas.U64(tick.Price), tick.Count, schemas.U64(r.Stamp.Seq)}, err
}

// refusal of a price the desk makes no index of: it contradicts the other sources,
// or is none.
func refusal(err error) error {
	for _, known := range []error{manual.ErrFeed, manual.ErrSource, manual.ErrPrice, manual.ErrNoIndex} {
		if errors.Is(err, known) {
			return tools.Refuse("schema_violation")
		}
	}
	return err
}
