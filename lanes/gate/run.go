package gate

import (
	"context"

	"duplex/schemas"
	"duplex/tools"
)

// Run takes a call through an operation: admit, read, pay, wait, be let in, do. `read` fills
// the input from whatever the lane got; it runs only once the call is admitted.
func Run[In, Out any](ctx context.Context, g *Gate, c *Call, op *tools.Op[In, Out], read func(*In) error) (out Out, err error) {
	c.Op = op.Name
	if g.ReplayGuard && !op.ReadOnly() {
		return guarded(ctx, g, c, op, read)
	}
	do := op.Do
	if op.Once {
		do = func(ctx context.Context, v *tools.Venue, who tools.Caller, in *In) (Out, error) {
			return onlyOnce(&g.once, c.Repeat(), v.Terms.Now(), func() (Out, error) { return op.Do(ctx, v, who, in) })
		}
	}
	return act(ctx, g, c, op, read, do)
}

// act is the way of a call, with do at its end.
func act[In, Out any](ctx context.Context, g *Gate, c *Call, op *tools.Op[In, Out], read func(*In) error, do func(context.Context, *tools.Venue, tools.Caller, *In) (Out, error)) (out Out, err error) {
	if err = g.Admit(c, &op.Facts); err != nil {
		return out, err
	}
	in := new(In)
	if err = read(in); err != nil {
		return out, err
	}
	if err = g.buckets.rest(c.Key, op.Bucket, op.Tokens(&g.Venue.Terms, in)-1); err != nil {
		return out, err
	}
	if w, ok := any(in).(interface{ Since() uint64 }); ok {
		if err = g.Venue.Engine.Reach(ctx, w.Since()); err != nil {
			return out, err
		}
	}
	if op.Places && g.InFlight > 0 {
		if err = g.flight.enter(c.Key.User, g.InFlight); err != nil {
			return out, err
		}
		defer g.flight.leave(c.Key.User)
	}
	return do(ctx, g.Venue, c.Caller(), in)
}

// Admit checks the key's scope and takes one token. An operator may have revoked
// the key since it was proved: nothing is accepted after that was answered.
func (g *Gate) Admit(c *Call, f *tools.Facts) error {
	if now := g.Venue.Engine.Key(c.Key.ID); now == nil || now.Revoked {
		return tools.Refuse("unauthorized")
	}
	if !c.Key.Scopes.Has(f.Scope) {
		return tools.Refuse("missing_scope")
	}
	return g.Pay(c, f.Bucket, 1)
}

// Pay takes n tokens of a bucket, or none (spec 8).
func (g *Gate) Pay(c *Call, b tools.Bucket, n int) error { return g.buckets.take(c.Key, b, n) }

// Read joins the parts a request is read from, the most telling fault first.
func Read(faults ...*schemas.Fault) error {
	var worst *schemas.Fault
	for _, f := range faults {
		worst = schemas.MostTelling(worst, f)
	}
	if worst == nil {
		return nil
	}
	return worst
}
