package view

import (
	"bytes"
	"math"
	"testing"

	"duplex/core"
)

// FuzzRestore checks that arbitrary bytes give an error or a view, never a panic, and that a
// view restored from its own encoding has the same encoding.
func FuzzRestore(f *testing.F) {
	caps := DefaultRetentionCaps()
	caps.Terminal, caps.Rejects, caps.Fills, caps.Tape = 2, 1, 3, 2
	w := New(caps)
	for seq := uint64(1); seq <= 6; seq++ {
		b := encodeView(f, w)
		f.Add(b)
		f.Add(b[:len(b)/2])
		id := place(w, seq*10, core.OK)
		fill(w, seq*10+1, id, id, 4)
		if seq%2 == 0 {
			cancel(w, seq*10+2, id)
		}
		place(w, seq*10+3, core.BadQty)
		foldTick(w, core.WTI, int64(seq*10+4), core.Price(seq*1000), 2, false)
		w.EndSeconds(int64(seq*10+5)*second, &oneRound{at: core.Stamp{Seq: seq*10 + 4, Ts: int64(seq*10+3) * second}, q: core.Quote{Number: seq / 3, Category: 5, CloseTs: math.MaxInt64, Bid: core.Tick(seq)}, ok: true})
	}
	nulls, err := encoding.Marshal(sharedState{Format: stateFormat, Rounds: []*Round{nil}})
	if err != nil {
		f.Fatal(err)
	}
	if nulls, err = encoding.Marshal([][]byte{nulls}); err != nil {
		f.Fatal(err)
	}
	f.Add(nulls)
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := restorePieces(b, caps); err == nil {
			checkRoundTrip(t, b, v)
		}
	})
}

// checkRoundTrip encodes v, which was restored from b, restores it and encodes it again.
func checkRoundTrip(t *testing.T, b []byte, v *View) {
	t.Helper()
	one := encodeView(t, v)
	w, err := restorePieces(one, v.caps)
	if err != nil {
		t.Fatalf("%x was restored, and its own encoding %x was not: %v", b, one, err)
	}
	if two := encodeView(t, w); !bytes.Equal(one, two) {
		t.Fatalf("encoding %x, after a restore %x", one, two)
	}
}
