package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
)

// sector is the unit a disk writes or does not, in bytes.
const sector = 512

var errWholeGroupAfter = errors.New("a whole group stands behind it")

// tornTail judges what lies behind the last whole frame of the last segment, from
// off on. It gives the count of bytes to cut: 0 when all is zero. An error means
// that this is no torn tail but damage.
//
// The write that a crash may tear is one group, after everything before it was
// synced. Of that write some sectors arrived and some stayed zero, or the file
// ends early. So a tail is torn only if
//
//	no whole group stands in it, which a broken frame or envelope would leave, and
//	something is missing from it: the end of the file, the end byte, or a sector.
//
// Whatever else does not check is there in full and yet wrong: damage.
func tornTail(path string, off int64, next uint64) (int64, error) {
	rest, size, err := readTail(path, off)
	if err != nil || len(rest) == 0 {
		return 0, err
	}
	if g, at, ok := findWholeGroup(rest); ok && !(g.Number == next && lostFirstSector(rest, off, at, len(g.Body))) {
		return 0, errWholeGroupAfter
	}
	if !hasMissingSector(rest, off, size) {
		return 0, errors.New("neither whole nor torn")
	}
	return int64(len(rest)), nil
}

// readTail gives the bytes from off to the last that is not zero. Nearly always
// there is none: the file is zeros to its end, and they are not kept.
func readTail(path string, off int64) (rest []byte, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	buf := make([]byte, min(st.Size()-off, 1<<18))
	for at := off; at < st.Size(); {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), st.Size()-at)], at)
		if n == 0 {
			return nil, 0, err
		}
		if used := bytes.TrimRight(buf[:n], "\x00"); len(used) > 0 {
			zeros := at - off - int64(len(rest))
			rest = append(append(rest, make([]byte, zeros)...), used...)
		}
		at += int64(n)
	}
	return rest, st.Size(), nil
}

// findWholeGroup looks for a group that is whole by its own checksum.
func findWholeGroup(rest []byte) (g Group, at int, ok bool) {
	for {
		i := bytes.Index(rest[at:], recordMagic)
		if i < 0 {
			return g, 0, false
		}
		at += i
		if g, _, err := readRecord(rest[at:]); err == nil {
			return g, at, true
		}
		at++
	}
}

// lostFirstSector tells the one torn write that leaves its group whole: a sector that holds
// only the frame's length, or that and some of the wal's envelope, did not arrive,
// and all the others did. A length alone that a single flipped bit makes zero is
// not taken for it.
func lostFirstSector(rest []byte, off int64, at, body int) bool {
	lost := int(sector - off%sector)
	if lost > at || !allZero(rest[:lost]) {
		return false
	}
	n := at - 8 + recordHead + body + 1
	return lost > 8 || n%8 != 0 || bits.OnesCount(uint(n)) > 1
}

// hasMissingSector tells whether part of the frame at the start of rest never arrived. rest
// stands at off; beyond it the file, of size bytes, is zero.
func hasMissingSector(rest []byte, off, size int64) bool {
	var head [8]byte
	copy(head[:], rest)
	word := binary.LittleEndian.Uint64(head[:])
	if word == 0 {
		// Only a whole sector can be missing, so the rest of this one is zero too.
		return allZero(rest[:min(int64(len(rest)), sector-off%sector)])
	}
	n := int64(word << 8 >> 8)
	if off+8+n > size || n > int64(len(rest))-8 {
		return true // past the end of the file, or its last byte is zero
	}
	for at := int64(8); at < 8+n; {
		end := min(at+sector-(off+at)%sector, 8+n)
		if allZero(rest[at:end]) {
			return true
		}
		at = end
	}
	return false
}
