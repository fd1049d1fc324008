package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// etcd's database is a file of bbolt. Its pages have no checksums, and bbolt maps the file into memory: a page that
// makes no sense ends the process with a panic or a signal, on goroutines of etcd, or is followed in a circle. So a
// member reads the whole file before etcd opens it, through boltFile, which maps nothing and believes nothing.
// bbolt's own check has the faults of bbolt, and would need a process of its own.
//
// The file is a sequence of pages. One of the first two is the header, the one with the higher transaction; all
// integers are little-endian:
//
//	16  magic      u32, and the version, u32
//	24  page size  u32
//	32  root       u64, the page of the root bucket
//	48  free list  u64, its page, or all ones: etcd writes none
//	56  pages      u64, all that the file has
//	64  txid       u64
//	72  sum        FNV-64a of bytes 16 to 71
//
// A page begins with its number (u64), its kind (u16), its count of elements (u16) and how many pages follow it as
// one (u32). Elements of 16 bytes come next, and then keys and values in the order of the elements, without gaps:
//
//	branch  position u32, key bytes u32, page u64: a tree whose keys are not below this key
//	leaf    flags u32, position u32, key bytes u32, value bytes u32
//
// Positions count from the element. The value of a leaf whose flag is 1 is a bucket: its root page (u64), a counter
// (u64), and, if the root page is 0, its only page.
const (
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	boltMeta      = 16
	boltMetaBytes = 64
	boltPageMin   = 1 << 10
	boltPageMax   = 1 << 16

	boltHead    = 16 // bytes of a page before its elements, of an element, and of a bucket before its page
	boltBranch  = 1
	boltLeaf    = 2
	boltBucket  = 1 // flag of an element
	boltDeepest = 64
)

var errNoHeader = errors.New("it has no header of a database: it was cut or overwritten")

type boltFile struct {
	file     io.ReaderAt
	pageSize int64
	pages    uint64
	root     uint64
	txid     uint64
	seen     []uint64 // a bit for each page
}

// openBolt reads the header. The error is errNoHeader, or one of the disk.
func openBolt(f io.ReaderAt) (*boltFile, error) {
	var newest *boltFile
	offsets := []int64{0}
	for size := int64(boltPageMin); size <= boltPageMax; size *= 2 {
		offsets = append(offsets, size)
	}
	for _, at := range offsets {
		var b [boltMetaBytes]byte
		switch _, err := f.ReadAt(b[:], at+boltMeta); {
		case err == io.EOF:
			continue
		case err != nil:
			return nil, err
		}
		u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
		sum := fnv.New64a()
		sum.Write(b[:56])
		size := int64(u32(b[8:]))
		if u32(b[:]) != boltMagic || u32(b[4:]) != boltVersion || u64(b[56:]) != sum.Sum64() || at != 0 && at != size {
			continue
		}
		if txid := u64(b[48:]); newest == nil || txid > newest.txid {
			newest = &boltFile{file: f, pageSize: size, root: u64(b[16:]), pages: u64(b[40:]), txid: txid}
		}
	}
	if newest == nil {
		return nil, errNoHeader
	}
	return newest, nil
}

// size is the least size of the file in bytes.
func (b *boltFile) size() int64 { return int64(b.pages) * b.pageSize }

// walk calls visit for each key of each bucket, in their order, and once with a nil key for each bucket. What it
// passes is valid until visit returns. The error says which page makes no sense, or is one of the disk or of visit.
// The file must have the bytes that its header says.
func (b *boltFile) walk(visit func(bucket string, key, value []byte) error) error {
	b.seen = make([]uint64, b.pages/64+1)
	return b.tree(b.root, bounds{}, 0, func(flags uint32, name, value []byte) error {
		if flags != boltBucket || len(value) < boltHead {
			return fmt.Errorf("%q is not a bucket", name)
		}
		bucket := string(name)
		if err := visit(bucket, nil, nil); err != nil {
			return err
		}
		leaf := func(flags uint32, key, value []byte) error {
			if flags != 0 {
				return fmt.Errorf("a bucket inside bucket %s", bucket)
			}
			return visit(bucket, key, value)
		}
		if root := binary.LittleEndian.Uint64(value); root != 0 {
			return b.tree(root, bounds{}, 0, leaf)
		}
		_, err := b.page(value[boltHead:], bounds{}, boltDeepest, leaf) // no branch
		return err
	})
}

// bounds are those of the keys of a tree: not below low, and below high, unless that is nil.
type bounds struct{ low, high []byte }

