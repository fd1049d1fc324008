package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// The file of a snapshot of version 1, which is still read and no longer written. Its first 64
// bytes are those of version 2:
//
//	 64  state     32 bytes
//	 96  length    u64, of the body
//	104  sum       SHA-256 of all before, 32 bytes
//	136  body
//	  +  sum       SHA-256 of all before, 32 bytes
const (
	oldHead = 104
	oldBody = oldHead + sha256.Size
)

// readOld reads the rest of the file, whose first bytes are b.
func (r *SnapshotReader) readOld(b []byte) error {
	rest, err := io.ReadAll(r.in)
	if err != nil {
		return err
	}
	off, err := r.decodeOld(append(b, rest...))
	if err != nil {
		return r.damage(off, err)
	}
	r.off, r.ended = r.s.Bytes, true
	return nil
}

// decodeOld verifies a file of version 1. With an error it returns the offset of the damage. The
// body shares memory with b.
func (r *SnapshotReader) decodeOld(b []byte) (off int64, err error) {
	switch {
	case len(b) < oldBody+sha256.Size:
		return int64(len(b)), errShort
	case sha256.Sum256(b[:oldHead]) != [32]byte(b[oldHead:oldBody]):
		return 0, errChecksum
	}
	end := len(b) - sha256.Size
	if n := binary.LittleEndian.Uint64(b[96:]); n != uint64(end-oldBody) {
		return 96, fmt.Errorf("the body has %d bytes, want %d", end-oldBody, n)
	}
	if sha256.Sum256(b[:end]) != [32]byte(b[end:]) {
		return oldBody, errChecksum
	}
	r.s.readHead(b)
	r.s.StateHash = [32]byte(b[64:])
	r.old = b[oldBody:end:end]
	return 0, nil
}
