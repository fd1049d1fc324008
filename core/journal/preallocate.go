package journal

import (
	"os"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// The wal allocates a segment and does not write it, so every sync into a fresh block
// has the file system note that it has been written: that costs more than the bytes.
// zeroer writes the zeros that are there anyway before the log comes to them.
type preallocator struct {
	file  *os.File // of the tail, by path
	path  string
	limit int64 // zeros are written up to here
	wake  chan struct{}
	done  chan struct{} // closed when it has ended
}

const (
	preallocateAhead = 16 << 20 // bytes of zeros kept ahead of the log
	preallocateChunk = 2 << 20
)

// frameExtra is more than the wal adds to a record of ours, in bytes.
const frameExtra = 128

// headRoom is more than the wal writes of its own at the start of a segment.
const headRoom = 4096

func newPreallocator() *preallocator {
	return &preallocator{wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// wrote notes that the log has grown by a record at most so long. f.mu is held.
func (f *File) wrote(record int) {
	f.segmentEnd += int64(record) + frameExtra
	if f.segmentEnd > f.preallocator.limit-preallocateAhead/2 {
		f.wakePreallocator()
	}
}

func (f *File) wakePreallocator() {
	select {
	case f.preallocator.wake <- struct{}{}:
	default:
	}
}

// runPreallocator runs until the log is closed or fails. It is a help and no more: what
// it cannot write, the log will write itself, and tell of it.
func (f *File) runPreallocator() {
	z := f.preallocator
	defer close(z.done)
	defer func() {
		if z.file != nil {
			_ = z.file.Close() // its bytes are synced, or wanted by nobody
		}
	}()
	chunk := make([]byte, preallocateChunk)
	for range z.wake {
		for {
			into, err := f.preallocateNext(chunk)
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

// preallocateNext writes one chunk, and gives the file; nil if there are enough zeros. It
// holds the lock: meanwhile the log writes nothing, and where it has written nothing
// yet, nothing is lost.
func (f *File) preallocateNext(chunk []byte) (into *os.File, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	z := f.preallocator
	if f.failed != nil {
		return nil, f.failed
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
	z.limit = max(z.limit, f.segmentEnd)
	n := min(int64(len(chunk)), min(st.Size(), f.segmentEnd+preallocateAhead)-z.limit)
	if n <= 0 {
		return nil, nil
	}
	if _, err := z.file.WriteAt(chunk[:n], z.limit); err != nil {
		return nil, err
	}
	z.limit += n
	return z.file, nil
}
