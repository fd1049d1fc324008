package tools

import (
	"iter"
	"slices"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// page collects up to in.Size rows, newest first, and returns the cursor of the next
// page. walk yields each row with its position, strictly below from. The cursor holds the
// position of the last row, so no row is skipped or repeated (docs/rules/rest.md#pages).
func page[R, W any](m *venue.Venue, route string, caller Caller, in pager, walk func(from uint64) iter.Seq2[uint64, R], keep func(R) bool, show func(R) W) ([]W, string, error) {
	b := schemas.BindCursor(CursorVenue(m), route, uint32(caller.User), in)
	var from uint64
	if c := in.After(); c != "" {
		if f := schemas.DecodeCursor(b, c, &from); f != nil {
			return nil, "", f
		}
		if from == 0 {
			return []W{}, "", nil
		}
	}
	rows, last := make([]W, 0, min(in.Size(), schemas.PageDefault)), uint64(0)
	for at, r := range walk(from) {
		if !keep(r) {
			continue
		}
		if len(rows) == in.Size() {
			return rows, schemas.EncodeCursor(b, last), nil
		}
		rows, last = append(rows, show(r)), at
	}
	return rows, "", nil
}

// CursorVenue returns the number by which cursors tell venues apart: the time at which the first
// account was created, ns, which never changes. It is 0 without an account.
func CursorVenue(m *venue.Venue) uint64 {
	u, _ := m.User(1)
	return uint64(u.Created)
}

// BindCursor returns the binding of a list request outside of a read of the engine.
func (v *Venue) BindCursor(route string, caller Caller, in any) schemas.CursorBinding {
	number := v.cursorVenue.Load()
	if number == 0 {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { number = CursorVenue(m) })
		v.cursorVenue.Store(number)
	}
	return schemas.BindCursor(number, route, uint32(caller.User), in)
}

type pager interface {
	Size() int
	After() string
}

func keepAll[R any](R) bool { return true }

// matchesFilter reports whether name is in a comma-separated filter. An empty filter
// matches every name.
func matchesFilter(filter, name string) bool {
	return filter == "" || slices.Contains(strings.Split(filter, ","), name)
}

// asOf returns the as_of_seq of a read.
func asOf(v *venue.Venue) schemas.AsOf { return schemas.AsOf{AsOfSeq: schemas.U64(v.Now().Seq)} }

func nextPage(v *venue.Venue, cursor string) schemas.PageEnd {
	return schemas.PageEnd{Cursor: cursor, AsOf: asOf(v)}
}

func marketID(i schemas.Int) core.MarketID { return core.MarketID(i.MarketID()) }

func matchesMarket(filter *schemas.Int, m core.MarketID) bool {
	return filter == nil || *filter == schemas.Int(m)
}

func pips(p core.Pips) schemas.U64 { return schemas.U64(p) }
func ns(t int64) schemas.U64       { return schemas.U64(t) }
