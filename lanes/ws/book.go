package ws

import (
	"cmp"
	"slices"
	"strconv"

	"duplex/core"
	"duplex/schemas"
)

// book mirrors one market's book, built from the engine's events. Snapshots come from the
// mirror because a read of the engine would take a lock that the sequencer needs.
type book struct {
	schemas.WSBook
	snapshot  *frame // the encoded book; nil after a change
	restamped *frame // snapshot with a later stamp
}

// setLevel sets the quantity at a tick. A quantity of 0 removes the level.
func (b *book) setLevel(side *[]schemas.Level, tick, qty int64) {
	b.snapshot = nil
	i, found := slices.BinarySearchFunc(*side, tick, func(l schemas.Level, t int64) int { return cmp.Compare(t, l[0]) })
	switch {
	case found && qty == 0:
		*side = slices.Delete(*side, i, i+1)
	case found:
		(*side)[i][1] = qty
	case qty != 0:
		*side = slices.Insert(*side, i, schemas.Level{tick, qty})
	}
}

// reset empties the book for a new generation of its slot.
func (b *book) reset(r *core.Round, g core.Grid) {
	b.WSBook = schemas.WSBook{
		MarketID: uint32(r.Market), Generation: r.Generation, RoundNumber: schemas.U64(r.Number), TickSize: schemas.TickSizeOf(g),
		Yes: b.Yes[:0], No: b.No[:0],
	}
	b.snapshot = nil
}

// frame returns the snapshot of the book. If the book has not changed since the previous
// snapshot, it returns that one, with its earlier stamp.
func (b *book) frame(at core.Stamp) *frame {
	if b.snapshot == nil {
		b.Ts = schemas.U64(at.Ts)
		b.snapshot = frameOf(snapshots, "orderbook_snapshot", core.MarketID(b.MarketID), at.Seq, &b.WSBook)
	}
	return b.snapshot
}

// frameAsOf returns the snapshot of the book with the given stamp, even if the book has not
// changed since an earlier one.
func (b *book) frameAsOf(at core.Stamp) *frame {
	f := b.frame(at)
	if f.seq == at.Seq {
		return f
	}
	if b.restamped == nil || b.restamped.seq != at.Seq {
		b.restamped = f.asOf(at)
	}
	return b.restamped
}

// delta collects the changes of one command in one book, `{market_id, generation, changes, ts}`.
// Each change is encoded as it is added.
type delta struct {
	f    *frame
	body []byte
	ts   int64
}

// publishLevel applies a level change to its book and adds it to the command's delta.
func (l *Lane) publishLevel(at core.Stamp, e *core.LevelChanged) {
	b := l.books[e.Market]
	side, outcome, tick := &b.Yes, "yes", e.Tick
	if !e.Bid {
		side, outcome, tick = &b.No, "no", e.Tick.Opposite()
	}
	b.setLevel(side, int64(tick), int64(e.Qty))
	l.snapshotSchedule.setDirty(e.Market)
	if !l.topics.hasReaders(deltas, e.Market) {
		return
	}
	d := l.deltaOf(at, e.Market, e.Generation)
	d.body = append(append(append(d.body, `{"outcome":"`...), outcome...), `","tick":`...)
	d.body = strconv.AppendInt(d.body, int64(tick), 10)
	d.body = strconv.AppendInt(append(d.body, `,"delta":`...), int64(e.Delta), 10)
	d.body = strconv.AppendInt(append(d.body, `,"qty":`...), int64(e.Qty), 10)
	d.body = append(d.body, '}', ',')
}

func (l *Lane) deltaOf(at core.Stamp, m core.MarketID, generation uint32) *delta {
	for i := range l.deltas {
		if l.deltas[i].f.market == m {
			return &l.deltas[i]
		}
	}
	f := newFrame(deltas, "orderbook_delta", m, at.Seq)
	b := strconv.AppendUint(append(f.body, `{"market_id":`...), uint64(m), 10)
	b = strconv.AppendUint(append(b, `,"generation":`...), uint64(generation), 10)
	l.deltas = append(l.deltas, delta{f, append(b, `,"changes":[`...), at.Ts})
	return &l.deltas[len(l.deltas)-1]
}

// flush publishes the deltas of the current command, one frame per market.
func (l *Lane) flush() {
	for i := range l.deltas {
		d := &l.deltas[i]
		d.body[len(d.body)-1] = ']' // replaces the last comma
		l.publish(d.f.closeBook(d.body, d.ts))
		*d = delta{}
	}
	l.deltas = l.deltas[:0]
}
