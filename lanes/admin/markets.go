package admin

import (
	"context"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// pause pauses or resumes a trading round (docs/rules/rounds.md#pauses).
func (l *lane) pause(paused bool) func(context.Context, *gate.Call, *schemas.ActOnMarket) (schemas.MarketActed, error) {
	return func(ctx context.Context, c *gate.Call, in *schemas.ActOnMarket) (schemas.MarketActed, error) {
		m := core.MarketID(in.MarketID.MarketID())
		r, err := l.submit(ctx, c, &core.PauseMarket{Market: m, Lift: !paused, Audit: auditOf(c, in.Reason)}, in.Reason)
		return l.marketState(m, r), err
	}
}

// void declares a round void, which pays 5000 pips for every open contract
// (docs/rules/rounds.md#void).
func (l *lane) void(ctx context.Context, c *gate.Call, in *schemas.ActOnMarket) (schemas.MarketActed, error) {
	m := core.MarketID(in.MarketID.MarketID())
	r, err := l.submit(ctx, c, &core.VoidMarket{Market: m, Audit: auditOf(c, in.Reason)}, in.Reason)
	return l.marketState(m, r), err
}

// propose sets the settle price of a frozen or proposed round, scaled by 1e8
// (docs/rules/rounds.md#operators-price).
func (l *lane) propose(ctx context.Context, c *gate.Call, in *schemas.Propose) (schemas.MarketActed, error) {
	m := core.MarketID(in.MarketID.MarketID())
	r, err := l.submit(ctx, c, &core.ProposePrice{Market: m, Price: core.Price(in.SettlePrice), Audit: auditOf(c, in.Reason)}, in.Reason)
	return l.marketState(m, r), err
}

// marketState returns the state of a round after a command. A command without an effect has
// no event, so the state is read from the venue.
func (l *lane) marketState(m core.MarketID, r engine.Receipt) schemas.MarketActed {
	out := schemas.MarketActed{MarketID: uint32(m), Seq: schemas.U64(r.Stamp.Seq)}
	if e, ok := lastEvent[*core.RoundChanged](r.Events); ok {
		out.Status, out.Paused = e.Round.Status.String(), e.Round.Paused
		return out
	}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, ok := v.Market(m); ok {
			out.Status, out.Paused = s.Status.String(), s.Paused
		}
	})
	return out
}

// setSchedule replaces the planned windows. The schedule that callers read also has the
// sessions of the calendar, which it does not change.
func (l *lane) setSchedule(ctx context.Context, c *gate.Call, in *schemas.SetSchedule) (schemas.Schedule, error) {
	windows := make([]core.Window, len(in.Schedule))
	for i, w := range in.Schedule {
		windows[i] = core.Window{Kind: w.Kind, Start: w.StartTs.Int64(), End: w.EndTs.Int64()}
	}
	_, err := l.submit(ctx, c, &core.SetSchedule{Windows: windows, Audit: auditOf(c, in.Reason)}, in.Reason)
	return schemas.Schedule{Schedule: in.Schedule}, err
}
