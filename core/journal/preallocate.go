package journal

import (
	"os"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// preallocator fills the last segment with zeros ahead of the log. The WAL reserves a
// segment's blocks and does not write them. A sync after the first write to a block then also
// updates the file system's metadata, which takes longer than writing the bytes.
type preallocator struct {
	file  *os.File // the last segment
	path  string   // of file
	limit int64    // offset up to which zeros are written
	wake  chan struct{}
	done  chan struct{} // closed when the goroutine has ended
}

const (
	preallocateAhead = 16 << 20 // bytes of zeros ahead of the log
	preallocateChunk = 2 << 20  // bytes of one write
)

// frameExtra is an upper bound of the bytes that the WAL adds to a record.
const frameExtra = 128

// headRoom is an upper bound of the bytes that the WAL writes at the start of a segment.
const headRoom = 4096

func newPreallocator() *preallocator {
	return &preallocator{wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// wrote adds a record of the given length to segmentEnd. The caller holds f.mu.
func (f *File) wrote(record int) {
	f.segmentEnd += int64(record) + frameExtra
	f.written.Add(int64(record))
	if f.segmentEnd > f.preallocator.limit-preallocateAhead/2 {
		signal(f.preallocator.wake)
	}
}

// runPreallocator runs until the log is closed or fails, or a write of zeros fails. The log
// works without it, and reports errors of the disk itself.
func (f *File) runPreallocator() {
	z := f.preallocator
	defer close(z.done)
	defer func() {
		if z.file != nil {
			_ = z.file.Close() // its zeros are synced, or no longer needed
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

// preallocateNext writes one chunk of zeros and returns the file, nil if there are enough
// zeros. It holds f.mu and writes only after segmentEnd, so that it overwrites no group.
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
