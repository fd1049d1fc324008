package tools

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"duplex/schemas"
)

// deepPage collects one page of a list whose older rows memory no longer keeps. The page is
// filled from memory, and from the mirror where rows that memory released can belong to it
// (docs/rules/history.md#reads-beyond-memory). Rows have a position, which never changes; lists are
// in the order of falling positions.
//
//	p, err := openPage(route, caller, in)
//	under the engine's lock:  p.take(rows of memory), then p.releasedUpTo(…)
//	without it:               rows, cursor, err := p.finish(ctx, v, caller, read)
type deepPage[W any] struct {
	binding schemas.CursorBinding
	size    int
	from    uint64 // rows of the page are strictly below; 0: no bound
	empty   bool   // the cursor is that of the end

	rows     []placed[W] // of memory, newest first; at most size+1
	held     []uint64    // positions of rows of memory that the filter left out
	low      uint64      // the page holds no row below; 0: memory had no more rows
	released uint64      // position of the newest row that memory released; 0: none
	seq      uint64      // the mirror must have passed this seq to have all of them
}

// History is the mirror: it has the rows that memory no longer keeps.
type History interface {
	// Wait returns how long the mirror is likely to need until it has every row up to seq: 0 if
	// it has them.
	Wait(seq uint64) time.Duration
}

// mirrorRetry is the wait that an error names when the mirror does not answer.
const mirrorRetry = time.Second

// historyBehind returns history_behind with a wait, rounded up to ms.
func historyBehind(wait time.Duration) error {
	return Error{schemas.HistoryBehind(int64((wait + time.Millisecond - 1) / time.Millisecond))}
}

// placed is a row and its position.
type placed[W any] struct {
	at  uint64
	row W
}

// openPage begins a page. It returns bad_cursor for a cursor of another list.
func openPage[W any](route string, caller Caller, in pager) (*deepPage[W], error) {
	p := &deepPage[W]{binding: schemas.BindCursor(route, uint32(caller.User), in), size: in.Size()}
	if c := in.After(); c != "" {
		if f := schemas.DecodeCursor(p.binding, c, &p.from); f != nil {
			return nil, f
		}
		p.empty = p.from == 0
	}
	return p, nil
}

// take adds the rows of memory. walk yields all of them below a position, newest first.
func take[R, W any](p *deepPage[W], walk func(from uint64) iter.Seq2[uint64, R], keep func(R) bool, show func(R) W) {
	if p.empty {
		return
	}
	for at, r := range walk(p.from) {
		if !keep(r) {
			p.held = append(p.held, at)
			continue
		}
		p.rows = append(p.rows, placed[W]{at, show(r)})
		if len(p.rows) > p.size {
			p.low = at
			return
		}
	}
}

// releasedUpTo says which rows memory no longer keeps: some or all of those up to position newest,
// none if that is 0. A mirror that has passed seq has all of them.
func (p *deepPage[W]) releasedUpTo(newest, seq uint64) { p.released, p.seq = newest, seq }

// finish returns the page and the cursor of the next one. read returns up to limit rows of the
// mirror that match the filter, strictly below a position (0: no bound), newest first; it is called
// only if such rows can be part of the page, and then the page costs DeepReadTokens more. The error
// is history_behind or rate_limited.
func (p *deepPage[W]) finish(ctx context.Context, v *Venue, caller Caller, read func(ctx context.Context, below uint64, limit int) ([]placed[W], error)) ([]W, string, error) {
	rows := p.rows
	if v.History != nil && !p.empty && p.released > p.low && (p.from == 0 || p.from > 1) {
		older, err := p.readOlder(ctx, v, caller, read)
		if err != nil {
			return nil, "", err
		}
		rows = slices.Concat(rows, older)
		slices.SortFunc(rows, func(a, b placed[W]) int { return cmp.Compare(b.at, a.at) })
	}
	cursor := ""
	if len(rows) > p.size {
		rows = rows[:p.size]
		cursor = schemas.EncodeCursor(p.binding, rows[p.size-1].at)
	}
	out := make([]W, len(rows))
	for i := range rows {
		out[i] = rows[i].row
	}
	return out, cursor, nil
}

// readOlder returns the rows of the mirror that memory released and that belong to the page.
func (p *deepPage[W]) readOlder(ctx context.Context, v *Venue, caller Caller, read func(context.Context, uint64, int) ([]placed[W], error)) ([]placed[W], error) {
	if err := caller.chargeDeepRead(); err != nil {
		return nil, err
	}
	if wait := v.History.Wait(p.seq); wait > 0 {
		return nil, historyBehind(wait)
	}
	below := p.released + 1
	if p.from != 0 {
		below = min(below, p.from)
	}
	inMemory := map[uint64]bool{}
	for _, at := range p.held {
		inMemory[at] = at < below
	}
	for _, r := range p.rows {
		inMemory[r.at] = r.at < below
	}
	older, err := read(ctx, below, p.size+1+len(inMemory))
	if err != nil {
		return nil, errors.Join(historyBehind(mirrorRetry), err)
	}
	return slices.DeleteFunc(older, func(r placed[W]) bool {
		_, held := inMemory[r.at]
		return held || r.at < p.low
	}), nil
}
