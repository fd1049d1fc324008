package journal

import (
	"os"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// The wal allocates a segment and does not write it, so every sync into a fresh block
// has the file system note that it has been written: that costs more than the bytes.
// zeroer writes the zeros that are there anyway before the log comes to them.
type zeroer struct {
	file  *os.File // of the tail, by path
	path  string
	limit int64 // zeros are written up to here
	wake  chan struct{}
	gone  chan struct{} // closed when it has ended
}

const (
	zeroAhead = 16 << 20 // bytes of zeros kept ahead of the log
	zeroChunk = 2 << 20
)

// frameExtra is more than the wal adds to a record of ours, in bytes.
const frameExtra = 128

// headRoom is more than the wal writes of its own at the start of a segment.
const headRoom = 4096

func newZeroer() *zeroer {
	return &zeroer{wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

// wrote notes that the log has grown by a record at most so long. f.mu is held.
func (f *File) wrote(record int) {
	f.end += int64(record) + frameExtra
	if f.end > f.zero.limit-zeroAhead/2 {
		f.wakeZeroer()
	}
}

func (f *File) wakeZeroer() {
	select {
	case f.zero.wake <- struct{}{}:
	default:
	}
}

// keepZeroing runs until the log is closed or fails. It is a help and no more: what
// it cannot write, the log will write itself, and tell of it.
func (f *File) keepZeroing() {
	z := f.zero
	defer close(z.gone)
	defer func() {
		if z.file != nil {
			_ = z.file.Close() // its bytes are synced, or wanted by nobody
		}
	}()
	chunk := make([]byte, zeroChunk)
	for range z.wake {
		for {
			into, err := f.zeroNext(chunk)
			if err != nil {
				return
			}
			if into == nil {
				break
			}
			if err := fileutil.Fdatasync(into); err != nil {
				return
			}
		}
	}
}

// zeroNext writes one chunk, and gives the file; nil if there are enough zeros. It
// holds the lock: meanwhile the log writes nothing, and where it has written nothing
// yet, nothing is lost.
func (f *File) zeroNext(chunk []byte) (into *os.File, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	z := f.zero
	if f.broken != nil {
		return nil, f.broken
	}
	if tail := f.segs[len(f.segs)-1].path; tail != z.path {
		file, err := os.OpenFile(tail, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		if z.file != nil {
			_ = z.file.Close() // synced
		}
		z.file, z.path, z.limit = file, tail, 0
	}
	st, err := z.file.Stat()
	if err != nil {
		return nil, err
	}
	z.limit = max(z.limit, f.end)
	n := min(int64(len(chunk)), min(st.Size(), f.end+zeroAhead)-z.limit)
	if n <= 0 {
		return nil, nil
	}
	if _, err := z.file.WriteAt(chunk[:n], z.limit); err != nil {
		return nil, err
	}
	z.limit += n
	return z.file, nil
}
