package venue

import (
	"bytes"
	"math"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
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

// Thousands of rising ids: each is new once, before and behind the bitmap, and those
// left out between them are new once as well.
func TestIDSetTakesEachOnce(t *testing.T) {
	s := newIDSet()
	const n = 10 * idBulk
	for i := uint64(1); i <= n; i++ {
		if i > 1 && s.n != int(i-2)%idBulk+1 {
			t.Fatalf("before id %d: %d recent ones", i, s.n)
		}
		if !s.add(2*i) || s.add(2*i) || i > 1 && s.add(2*i-2) {
			t.Fatalf("id %d", 2*i)
		}
	}
	for i := uint64(1); i <= n; i++ {
		if s.add(2*i) || !s.has(2*i) || s.has(2*i-1) || !s.add(2*i-1) || s.add(2*i-1) {
			t.Fatalf("around id %d", 2*i)
		}
	}
	low := newIDSet()
	for i := range uint64(idBulk) {
		low.add(1000 + i)
	}
	if !low.add(3) || low.add(3) || low.add(1000) || !low.add(2000) || !low.add(1999) || low.add(1999) || low.add(2000) {
		t.Error("below, in and above the bitmap")
	}
	size := low.size()
	if want := 4 + low.part(0).GetSizeInBytes() + 4*idBulk; size != want {
		t.Errorf("%d bytes, not %d", size, want)
	}
	was := low.part(0).GetCardinality()
	if _, err := low.bytes(); err != nil || low.part(0).GetCardinality() != was {
		t.Errorf("telling its bytes changed it: %v", err)
	}
}

// A count of parts that the bytes cannot hold is refused before there is room for it.
func TestPartsFit(t *testing.T) {
	parts := func(n byte, more int) []byte { return append([]byte{n, 0, 0, 0, 0, 0, 0, 0}, make([]byte, more)...) }
	for _, c := range []struct {
		b  []byte
		ok bool
	}{{nil, false}, {make([]byte, 7), false}, {parts(0, 0), true}, {parts(1, 11), false}, {parts(1, 12), true}, {parts(1, 13), true}, {parts(2, 23), false}, {parts(2, 24), true}} {
		if err := partsFit(c.b); (err == nil) != c.ok {
			t.Errorf("%x: %v", c.b, err)
		}
	}
	if s, err := restoreIDSet(parts(1, 12)); err == nil {
		t.Errorf("a part of zeros is %v", s)
	}
	bytesOf := func(ids ...uint64) []byte {
		b, err := roaring64.BitmapOf(ids...).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, two := bytesOf(1, 2, 3, 4, 5, 6, 7, 8), bytesOf(1, 1<<32)
	half := (len(two) - 8) / 2 // of two parts that are alike
	claims := func(n byte, parts ...[]byte) []byte {
		return append([]byte{n, 0, 0, 0, 0, 0, 0, 0}, bytes.Join(parts, nil)...)
	}
	empty, err := roaring.New().ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"more parts than there are":  claims(2, one[8:]),
		"a part cut short":           one[:len(one)-1],
		"a byte behind the last":     append(bytes.Clone(one), 0),
		"parts in another order":     claims(2, two[8+half:], two[8:8+half]),
		"a part that is there twice": claims(2, two[8:8+half], two[8:8+half]),
		"a part without ids":         claims(1, make([]byte, 4), empty),
	} {
		if s, err := restoreIDSet(b); err == nil || s != nil {
			t.Errorf("%s: %v, %v", what, s, err)
		}
	}
	if s, err := restoreIDSet(claims(2, two[8:8+half], two[8+half:])); err != nil || !s.has(1) || !s.has(1<<32) || s.has(2) {
		t.Errorf("two parts: %v, %v", s, err)
	}
	if s, err := restoreIDSet(parts(0, 0)); err != nil || s.has(0) {
		t.Errorf("an empty set: %v, %v", s, err)
	}
}
