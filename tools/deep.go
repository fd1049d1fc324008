package tools

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// History has the rows that memory no longer keeps; *mirror.Mirror is one.
type History interface {
	Written() (seq uint64, stamp int64) // of the last command whose rows it has, and of its group, in ns
	Since() (seq uint64, ok bool)
	Complete() bool // no other node has rows from before Since
	Lag() time.Duration

	Fills(ctx context.Context, u core.UserID, from uint64, limit int, f history.FillFilter) ([]history.Numbered[view.Fill], error)
	Orders(ctx context.Context, u core.UserID, from uint64, limit int, f history.OrderFilter) ([]view.Order, error)
	Order(ctx context.Context, u core.UserID, id core.OrderID) (*view.Order, error)
	Trades(ctx context.Context, market core.MarketID, from uint64, limit int, f history.TradeFilter) ([]history.Numbered[view.Trade], error)
	Settlements(ctx context.Context, u core.UserID, from uint64, limit int, f history.SettlementFilter) ([]history.Numbered[view.Settlement], error)
	Ledger(ctx context.Context, u core.UserID, from uint64, limit int, f history.LedgerFilter) ([]view.LedgerRow, error)
	Forecasts(ctx context.Context, u core.UserID, from uint64, limit int, asOf uint64, f history.ForecastFilter) ([]view.Forecast, error)
	AccountRounds(ctx context.Context, u core.UserID, from uint64, limit int, f history.AccountRoundFilter) ([]view.AccountRound, error)
	PriceTicks(ctx context.Context, f core.Feed, first, before int64, limit int) ([]view.PriceTick, error)
	RoundSeconds(ctx context.Context, number uint64, first, before int64, limit int) ([]view.RoundSecond, error)
	Rounds(ctx context.Context, from uint64, limit int, f history.RoundFilter) ([]view.Round, error)
	Round(ctx context.Context, market core.MarketID, number uint64) (*view.Round, error)
	Actions(ctx context.Context, from uint64, limit int, f history.ActionFilter) ([]view.Action, error)
}

// deepList is a list whose older rows memory no longer keeps. A row has a position, which never
// changes, and rows come in the order of falling positions
// (docs/rules/history.md#reads-beyond-memory).
type deepList[R, W any] struct {
	// memory returns an iterator over the rows of memory below a position (0: all), and which
	// rows memory has released.
	memory func(m *venue.Venue, w *view.View) (walk func(from uint64) iter.Seq2[uint64, R], released view.Released, err error)
	keep   func(R) bool
	// past reports whether neither a row nor any below can belong to the list; nil: never.
	past func(R) bool
	show func(R) W
	// mirror returns up to limit rows of the mirror that keep accepts, below a position, newest
	// first, with a history.Cut if it did not look at the rows below. at returns the position of such
	// a row.
	mirror func(ctx context.Context, below uint64, limit int) ([]R, error)
	at     func(R) uint64

	// beyond is set by page if rows that memory has released can belong to it.
	beyond bool
}

// page returns one page of the list and its end. It reads the mirror only if rows that memory has
// released can belong to the page; that costs DeepReadTokens more. If the mirror is behind or fails,
// the page has the rows of memory down to the first that memory has released. The error is
// bad_cursor, rate_limited, history_behind if there are none, or one of memory.
func (l *deepList[R, W]) page(ctx context.Context, v *Venue, caller Caller, route string, in pager) (rows []W, end schemas.PageEnd, err error) {
	p, err := l.open(v, caller, route, in)
	if err != nil {
		return nil, end, err
	}
	v.Engine.Read(func(m *venue.Venue, w *view.View) {
		end.AsOf = asOf(m)
		var walk func(uint64) iter.Seq2[uint64, R]
		if walk, p.released, err = l.memory(m, w); err == nil {
			p.take(walk)
		}
	})
	if err != nil {
		return nil, end, err
	}
	end.Cursor, err = p.finish(ctx, v, caller)
	return p.rows, end, err
}

