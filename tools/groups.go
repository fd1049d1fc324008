package tools

import (
	"context"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var groupErrors = append([]string{"unknown_group"}, writeErrors...)

var SetGroup = &Op[schemas.SetGroup, schemas.GroupChanged]{
	Spec: Spec{
		Name: "set_group", Title: "Bound a group's fills", Method: "PUT", Path: "/v1/portfolio/groups/{group_id}", Scope: core.ScopeTrade, Bucket: Write, Errors: append([]string{"group_limit_reached"}, groupErrors...), Idempotent: true, Deduplicated: true,
		Doc: "When fills of the group reach fill_limit in window_ms, its orders are canceled and new ones are group_tripped.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.SetGroup) (schemas.GroupChanged, error) {
		c := &core.SetGroup{User: caller.User, Key: caller.KeyNumber(), Group: uint32(in.GroupID), FillLimit: core.Qty(in.FillLimit), WindowMs: uint32(in.WindowMs)}
		return v.groupChanged(c.User, c.Group)(v.submit(ctx, &caller, c))
	},
}

var ResetGroup = &Op[schemas.GroupPath, schemas.GroupChanged]{
	Spec: Spec{
		Name: "reset_group", Title: "Reset a group", Method: "POST", Path: "/v1/portfolio/groups/{group_id}/reset", Scope: core.ScopeTrade, Bucket: Write, Errors: groupErrors, Idempotent: true, Deduplicated: true,
		Doc: "Let a group that has tripped take orders again; its count is 0.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GroupPath) (schemas.GroupChanged, error) {
		c := &core.ResetGroup{User: caller.User, Key: caller.KeyNumber(), Group: uint32(in.GroupID)}
		return v.groupChanged(c.User, c.Group)(v.submit(ctx, &caller, c))
	},
}

var DeleteGroup = &Op[schemas.GroupPath, schemas.GroupChanged]{
	Spec: Spec{
		Name: "delete_group", Title: "Remove a group's bound", Method: "DELETE", Path: "/v1/portfolio/groups/{group_id}", Scope: core.ScopeTrade, Bucket: Write, Errors: groupErrors, Idempotent: true, Deduplicated: true,
		Doc: "Remove the bound of a group; its orders stay.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GroupPath) (schemas.GroupChanged, error) {
		c := &core.DeleteGroup{User: caller.User, Key: caller.KeyNumber(), Group: uint32(in.GroupID)}
		return v.groupChanged(c.User, c.Group)(v.submit(ctx, &caller, c))
	},
}

var ListGroups = &Op[schemas.None, schemas.GroupList]{
	Spec: Spec{
		Name: "list_groups", Title: "Your groups", Method: "GET", Path: "/v1/portfolio/groups", Scope: core.ScopeRead,
		Doc: "What is set for your groups, and what counts.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, _ *schemas.None) (out schemas.GroupList, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			out.AsOfSeq = schemas.U64(m.Now().Seq)
			out.Groups = GroupsOf(m, caller.User, v.Config.Now())
		})
		return out, nil
	},
}

// groupChanged returns the row of a group after a command. One that changed nothing has no event, and the group no
// bound: what else it has is that of now.
func (v *Venue) groupChanged(u core.UserID, id uint32) func(engine.Receipt, error) (schemas.GroupChanged, error) {
	return func(r engine.Receipt, err error) (out schemas.GroupChanged, _ error) {
		if r, err = Accepted(r, err); err != nil {
			return out, err
		}
		out.Seq = schemas.U64(r.Stamp.Seq)
		for _, e := range r.Events {
			if e, ok := e.(*core.GroupChanged); ok {
				out.GroupRow = GroupOf(&e.Group)
				return out, nil
			}
		}
		out.GroupRow = schemas.GroupRow{GroupID: id}
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			for _, g := range GroupsOf(m, u, v.Config.Now()) {
				if g.GroupID == id {
					out.DeadlineTs, out.Bound = g.DeadlineTs, g.Bound
				}
			}
		})
		return out, nil
	}
}

// GroupsOf returns the groups for which an account has set something, as of ts in ns.
func GroupsOf(v *venue.Venue, u core.UserID, ts int64) []schemas.GroupRow {
	out := []schemas.GroupRow{}
	for g := range v.Groups(u, max(ts, v.Now().Ts)) {
		out = append(out, GroupOf(&g))
	}
	return out
}

// GroupOf converts a group.
func GroupOf(g *core.Group) schemas.GroupRow {
	return schemas.GroupRow{GroupID: g.ID, FillLimit: int64(g.FillLimit), WindowMs: int64(g.WindowMs), Filled: int64(g.Filled), Tripped: g.Tripped, DeadlineTs: ns(g.Deadline), Bound: g.Bound}
}
