package tools

import (
	"iter"
	"slices"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/schemas"
)

// page collects up to `size` rows of a walk from the newest on. Each row comes with
// its position; the cursor is the position of the last row shown, and the walk goes
// on strictly below it, so no row is skipped or repeated.
func page[R, W any](route string, who Caller, in pager, walk func(from uint64) iter.Seq2[uint64, R], keep func(R) bool, show func(R) W) ([]W, string, error) {
	b := schemas.BindCursor(route, uint32(who.User), in)
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

type pager interface {
	Size() int
	After() string
}

func all[R any](R) bool { return true }

// among tells whether name is in a comma-separated filter; an empty one lets all
// pass.
func among(filter, name string) bool {
	return filter == "" || slices.Contains(strings.Split(filter, ","), name)
}

// seen is the seq a read is current as of.
func seen(v *venue.Venue) schemas.Seen { return schemas.Seen{AsOfSeq: schemas.U64(v.Now().Seq)} }

func more(v *venue.Venue, cursor string) schemas.More {
	return schemas.More{Cursor: cursor, Seen: seen(v)}
}

func slot(i schemas.Int) core.MarketID { return core.MarketID(i.Slot()) }

func isSlot(filter *schemas.Int, m core.MarketID) bool {
	return filter == nil || *filter == schemas.Int(m)
}

func pips(p core.Pips) schemas.U64 { return schemas.U64(p) }
func ns(t int64) schemas.U64       { return schemas.U64(t) }
