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
	errHole     = errors.New("a hole")
	errFrame    = errors.New("length of a frame makes no sense")
	errPastEnd  = errors.New("frame runs past the end of the file")
	errPadding  = errors.New("padding is not zero")
	errEnvelope = errors.New("envelope of a record makes no sense")
)

// frameMax is the longest record of the wal that can be ours, in bytes.
const frameMax = recordMax + 64

// frame is one record of the wal as it lies in its file.
type frame struct {
	off, end int64  // from its length up to behind its padding
	raw      []byte // its bytes in the file; the last padding may be cut off
	kind     int64  // wal.EntryType and so on
	crc      uint32
	data     []byte
}

// frames reads one segment forward and proves the wal's own running CRC.
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

// next reads one frame. io.EOF is the end of the file between two frames; errHole
// a length of zero; any other error says what is wrong at fs.off.
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
	// The padding of the last frame may be cut off: all of the record is there.
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

// frameLength takes a frame's length word apart: 56 bits of length, and in the top
// byte a mark and the count of padding bytes, if there are any.
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

// open reads the wal's envelope: type, crc and, unless it is empty, data, each once
// and in this order.
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

// check proves the running CRC. A CRC record hands the sum over from the segment
// before; whether it is that one's sum is for the scanner to ask.
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

// varintField reads field num, which must be next; n is -1 if it is not.
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

// entryOf reads the wal's entry: index and data.
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
