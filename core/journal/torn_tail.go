package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
)

// sector is the unit that a disk writes as a whole or not at all, in bytes.
const sector = 512

var (
	errWholeGroupAfter = errors.New("a complete group follows it")
	errNotTorn         = errors.New("it is complete and does not verify")
)

// tornTail judges the bytes from off to the end of the last segment, which follow the last
// frame that verifies. It returns the number of bytes to cut, 0 if all of them are zero. An
// error means that they are damage and not a torn write; bad has the bytes on which that depends,
// nil if they cannot be read.
//
// A crash can tear one write only, that of one group: everything before it was synced. Of the
// torn write some sectors are on disk and the others are zero, or the file ends early. So the
// bytes are a torn tail only if
//
//	they contain no complete group; a damaged frame or envelope would leave one, and
//	part of the write is missing: the end of the file, the end byte, or a sector.
//
// Anything else was written completely and does not verify: damage.
func tornTail(path string, off int64, next uint64) (cut int64, bad []byte, err error) {
	rest, size, err := readTail(path, off)
	if err != nil || len(rest) == 0 {
		return 0, nil, err
	}
	if g, at, ok := findWholeGroup(rest); ok && !(g.Number == next && lostFirstSector(rest, off, at, len(g.Body))) {
		return 0, rest[:at], errWholeGroupAfter
	}
	if !hasMissingSector(rest, off, size) {
		return 0, rest, errNotTorn
	}
	return int64(len(rest)), nil, nil
}

// zeros are compared with what follows the last frame.
var zeros [1 << 18]byte

// readTail returns the bytes from off up to the last one that is not zero, and the size of the
// file. Nearly always the file is zeros from off to its end, and rest is empty.
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
	buf := make([]byte, min(st.Size()-off, int64(len(zeros))))
	for at := off; at < st.Size(); {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), st.Size()-at)], at)
		if n == 0 {
			return nil, 0, err
		}
		if !bytes.Equal(buf[:n], zeros[:n]) { // TrimRight alone looks at one byte at a time, of up to 64 MB
			before := at - off - int64(len(rest))
			rest = append(append(rest, make([]byte, before)...), bytes.TrimRight(buf[:n], "\x00")...)
		}
		at += int64(n)
	}
	return rest, st.Size(), nil
}

// findWholeGroup searches for a record that is complete by its own checksum.
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

// lostFirstSector recognizes the one torn write that leaves its group complete: every sector
// is on disk except the first, which holds only the frame's length and perhaps part of the
// envelope. It excludes a length word that a single bit flip would turn to zero. rest begins
// at offset off of the file, the record at index at of rest; body is its body's length.
func lostFirstSector(rest []byte, off int64, at, body int) bool {
	lost := int(sector - off%sector)
	if lost > at || !allZero(rest[:lost]) {
		return false
	}
	n := at - 8 + recordHead + body + 1
	return lost > 8 || n%8 != 0 || bits.OnesCount(uint(n)) > 1
}

// hasMissingSector reports whether part of the frame at the start of rest was never written.
// rest begins at offset off of a file of size bytes, which is zero after rest.
func hasMissingSector(rest []byte, off, size int64) bool {
	var head [8]byte
	copy(head[:], rest)
	word := binary.LittleEndian.Uint64(head[:])
	if word == 0 {
		// Only whole sectors can be missing: the rest of this one must be zero too.
		return allZero(rest[:min(int64(len(rest)), sector-off%sector)])
	}
	n := int64(word << 8 >> 8)
	if off+8+n > size || n > int64(len(rest))-8 {
		return true // the file ends within the frame, or the frame's last byte is zero
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
