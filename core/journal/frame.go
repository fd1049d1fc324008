package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"google.golang.org/protobuf/encoding/protowire"
)

var (
	errHole     = errors.New("zeros in place of a frame")
	errFrame    = errors.New("impossible length of a frame")
	errPastEnd  = errors.New("frame runs past the end of the file")
	errPadding  = errors.New("padding is not zero")
	errEnvelope = errors.New("malformed envelope of a record")
)

// frameMax is the length of the longest WAL record that this package writes, in bytes.
const frameMax = recordMax + 64

// frame is one record of the WAL in its file.
type frame struct {
	off, end int64  // offsets of its length word and of the byte after its padding
	raw      []byte // its bytes in the file; the padding of a file's last frame may be missing
	kind     int64  // wal.EntryType and so on
	crc      uint32
	data     []byte
}

// frames reads the frames of one segment in order and verifies the running CRC of the WAL.
type frames struct {
	seg  segment
	f    *os.File
	r    *bufio.Reader
	size int64
	off  int64
	crc  uint32
}

func openFrames(seg segment) (*frames, error) {
	f, err := os.Open(seg.path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &frames{seg: seg, f: f, r: bufio.NewReaderSize(f, int(min(st.Size(), 1<<18))), size: st.Size()}, nil
}

func (fs *frames) close() { fs.f.Close() }

// again reads the frame at fs.off from the file and not from the buffer, which may have bytes of
// before it was written.
func (fs *frames) again() (frame, error) {
	st, err := fs.f.Stat()
	if err == nil {
		_, err = fs.f.Seek(fs.off, io.SeekStart)
	}
	if err != nil {
		return frame{}, err
	}
	fs.size = max(st.Size(), fs.off)
	fs.r.Reset(fs.f)
	return fs.next()
}

// next reads one frame. io.EOF means that the file ends between two frames, errHole that the
// length word is zero. Any other error is of the frame at fs.off.
func (fs *frames) next() (frame, error) {
	fr := frame{off: fs.off}
	if fs.off == fs.size {
		return fr, io.EOF
	}
	if fs.size-fs.off < 8 {
		return fr, errPastEnd
	}
	var head [8]byte
	if _, err := io.ReadFull(fs.r, head[:]); err != nil {
		return fr, err
	}
	n, pad, err := frameLength(head)
	if err != nil {
		return fr, err
	}
	if fs.off+8+n > fs.size {
		return fr, errPastEnd
	}
	// Without the padding of the file's last frame the record is still complete.
	fr.raw = make([]byte, min(8+n+pad, fs.size-fs.off))
	copy(fr.raw, head[:])
	data := fr.raw[8:]
	if _, err := io.ReadFull(fs.r, data); err != nil {
		return fr, err
	}
	if !allZero(data[n:]) {
		return fr, errPadding
	}
	fr.end = fs.off + 8 + n + pad
	if err := fr.open(data[:n]); err != nil {
		return fr, err
	}
	if err := fs.check(&fr); err != nil {
		return fr, err
	}
	fs.off = min(fr.end, fs.size)
	return fr, nil
}

// frameLength splits the length word of a frame: 56 bits of length, and in the top byte 0x80
// plus the number of padding bytes, or 0 if there are none.
func frameLength(head [8]byte) (n, pad int64, err error) {
	word := binary.LittleEndian.Uint64(head[:])
	if word == 0 {
		return 0, 0, errHole
	}
	n, top := int64(word<<8>>8), byte(word>>56)
	pad = (8 - n%8) % 8
	if n == 0 || n > frameMax || pad == 0 && top != 0 || pad != 0 && top != 0x80|byte(pad) {
		return 0, 0, errFrame
	}
	return n, pad, nil
}

// open reads the envelope of the WAL: type, CRC and, unless it is empty, data, each once and
// in this order.
func (fr *frame) open(b []byte) error {
	kind, n := varintField(b, 1)
	if n < 0 {
		return errEnvelope
	}
	b = b[n:]
	crc, n := varintField(b, 2)
	if n < 0 || crc > 1<<32-1 {
		return errEnvelope
	}
	b = b[n:]
	fr.kind, fr.crc = int64(kind), uint32(crc)
	if len(b) == 0 {
		return nil
	}
	data, n := bytesField(b, 3)
	if n != len(b) {
		return errEnvelope
	}
	fr.data = data
	return nil
}

// check verifies the running CRC. A CRC record begins a segment with the sum of the segment
// before it; the scanner verifies that sum.
func (fs *frames) check(fr *frame) error {
	if fr.kind == wal.CrcType {
		if len(fr.data) != 0 {
			return errEnvelope
		}
		fs.crc = fr.crc
		return nil
	}
	sum := crc32.Update(fs.crc, castagnoli, fr.data)
	if sum != fr.crc {
		return errChecksum
	}
	fs.crc = sum
	return nil
}

// varintField reads field num from the start of b, with n its length; n is -1 if the next
// field is another.
func varintField(b []byte, num protowire.Number) (v uint64, n int) {
	got, typ, n := protowire.ConsumeTag(b)
	if n < 0 || got != num || typ != protowire.VarintType {
		return 0, -1
	}
	v, m := protowire.ConsumeVarint(b[n:])
	if m < 0 {
		return 0, -1
	}
	return v, n + m
}

// bytesField is varintField for a field of bytes.
func bytesField(b []byte, num protowire.Number) (v []byte, n int) {
	got, typ, n := protowire.ConsumeTag(b)
	if n < 0 || got != num || typ != protowire.BytesType {
		return nil, -1
	}
	v, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return nil, -1
	}
	return v, n + m
}

// entryOf reads an entry of the WAL: index and data.
func entryOf(b []byte) (index uint64, data []byte, err error) {
	index, n := varintField(b, 3)
	if n < 0 {
		return 0, nil, errEnvelope
	}
	data, m := bytesField(b[n:], 4)
	if n+m != len(b) {
		return 0, nil, errEnvelope
	}
	return index, data, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
