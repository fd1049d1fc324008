package tools

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// ListActions returns a page of the actions of operators and accounts, newest first
// (docs/rules/operation.md#audit).
func ListActions(ctx context.Context, v *Venue, in *schemas.ListActions) (out schemas.ActionList, err error) {
	l := deepList[*view.Action, schemas.Action]{
		memory: func(_ *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.Action], view.Released, error) {
			return func(from uint64) iter.Seq2[uint64, *view.Action] { return WithPositions(w.Actions(from), seqOfAction) }, w.ActionsReleased(), nil
		},
		keep: func(a *view.Action) bool {
			return (in.Who == "" || in.Who == a.Who) && (in.Action == "" || in.Action == a.Name) && (in.UserID == nil || core.UserID(*in.UserID) == a.User)
		},
		show: ActionOf, at: seqOfAction,
		mirror: func(ctx context.Context, below uint64, limit int) ([]*view.Action, error) {
			f := history.ActionFilter{Who: in.Who, Action: in.Action}
			if in.UserID != nil {
				f.User = schemas.Ptr(core.UserID(*in.UserID))
			}
			rows, err := v.History.Actions(ctx, below, limit, f)
			return pointers(rows), err
		},
	}
	out.Actions, out.PageEnd, err = l.page(ctx, v, Caller{}, "admin_audit", in)
	return out, err
}

func seqOfAction(a *view.Action) uint64 { return a.Seq }

// ActionOf converts an action.
func ActionOf(a *view.Action) schemas.Action {
	out := schemas.Action{Seq: schemas.U64(a.Seq), Ts: schemas.U64(a.Ts), Who: a.Who, Why: a.Why, Action: a.Name, Detail: a.Detail}
	if a.User != 0 {
		out.UserID = schemas.Ptr(uint32(a.User))
	}
	if a.Market != 0 {
		out.MarketID = schemas.Ptr(uint32(a.Market))
	}
	if a.Reject != core.OK {
		out.Refused = a.Reject.String()
	}
	return out
}
