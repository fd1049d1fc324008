package venue

import (
	"bytes"
	"math"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"pgregory.net/rapid"
)

// The set with a list before it is the plain one: to who adds, to who asks, and to the byte,
// however the ids jump.
func TestIDSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, plain, next := newIDSet(), roaring64.New(), uint64(0)
		for range rapid.IntRange(1, 500).Draw(t, "ids") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				next += rapid.Uint64Range(0, 5*idBulk).Draw(t, "jump")
			case 1:
				next -= min(next, rapid.Uint64Range(0, 3*idBulk).Draw(t, "back"))
			case 2:
				next = rapid.SampledFrom([]uint64{0, 1, 63, 64, 1 << 32, math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 64}).Draw(t, "edge")
			default:
				next++
			}
			if s.has(next) != plain.Contains(next) {
				t.Fatalf("has %d: %t", next, s.has(next))
			}
			if want := plain.CheckedAdd(next); s.add(next) != want {
				t.Fatalf("add %d: want %t", next, want)
			}
			if !s.has(next) {
				t.Fatalf("%d is not there", next)
			}
			if rapid.IntRange(0, 40).Draw(t, "restart") == 0 {
				b, err := s.bytes()
				if err != nil {
					t.Fatal(err)
				}
				if s, err = restoreIDSet(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := s.bytes()
		if err != nil {
			t.Fatal(err)
		}
		want, err := plain.ToBytes()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes, %v", err)
		}
	})
}

// However many ids there were, their bytes do not tell in which order they came.
func TestIDSetOfMany(t *testing.T) {
	up, mixed := newIDSet(), newIDSet()
	const n = 20_000
	for i := range uint64(n) {
		up.add(i)
		mixed.add((i * 7919) % n)
	}
	a, err := up.bytes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := mixed.bytes()
	if err != nil || !bytes.Equal(a, b) {
		t.Fatalf("%d and %d bytes, %v", len(a), len(b), err)
	}
}
