package venue

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
)

// FuzzRestore checks that any bytes which Restore accepts give a venue that can be encoded and restored
// to the same bytes.
func FuzzRestore(f *testing.F) {
	for _, b := range states(f) {
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Restore(b)
		if err != nil {
			return
		}
		one, err := v.MarshalBinary()
		if err != nil {
			return // it cannot become a snapshot
		}
		w, err := Restore(one)
		if err != nil {
			t.Fatalf("%x is taken, and its own bytes %x are not: %v", b, one, err)
		}
		if two, err := w.MarshalBinary(); err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%x became %x, %v", one, two, err)
		}
	})
}

// states returns the encoded states of an empty venue and of some with orders, rounds and money.
func states(f *testing.F) (out [][]byte) {
	b, err := New().MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	out = append(out, b)
	for seed := 1; seed <= 6; seed++ {
		out = append(out, rapid.Custom(func(t *rapid.T) []byte {
			v, s, _ := begin(t)
			for range 10 * seed {
				v.Apply(s.stamp(), s.command(), &core.Events{})
			}
			return bytesOf(t, v)
		}).Example(seed))
	}
	return out
}
