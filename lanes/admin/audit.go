package admin

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// audit lists the actions of operators and accounts, newest first
// (docs/rules/operation.md#audit).
func (l *lane) audit(_ context.Context, _ *gate.Call, in *schemas.ListActions) (out schemas.ActionList, err error) {
	l.Venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		walk := func(from uint64) iter.Seq[*view.Action] {
			return func(yield func(*view.Action) bool) {
				for a := range w.Actions(from) {
					if matchesFilter(in, a) && !yield(a) {
						return
					}
				}
			}
		}
		out.Actions, out.Cursor, err = page("admin_audit", in, in.Page, walk, func(a *view.Action) uint64 { return a.Seq }, actionOf)
		out.AsOfSeq = schemas.U64(v.Now().Seq)
	})
	return out, err
}

func matchesFilter(in *schemas.ListActions, a *view.Action) bool {
	return (in.Who == "" || in.Who == a.Who) && (in.Action == "" || in.Action == a.Name) && (in.UserID == nil || core.UserID(*in.UserID) == a.User)
}

func actionOf(a *view.Action) schemas.Action {
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

// page collects one page of the rows of walk and the cursor of the next page. at returns the
// cursor position after a row.
func page[R, W any](route string, in any, p schemas.Page, walk func(from uint64) iter.Seq[R], at func(R) uint64, show func(R) W) ([]W, string, error) {
	b := schemas.BindCursor(route, 0, in)
	var from uint64
	if p.Cursor != "" {
		if f := schemas.DecodeCursor(b, p.Cursor, &from); f != nil {
			return nil, "", f
		}
	}
	rows, last := []W{}, uint64(0)
	for r := range walk(from) {
		if len(rows) == p.Size() {
			return rows, schemas.EncodeCursor(b, last), nil
		}
		rows, last = append(rows, show(r)), at(r)
	}
	return rows, "", nil
}
