package venue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"duplex/core"
)

// marks are marks in the order of their seqs, from the first whose bytes are not late yet
// (docs/rules/accounts.md#marks). They are kept in
// chunks. A chunk is only ever appended to and cut at its front, so an Image shares the bytes that
// it has.
type marks struct {
	chunks [][]markRecord
	n      int
	seqs   map[core.Mark]uint64
}

// markRecord is a mark that is kept, with the seq of its command.
type markRecord struct {
	mark     core.Mark
	seq      uint64
	signedAt int64 // ms since the Unix epoch
}

// marksInChunk is the greatest length of a chunk.
const marksInChunk = 4096

func (m *marks) add(r markRecord) {
	last := len(m.chunks) - 1
	if last < 0 || len(m.chunks[last]) == marksInChunk {
		m.chunks = append(m.chunks, nil)
		last++
	}
	m.chunks[last] = append(m.chunks[last], r)
	if m.seqs == nil {
		m.seqs = map[core.Mark]uint64{}
	}
	m.seqs[r.mark] = r.seq
	m.n++
}

// forget forgets the marks before the first one that is not late at ts. Those behind it wait for it, at
// most core.MarkAheadMs+core.MarkLateMs after their own stamp.
func (m *marks) forget(ts int64) {
	for m.n > 0 && late(m.chunks[0][0].signedAt, ts) {
		first := m.chunks[0]
		delete(m.seqs, first[0].mark)
		if m.n--; len(first) > 1 {
			m.chunks[0] = first[1:]
		} else {
			m.chunks = slices.Delete(m.chunks, 0, 1)
		}
	}
}

// full reports whether there is no room for a mark at ts.
func (m *marks) full(ts int64) bool {
	return m.n >= core.MarksMax && !late(m.chunks[0][0].signedAt, ts)
}

// late reports whether bytes signed at a time in ms are late at the stamp ts, which is counted in whole ms.
func late(signedAt, ts int64) bool { return ts/core.NsPerMs-signedAt > core.MarkLateMs }

// Judgment says whether a command takes a seq and has an effect.
type Judgment uint8

const (
	Effective    Judgment = iota
	Unauthorized          // its key is revoked
	Late                  // signed too long before the stamp or after it, or there are too many marks
	Repeated              // a command with its mark took a seq before
)

// Judge judges a command that would get the stamp ts. first is the seq of the first command of a
// repeat. The engine applies no command that is not effective (docs/rules/accounts.md#revocation,
// docs/rules/accounts.md#marks).
func (v *Venue) Judge(cmd core.Command, ts int64) (j Judgment, first uint64) {
	if !v.Authorized(cmd) {
		return Unauthorized, 0
	}
	c, ok := cmd.(*core.Marked)
	if !ok {
		return Effective, 0
	}
	if late(c.SignedAt, ts) || c.SignedAt-ts/core.NsPerMs > core.MarkAheadMs {
		return Late, 0
	}
	if seq, ok := v.marks.seqs[c.Mark]; ok {
		return Repeated, seq
	}
	if v.marks.full(ts) {
		return Late, 0
	}
	return Effective, 0
}

// MarkCount returns how many marks are kept.
func (v *Venue) MarkCount() int { return v.marks.n }

// Marks yields the marks that are kept, the oldest first.
func (v *Venue) Marks() iter.Seq[core.Mark] {
	return func(yield func(core.Mark) bool) {
		for _, c := range v.marks.chunks {
			for i := range c {
				if !yield(c[i].mark) {
					return
				}
			}
		}
	}
}

// applyMarked applies a marked command and keeps its mark.
func (v *Venue) applyMarked(c *core.Marked) core.Reject {
	if _, known := v.marks.seqs[c.Mark]; known {
		panic(core.InvariantViolation{Detail: "a mark was used twice"})
	}
	v.marks.add(markRecord{c.Mark, v.now.Seq, c.SignedAt})
	return v.apply(c.Command)
}

// markBytes is the length of an encoded markRecord.
const markBytes = 32

// encodeMarks appends records in the encoding of the state.
func encodeMarks(dst []byte, list []markRecord) []byte {
	for i := range list {
		dst = append(dst, list[i].mark[:]...)
		dst = binary.BigEndian.AppendUint64(dst, list[i].seq)
		dst = binary.BigEndian.AppendUint64(dst, uint64(list[i].signedAt))
	}
	return dst
}

// marks yields the marks in byte strings of marksInChunk marks, however the venue keeps them.
func (x *pieceWriter) marks(m *Image) {
	n := 0
	for _, c := range m.marks {
		n += len(c)
	}
	if !x.begin((n + marksInChunk - 1) / marksInChunk) {
		return
	}
	b, held := make([]byte, 0, marksInChunk*markBytes), 0
	for _, c := range m.marks {
		for len(c) > 0 {
			more := min(len(c), marksInChunk-held)
			b, c, held = encodeMarks(b, c[:more]), c[more:], held+more
			if n -= more; held == marksInChunk || n == 0 {
				if !x.values(b) {
					return
				}
				b, held = b[:0], 0
			}
		}
	}
}

// restoreMarks restores the marks of an encoded state.
func (v *Venue) restoreMarks(list [][]byte) error {
	for _, b := range list {
		if len(b)%markBytes != 0 {
			return errors.New("a mark is cut short")
		}
		for ; len(b) > 0; b = b[markBytes:] {
			r := markRecord{core.Mark(b), binary.BigEndian.Uint64(b[16:]), int64(binary.BigEndian.Uint64(b[24:]))}
			if _, twice := v.marks.seqs[r.mark]; twice {
				return fmt.Errorf("the mark %x is kept twice", r.mark)
			}
			v.marks.add(r)
		}
	}
	return nil
}
