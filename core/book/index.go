package book

// index maps the low 32 bits of an order id to a slot: a hash table with open addressing,
// linear probing and backward-shift deletion. A cell holds those bits and the slot, so
// that a probe or a shift reads no orders. Callers compare the whole id, since several
// ids can share the low bits.
type index struct {
	cells []uint64
	shift uint
}

// cellsPerLine is the number of consecutive ids whose cells share a cache line.
const cellsPerLine = 8

const empty = ^uint64(0) // no cell holds slot None

// firstCell is where the probe for a key begins. Consecutive ids share a cache line, so
// that the cells of new orders are in the cache.
func (x *index) firstCell(key uint32) uint32 {
	return (key/cellsPerLine*0x9E3779B1)>>(x.shift&31)&^(cellsPerLine-1) | key&(cellsPerLine-1)
}

func (x *index) nextCell(i uint32) uint32 { return (i + 1) & uint32(len(x.cells)-1) }

func (x *index) add(key, slot uint32, live int) {
	if 2*live > len(x.cells) {
		x.resize(max(128, 2*len(x.cells)))
	}
	x.put(uint64(key)<<32 | uint64(slot))
}

func (x *index) put(e uint64) {
	i := x.firstCell(uint32(e >> 32))
	for x.cells[i] != empty {
		i = x.nextCell(i)
	}
	x.cells[i] = e
}

func (x *index) resize(n int) {
	old := x.cells
	x.cells = make([]uint64, n)
	x.shift = 32
	for m := n; m > 1; m >>= 1 {
		x.shift--
	}
	for i := range x.cells {
		x.cells[i] = empty
	}
	for _, e := range old {
		if e != empty {
			x.put(e)
		}
	}
}

func (x *index) remove(key, slot uint32) {
	want := uint64(key)<<32 | uint64(slot)
	i := x.firstCell(key)
	for x.cells[i] != want {
		i = x.nextCell(i)
	}
	// Close the gap: move back each following cell of the run whose probe begins at or
	// before the gap.
	mask := uint32(len(x.cells) - 1)
	for j := x.nextCell(i); x.cells[j] != empty; j = x.nextCell(j) {
		home := x.firstCell(uint32(x.cells[j] >> 32))
		if (j-home)&mask >= (j-i)&mask {
			x.cells[i] = x.cells[j]
			i = j
		}
	}
	x.cells[i] = empty
}
