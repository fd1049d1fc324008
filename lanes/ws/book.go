package ws

import (
	"cmp"
	"slices"
	"strconv"

	"duplex/core"
	"duplex/schemas"
)

// book is the mirror of one market's book, folded from what followers are told. It
// saves asking the engine, whose lock the sequencer needs.
type book struct {
	schemas.WSBook
	snapshot *frame // of the book as it is; nil when it changed
	stamped  *frame // the same, as of a later seq
}

// set brings one level to its new total.
func (b *book) set(side *[]schemas.Level, tick, qty int64) {
	b.snapshot = nil
	i, there := slices.BinarySearchFunc(*side, tick, func(l schemas.Level, t int64) int { return cmp.Compare(t, l[0]) })
	switch {
	case there && qty == 0:
		*side = slices.Delete(*side, i, i+1)
	case there:
		(*side)[i][1] = qty
	case qty != 0:
		*side = slices.Insert(*side, i, schemas.Level{tick, qty})
	}
}

// reset begins a new life of the slot.
func (b *book) reset(r *core.Round, g core.Grid) {
	b.WSBook = schemas.WSBook{
		MarketID: uint32(r.Market), Generation: r.Generation, RoundNumber: schemas.U64(r.Number), TickSize: schemas.TickSizeOf(g),
		Yes: b.Yes[:0], No: b.No[:0],
	}
	b.snapshot = nil
}

// frame is the snapshot of the book, as of seq if it changed since the last.
func (b *book) frame(seq uint64) *frame {
	if b.snapshot == nil {
		b.snapshot = frameOf(snapshots, "orderbook_snapshot", core.MarketID(b.MarketID), seq, &b.WSBook)
	}
	return b.snapshot
}

// now is the snapshot for one who asks: as of seq, also where the book has not changed
// for long.
func (b *book) now(seq uint64) *frame {
	f := b.frame(seq)
	if f.seq == seq {
		return f
	}
	if b.stamped == nil || b.stamped.seq != seq {
		b.stamped = f.asOf(seq)
	}
	return b.stamped
}

// delta collects what one command changed in one book: `{market_id, generation,
// changes}`, encoded as it comes.
type delta struct {
	f    *frame
	body []byte
}

// level folds a change of a level into its book, and into the command's delta.
func (l *Lane) level(seq uint64, e *core.LevelChanged) {
	b := l.books[e.Market]
	side, outcome, tick := &b.Yes, "yes", e.Tick
	if !e.Bid {
		side, outcome, tick = &b.No, "no", e.Tick.Opposite()
	}
	b.set(side, int64(tick), int64(e.Qty))
	l.phase.soil(e.Market)
	if !l.topics.read(deltas, e.Market) {
		return
	}
	d := l.deltaOf(seq, e.Market, e.Generation)
	d.body = append(append(append(d.body, `{"outcome":"`...), outcome...), `","tick":`...)
	d.body = strconv.AppendInt(d.body, int64(tick), 10)
	d.body = strconv.AppendInt(append(d.body, `,"delta":`...), int64(e.Delta), 10)
	d.body = strconv.AppendInt(append(d.body, `,"qty":`...), int64(e.Qty), 10)
	d.body = append(d.body, '}', ',')
}

func (l *Lane) deltaOf(seq uint64, m core.MarketID, generation uint32) *delta {
	for i := range l.changes {
		if l.changes[i].f.market == m {
			return &l.changes[i]
		}
	}
	f := newFrame(deltas, "orderbook_delta", m, seq)
	b := strconv.AppendUint(append(f.body, `{"market_id":`...), uint64(m), 10)
	b = strconv.AppendUint(append(b, `,"generation":`...), uint64(generation), 10)
	l.changes = append(l.changes, delta{f, append(b, `,"changes":[`...)})
	return &l.changes[len(l.changes)-1]
}

// flush publishes the deltas of a command, one frame per market.
func (l *Lane) flush() {
	for i := range l.changes {
		d := &l.changes[i]
		d.body[len(d.body)-1] = ']' // for the last comma
		l.publish(d.f.close(append(d.body, '}')))
		*d = delta{}
	}
	l.changes = l.changes[:0]
}