// open begins a page.
func (l *deepList[R, W]) open(v *Venue, caller Caller, route string, in pager) (*deepPage[R, W], error) {
	p := &deepPage[R, W]{deepList: l, binding: v.BindCursor(route, caller, in), size: in.Size()}
	if c := in.After(); c != "" {
		if f := schemas.DecodeCursor(p.binding, c, &p.from); f != nil {
			return nil, f
		}
		p.ended = p.from == 0
	}
	return p, nil
}

// deepPage is a page that is being filled.
type deepPage[R, W any] struct {
	*deepList[R, W]
	binding schemas.CursorBinding
	size    int
	from    uint64 // the page has only rows below; 0: no bound
	ended   bool   // the cursor is at the end of the list

	rows      []W // at most size
	positions []uint64
	more      bool     // there are more rows than these
	held      []uint64 // positions of rows of memory that are not in rows
	cut       uint64   // rows below were not looked at; 0: none
	low       uint64   // every row of memory below is older than the page; 0: memory had no more
	released  view.Released
}

// take fills the page with rows of memory.
func (p *deepPage[R, W]) take(walk func(from uint64) iter.Seq2[uint64, R]) {
	p.rows = make([]W, 0, min(p.size, schemas.PageDefault))
	if p.ended {
		return
	}
	for at, r := range walk(p.from) {
		if p.past != nil && p.past(r) {
			p.low = at
			return
		}
		if !p.keep(r) {
			p.held = append(p.held, at)
			continue
		}
		if len(p.rows) == p.size {
			p.more, p.low = true, at
			p.held = append(p.held, at)
			return
		}
		p.rows, p.positions = append(p.rows, p.show(r)), append(p.positions, at)
	}
}

// finish completes the page and returns the cursor of the next one.
func (p *deepPage[R, W]) finish(ctx context.Context, v *Venue, caller Caller) (cursor string, err error) {
	if v.History != nil && !p.ended && p.released.Newest > p.low {
		p.beyond = true
		if known := p.known(); known > 0 && known == p.size {
			p.more = true // there can be, which only the mirror knows
		} else if err := p.addOlder(ctx, v, caller); ErrorOf(err).Code == "history_behind" && known > 0 {
			p.rows, p.positions, p.more, p.cut = p.rows[:known], p.positions[:known], false, p.released.Newest+1
		} else if err != nil {
			return "", err
		}
	}
	switch {
	case p.more:
		cursor = schemas.EncodeCursor(p.binding, p.positions[len(p.positions)-1])
	case p.cut != 0:
		cursor = schemas.EncodeCursor(p.binding, p.cut)
	}
	return cursor, nil
}

// known returns the number of rows of the page, all from memory, above those that memory has released.
func (p *deepPage[R, W]) known() (n int) {
	for n < len(p.positions) && p.positions[n] > p.released.Newest {
		n++
	}
	return n
}

// addOlder adds the rows of the mirror that memory has released and that belong to the page.
func (p *deepPage[R, W]) addOlder(ctx context.Context, v *Venue, caller Caller) error {
	below := p.released.Newest + 1
	if p.from != 0 {
		below = min(below, p.from)
	}
	inMemory := make(map[uint64]bool, len(p.held)+len(p.positions))
	for _, list := range [][]uint64{p.held, p.positions} {
		for _, at := range list {
			if at < below {
				inMemory[at] = true
			}
		}
	}
	return v.readHistory(caller, v.mirrorHas(p.released.Seq), func() error {
		older, err := p.mirror(ctx, below, p.size+1+len(inMemory))
		if cut := (*history.Cut)(nil); errors.As(err, &cut) {
			p.cut, err = cut.Below, nil
		}
		if err == nil {
			p.merge(older, inMemory)
		}
		return err
	})
}

// merge merges rows of the mirror, newest first, into the page. Where memory has a row, that counts.
func (p *deepPage[R, W]) merge(older []R, inMemory map[uint64]bool) {
	rows, positions := p.rows, p.positions
	p.rows, p.positions = make([]W, 0, p.size), make([]uint64, 0, p.size)
	add := func(at uint64, row func() W) {
		if len(p.rows) == p.size {
			p.more = true
			return
		}
		p.rows, p.positions = append(p.rows, row()), append(p.positions, at)
	}
	i := 0
	for _, r := range older {
		at := p.at(r)
		if inMemory[at] || at < p.low {
			continue
		}
		for ; i < len(rows) && positions[i] > at; i++ {
			add(positions[i], func() W { return rows[i] })
		}
		add(at, func() W { return p.show(r) })
	}
	for ; i < len(rows) && positions[i] >= p.cut; i++ { // with a cut, the rows in between are not known
		add(positions[i], func() W { return rows[i] })
	}
	if i < len(rows) {
		p.more = len(p.rows) == p.size
	}
}

