package book

// index finds a slot by the low half of an order's id: open addressing, linear
// probing, deletion by shifting back. A cell holds the low half and the slot, so
// that a probe or a shift touches no order but the one it is after. Two ids whose
// low halves agree are told apart by the caller.
type index struct {
	cells []uint64
	shift uint
}

// CellsALine is how many ids that follow each other share a cache line.
const CellsALine = 8

const empty = ^uint64(0) // slot None never stands in a cell

// start is where a probe begins. Ids that follow each other share a cache line, so that
// those of new orders go where the last ones went.
func (x *index) start(key uint32) uint32 {
	return (key/CellsALine*0x9E3779B1)>>(x.shift&31)&^(CellsALine-1) | key&(CellsALine-1)
}

func (x *index) step(i uint32) uint32 { return (i + 1) & uint32(len(x.cells)-1) }

func (x *index) add(key, slot uint32, live int) {
	if 2*live > len(x.cells) {
		x.resize(max(128, 2*len(x.cells)))
	}
	x.put(uint64(key)<<32 | uint64(slot))
}

func (x *index) put(e uint64) {
	i := x.start(uint32(e >> 32))
	for x.cells[i] != empty {
		i = x.step(i)
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
	i := x.start(key)
	for x.cells[i] != want {
		i = x.step(i)
	}
	// Close the gap: whatever follows in the run moves back unless it would leave
	// the place where its own probe begins.
	mask := uint32(len(x.cells) - 1)
	for j := x.step(i); x.cells[j] != empty; j = x.step(j) {
		home := x.start(uint32(x.cells[j] >> 32))
		if (j-home)&mask >= (j-i)&mask {
			x.cells[i] = x.cells[j]
			i = j
		}
	}
	x.cells[i] = empty
}