func (b bounds) have(key []byte) bool {
	return bytes.Compare(key, b.low) >= 0 && (b.high == nil || bytes.Compare(key, b.high) < 0)
}

type boltVisit func(flags uint32, key, value []byte) error

// tree walks through the tree below a page.
func (b *boltFile) tree(id uint64, keys bounds, depth int, visit boltVisit) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("page %d: %w", id, fmt.Errorf(format, args...))
	}
	if id < 2 || id >= b.pages {
		return wrong("there are %d", b.pages)
	}
	page := make([]byte, b.pageSize)
	if _, err := b.file.ReadAt(page, int64(id)*b.pageSize); err != nil {
		return err
	}
	more := uint64(binary.LittleEndian.Uint32(page[12:]))
	if at := binary.LittleEndian.Uint64(page); at != id {
		return wrong("it says that it is page %d", at)
	}
	if id+more >= b.pages {
		return wrong("it has %d pages more, and there are %d", more, b.pages)
	}
	for p := id; p <= id+more; p++ {
		if b.seen[p/64]&(1<<(p%64)) != 0 {
			return wrong("page %d belongs to two", p)
		}
		b.seen[p/64] |= 1 << (p % 64)
	}
	if more > 0 {
		page = append(page, make([]byte, int64(more)*b.pageSize)...)
		if _, err := b.file.ReadAt(page[b.pageSize:], int64(id+1)*b.pageSize); err != nil {
			return err
		}
	}
	used, err := b.page(page, keys, depth, visit)
	if err != nil {
		return wrong("%w", err)
	}
	// A version of bbolt before 1.5 took one page more for what fills the last one.
	if least, most := (int64(used)+b.pageSize-1)/b.pageSize, int64(used)/b.pageSize+1; int64(more)+1 != least && int64(more)+1 != most {
		return wrong("it needs %d pages and has %d", least, more+1)
	}
	return nil
}

// page walks through the elements of a page, and returns how many bytes they use.
func (b *boltFile) page(page []byte, keys bounds, depth int, visit boltVisit) (used int, err error) {
	if len(page) < boltHead {
		return 0, errors.New("it is too short")
	}
	kind, count := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	switch {
	case kind != boltBranch && kind != boltLeaf:
		return 0, fmt.Errorf("kind %d", kind)
	case kind == boltBranch && (count == 0 || depth >= boltDeepest):
		return 0, fmt.Errorf("a branch of %d elements at depth %d", count, depth)
	}
	used = boltHead + count*boltHead // where the next key begins
	if used > len(page) {
		return 0, fmt.Errorf("%d elements", count)
	}
	take := func(n uint32) (b []byte, ok bool) {
		if uint64(n) > uint64(len(page)-used) {
			return nil, false
		}
		b, used = page[used:used+int(n):used+int(n)], used+int(n)
		return b, true
	}
	type child struct {
		key []byte
		id  uint64
	}
	var children []child
	var last []byte
	for i := range count {
		element := page[boltHead+i*boltHead:][:boltHead]
		u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(element[at:]) }
		flags, sizes := uint32(0), element[4:]
		position := u32(0)
		if kind == boltLeaf {
			flags, position, sizes = u32(0), u32(4), element[8:]
		}
		if int64(position) != int64(used-boltHead-i*boltHead) {
			return 0, fmt.Errorf("element %d is elsewhere", i)
		}
		key, ok := take(binary.LittleEndian.Uint32(sizes))
		if !ok || len(key) == 0 {
			return 0, fmt.Errorf("element %d has no key in the page", i)
		}
		if i > 0 && bytes.Compare(last, key) >= 0 || !keys.have(key) && (kind == boltLeaf || i > 0) {
			return 0, fmt.Errorf("element %d is out of order", i)
		}
		last = key
		if kind == boltBranch {
			children = append(children, child{key, binary.LittleEndian.Uint64(element[8:])})
			continue
		}
		value, ok := take(u32(12))
		if !ok {
			return 0, fmt.Errorf("element %d is longer than the page", i)
		}
		if err := visit(flags, key, value); err != nil {
			return 0, fmt.Errorf("element %d: %w", i, err)
		}
	}
	for i, c := range children {
		of := bounds{c.key, keys.high}
		if i == 0 {
			of.low = keys.low // bbolt does not lower the key of a branch for a key before its first one
		}
		if i+1 < len(children) {
			of.high = children[i+1].key
		}
		if err := b.tree(c.id, of, depth+1, visit); err != nil {
			return 0, err
		}
	}
	return used, nil
}