// readHistory calls read, which reads the mirror, after it has made sure that the mirror need not be
// waited for, and has taken its tokens. An error of read is history_behind, and so is every read while
// another node has older rows, which it could need. Without a mirror it does nothing.
func (v *Venue) readHistory(caller Caller, until func() time.Duration, read func() error) error {
	if v.History == nil {
		return nil
	}
	if wait := until(); wait > 0 {
		return historyBehind(wait)
	}
	if !v.History.Complete() {
		return historyBehind(mirrorRetry)
	}
	if err := caller.chargeDeepRead(); err != nil {
		return err
	}
	if err := read(); err != nil {
		return errors.Join(historyBehind(mirrorRetry), err)
	}
	return nil
}

// mirrorHas returns a function that returns how long the mirror is likely to need until it has every
// row up to seq: 0 if it has them.
func (v *Venue) mirrorHas(seq uint64) func() time.Duration {
	return func() time.Duration {
		if at, _ := v.History.Written(); at >= seq {
			return 0
		}
		return max(minMirrorWait, v.History.Lag())
	}
}

// mirrorHasUntil is mirrorHas for the rows of commands with a stamp below ts, in ns.
func (v *Venue) mirrorHasUntil(ts int64) func() time.Duration {
	return func() time.Duration {
		if _, stamp := v.History.Written(); stamp >= ts {
			return 0
		}
		return max(minMirrorWait, v.History.Lag())
	}
}

const (
	// minMirrorWait is the least wait that history_behind names: the time between two commits of
	// the mirror.
	minMirrorWait = 50 * time.Millisecond
	// mirrorRetry is the wait that it names when the mirror does not answer.
	mirrorRetry = time.Second
)

// historyBehind returns history_behind with a wait, rounded up to ms.
func historyBehind(wait time.Duration) error {
	return Error{schemas.HistoryBehind(int64((wait + time.Millisecond - 1) / time.Millisecond))}
}

func numberOf[T any](x history.Numbered[T]) uint64 { return x.N }

// withNumbers pairs the rows of memory with their numbers.
func withNumbers[T any](rows iter.Seq2[uint64, *T]) iter.Seq2[uint64, history.Numbered[T]] {
	return func(yield func(uint64, history.Numbered[T]) bool) {
		for n, x := range rows {
			if !yield(n, history.Numbered[T]{N: n, Row: *x}) {
				return
			}
		}
	}
}

func pointers[T any](rows []T) []*T {
	out := make([]*T, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// spanOf converts the time range of a request.
func spanOf(r schemas.TimeRange) history.Span {
	s := history.Span{From: r.FromTs.Int64()}
	if r.ToTs != nil {
		s.To = max(1, r.ToTs.Int64()) // no row has a stamp below 1, and 0 is no bound
	}
	return s
}

// matchesRound reports whether a row of a round is in a list that the number of a round may filter.
func matchesRound(filter *schemas.U64, number uint64) bool {
	return filter == nil || uint64(*filter) == number
}

// marketFilter, categoryFilter and namesOf convert filters of a request to those of the mirror.
func marketFilter(in *schemas.Int) *core.MarketID {
	if in == nil {
		return nil
	}
	return schemas.Ptr(marketID(*in))
}

func categoryFilter(in *schemas.Int) *uint16 {
	if in == nil {
		return nil
	}
	return schemas.Ptr(uint16(*in))
}

func namesOf(filter string) []string {
	if filter == "" {
		return nil
	}
	names := strings.Split(filter, ",")
	slices.Sort(names) // without repeats, since the mirror keeps a statement for each number of names
	return slices.Compact(names)
}
