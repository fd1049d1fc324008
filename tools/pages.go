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

// PageOf collects up to in.Size rows that keep accepts, in the order of walk, and returns them with the end
// of the page. walk yields each row with its position, strictly behind from (0: all). The cursor holds the
// position of the last row, so no row is skipped or repeated (docs/rules/rest.md#pages).
func PageOf[R, W any](m *venue.Venue, route string, caller Caller, in pager, walk func(from uint64) iter.Seq2[uint64, R], keep func(R) bool, show func(R) W) (rows []W, end schemas.PageEnd, err error) {
	b := schemas.BindCursor(CursorVenue(m), route, uint32(caller.User), in)
	var from uint64
	rows, end.AsOf = make([]W, 0, min(in.Size(), schemas.PageDefault)), asOf(m)
	if c := in.After(); c != "" {
		if f := schemas.DecodeCursor(b, c, &from); f != nil {
			return nil, end, f
		}
		if from == 0 {
			return rows, end, nil
		}
	}
	last := uint64(0)
	for at, r := range walk(from) {
		if !keep(r) {
			continue
		}
		if len(rows) == in.Size() {
			end.Cursor = schemas.EncodeCursor(b, last)
			break
		}
		rows, last = append(rows, show(r)), at
	}
	return rows, end, nil
}

// WithPositions pairs each row with its position.
func WithPositions[R any](rows iter.Seq[R], at func(R) uint64) iter.Seq2[uint64, R] {
	return func(yield func(uint64, R) bool) {
		for r := range rows {
			if !yield(at(r), r) {
				return
			}
		}
	}
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

// KeepAll accepts every row.
func KeepAll[R any](R) bool { return true }

// matchesFilter reports whether name is in a comma-separated filter. An empty filter
// matches every name.
func matchesFilter(filter, name string) bool {
	return filter == "" || slices.Contains(strings.Split(filter, ","), name)
}

// asOf returns the as_of_seq of a read.
func asOf(v *venue.Venue) schemas.AsOf { return schemas.AsOf{AsOfSeq: schemas.U64(v.Now().Seq)} }

func marketID(i schemas.Int) core.MarketID { return core.MarketID(i.MarketID()) }

func matchesMarket(filter *schemas.Int, m core.MarketID) bool {
	return filter == nil || *filter == schemas.Int(m)
}

func pips(p core.Pips) schemas.U64 { return schemas.U64(p) }
func ns(t int64) schemas.U64       { return schemas.U64(t) }
