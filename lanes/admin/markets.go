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

func (l *lane) pause(paused bool) func(context.Context, *gate.Call, *schemas.ActOnMarket) (schemas.MarketActed, error) {
	return func(ctx context.Context, c *gate.Call, in *schemas.ActOnMarket) (schemas.MarketActed, error) {
		m := core.MarketID(in.MarketID.Slot())
		r, err := l.submit(ctx, c, &core.PauseMarket{Market: m, Lift: !paused, Audit: by(in.Reason)}, in.Reason)
		return l.acted(m, r), err
	}
}

// void ends a round and pays 5000 pips for every open contract.
func (l *lane) void(ctx context.Context, c *gate.Call, in *schemas.ActOnMarket) (schemas.MarketActed, error) {
	m := core.MarketID(in.MarketID.Slot())
	r, err := l.submit(ctx, c, &core.VoidMarket{Market: m, Audit: by(in.Reason)}, in.Reason)
	return l.acted(m, r), err
}

// propose gives a frozen or proposed round the operator's settle price, at 1e8.
func (l *lane) propose(ctx context.Context, c *gate.Call, in *schemas.Propose) (schemas.MarketActed, error) {
	m := core.MarketID(in.MarketID.Slot())
	r, err := l.submit(ctx, c, &core.ProposePrice{Market: m, Price: core.Price(in.SettlePrice), Audit: by(in.Reason)}, in.Reason)
	return l.acted(m, r), err
}

// acted tells the round as the command left it. One that changed nothing gave no
// event, and the round is read.
func (l *lane) acted(m core.MarketID, r engine.Receipt) schemas.MarketActed {
	out := schemas.MarketActed{MarketID: uint32(m), Seq: schemas.U64(r.Stamp.Seq)}
	if e, ok := last[*core.RoundChanged](r.Events); ok {
		out.Status, out.Paused = e.Round.Status.String(), e.Round.Paused
		return out
	}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, ok := v.Slot(m); ok {
			out.Status, out.Paused = s.Status.String(), s.Paused
		}
	})
	return out
}

// setSchedule replaces the operator's windows. The sessions of the calendar are
// shown beside them and are not set here.
func (l *lane) setSchedule(ctx context.Context, c *gate.Call, in *schemas.SetSchedule) (schemas.Schedule, error) {
	windows := make([]core.Window, len(in.Schedule))
	for i, w := range in.Schedule {
		windows[i] = core.Window{Kind: w.Kind, Start: w.StartTs.Int64(), End: w.EndTs.Int64()}
	}
	_, err := l.submit(ctx, c, &core.SetSchedule{Windows: windows, Audit: by(in.Reason)}, in.Reason)
	return schemas.Schedule{Schedule: in.Schedule}, err
}
