package view

import (
	"bytes"
	"testing"

	"duplex/core"
)

// FuzzRestore checks that Restore never panics, and that any bytes which it accepts give a view that can
// be encoded and restored to the same bytes.
func FuzzRestore(f *testing.F) {
	caps := DefaultRetentionCaps()
	caps.Terminal, caps.Rejects, caps.Fills, caps.Tape = 2, 1, 3, 2
	w := New(caps)
	for seq := uint64(1); seq <= 6; seq++ {
		b := bytesOf(f, w)
		f.Add(b)
		f.Add(b[:len(b)/2])
		id := place(w, seq*10, core.OK)
		fill(w, seq*10+1, id, id, 4)
		if seq%2 == 0 {
			end(w, seq*10+2, id)
		}
		place(w, seq*10+3, core.BadQty)
	}
	hole, err := encoding.Marshal(restState{Format: stateFormat, Rounds: []*Round{nil}})
	if err != nil {
		f.Fatal(err)
	}
	if hole, err = encoding.Marshal([][]byte{hole}); err != nil {
		f.Fatal(err)
	}
	f.Add(hole)
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := restored(b, caps); err == nil {
			again(t, b, v)
		}
	})
}

// FuzzRestoreV1 does the same for snapshots of version 1.
func FuzzRestoreV1(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := RestoreV1(b, DefaultRetentionCaps()); err == nil {
			again(t, b, v)
		}
	})
}

// again encodes v, which was restored from b, and checks that its own bytes are restored to an equal view.
func again(t *testing.T, b []byte, v *View) {
	t.Helper()
	one := bytesOf(t, v)
	w, err := restored(one, v.caps)
	if err != nil {
		t.Fatalf("%x is accepted, but its own encoding %x is not: %v", b, one, err)
	}
	if two := bytesOf(t, w); !bytes.Equal(one, two) {
		t.Fatalf("%x became %x", one, two)
	}
}
