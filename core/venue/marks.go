package venue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"duplex/core"
)

// marks are the marks of the commands of the last core.MarkKeptMs, in the order of their seqs
// (docs/rules/accounts.md#marks). Before core.RevisionMembers there are none. They are kept in
// chunks. A chunk is only ever appended to and cut at its front, so an Image shares the bytes that
// it has.
type marks struct {
	chunks [][]markRecord
	n      int
	seqs   map[core.Mark]uint64
}

// markRecord is a mark that is kept, and the stamp of its command.
type markRecord struct {
	mark core.Mark
	at   core.Stamp
}

// marksInChunk is the greatest length of a chunk.
const marksInChunk = 4096

func (m *marks) add(mark core.Mark, at core.Stamp) {
	last := len(m.chunks) - 1
	if last < 0 || len(m.chunks[last]) == marksInChunk {
		m.chunks = append(m.chunks, nil)
		last++
	}
	m.chunks[last] = append(m.chunks[last], markRecord{mark, at})
	if m.seqs == nil {
		m.seqs = map[core.Mark]uint64{}
	}
	m.seqs[mark] = at.Seq
	m.n++
}

// forget forgets the marks that are no longer kept at ts.
func (m *marks) forget(ts int64) {
	for m.n > 0 && !kept(m.chunks[0][0].at.Ts, ts) {
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
	return m.n >= core.MarksMax && kept(m.chunks[0][0].at.Ts, ts)
}

// kept reports whether the mark of a command with the stamp from is kept at ts. It counts whole
// milliseconds, as Judge does, so that no mark is forgotten before the same bytes are late.
func kept(from, ts int64) bool { return ts/core.NsPerMs-from/core.NsPerMs <= core.MarkKeptMs }

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
	if age := ts/core.NsPerMs - c.SignedAt; age > core.MarkLateMs || age < -core.MarkAheadMs {
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
	v.marks.add(c.Mark, v.now)
	return v.apply(c.Command)
}

// markBytes is the length of an encoded markRecord.
const markBytes = 32

// encodeMarks appends records in the encoding of the state.
func encodeMarks(dst []byte, list []markRecord) []byte {
	for i := range list {
		dst = append(dst, list[i].mark[:]...)
		dst = binary.BigEndian.AppendUint64(dst, list[i].at.Seq)
		dst = binary.BigEndian.AppendUint64(dst, uint64(list[i].at.Ts))
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
			mark := core.Mark(b)
			at := core.Stamp{Seq: binary.BigEndian.Uint64(b[16:]), Ts: int64(binary.BigEndian.Uint64(b[24:]))}
			if _, twice := v.marks.seqs[mark]; twice {
				return fmt.Errorf("the mark %x is kept twice", mark)
			}
			v.marks.add(mark, at)
		}
	}
	return nil
}
