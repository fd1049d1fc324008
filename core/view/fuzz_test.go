package view

import (
	"bytes"
	"testing"

	"duplex/core"
)

// FuzzRestore: bytes that are no view are refused, never fallen over, and a view made of
// a view's own bytes is the same.
func FuzzRestore(f *testing.F) {
	caps := DefaultCaps()
	caps.Terminal, caps.Rejects, caps.Fills, caps.Tape = 2, 1, 3, 2
	w := New(caps)
	for seq := uint64(1); seq <= 6; seq++ {
		b, err := w.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		id := place(w, seq*10, core.OK)
		fill(w, seq*10+1, id, id, 4)
		if seq%2 == 0 {
			end(w, seq*10+2, id)
		}
		place(w, seq*10+3, core.BadQty)
	}
	for _, hole := range []state{{Users: []accountState{{Rows: []*Order{nil}}}}, {Rounds: []*Round{nil}}} {
		b, err := encoding.Marshal(hole)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Restore(b, caps)
		if err != nil {
			return
		}
		one, err := v.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		w, err := Restore(one, caps)
		if err != nil {
			t.Fatalf("%x is taken, and its own bytes %x are not: %v", b, one, err)
		}
		two, err := w.MarshalBinary()
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%x became %x, %v", one, two, err)
		}
	})
}
