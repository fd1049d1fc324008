package venue

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"pgregory.net/rapid"

	"duplex/core"
)

func bytesOfIDs(s *idSet) []byte {
	var e idEncoder
	n := e.measure(s)
	b := e.append(nil, s)
	if uint64(len(b)) != n {
		panic(fmt.Sprintf("%d bytes, %d were measured", len(b), n))
	}
	return b
}

// idScript draws ids in the ways that callers may: upwards, with gaps, back, at random, and
// at the edges of everything.
type idScript struct {
	t    *rapid.T
	next uint64
}

func (x *idScript) draw() uint64 {
	switch rapid.IntRange(0, 9).Draw(x.t, "kind") {
	case 0:
		x.next += rapid.Uint64Range(0, 300).Draw(x.t, "jump")
	case 1:
		x.next -= min(x.next, rapid.Uint64Range(0, 100).Draw(x.t, "back"))
	case 2:
		x.next = rapid.SampledFrom([]uint64{0, 1, 1<<16 - 1, 1 << 16, 1 << 32, 1<<32 - 1, math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 64}).Draw(x.t, "edge")
	case 3:
		x.next = rapid.Uint64().Draw(x.t, "any")
	case 4:
		x.next--
	case 5:
		x.next += 1<<16 - 2 + rapid.Uint64Range(0, 4).Draw(x.t, "container")
	default:
		x.next++
	}
	return x.next
}

// The set is the plain one: to whoever adds, to whoever asks, and to the byte, whatever the
// ids are. An image of it stays as it was taken.
func TestIDSet(t *testing.T) {
	type picture struct {
		set   idSet
		bytes []byte
	}
	rapid.Check(t, func(t *rapid.T) {
		var s idSet
		plain, x := roaring64.New(), idScript{t: t}
		var images []picture
		for range rapid.IntRange(1, 700).Draw(t, "ids") {
			id := x.draw()
			if s.has(id) != plain.Contains(id) {
				t.Fatalf("has %d: %t", id, s.has(id))
			}
			if want := plain.CheckedAdd(id); s.add(id) != want {
				t.Fatalf("add %d: want %t", id, want)
			}
			if !s.has(id) || s.add(id) {
				t.Fatalf("%d is not there", id)
			}
			switch rapid.IntRange(0, 60).Draw(t, "then") {
			case 0:
				var err error
				if s, err = restoreIDSet(bytesOfIDs(&s)); err != nil {
					t.Fatal(err)
				}
			case 1:
				images = append(images, picture{s.image(), bytesOfIDs(&s)})
			}
		}
		want, err := plain.ToBytes()
		if got := bytesOfIDs(&s); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes, %v", err)
		}
		for i := range images {
			if !bytes.Equal(bytesOfIDs(&images[i].set), images[i].bytes) {
				t.Fatalf("image %d of %d has changed", i, len(images))
			}
		}
	})
}

// However many ids there are, their bytes do not tell in which order they came, and are
// those of the plain set; no block is longer than it may be.
func TestIDSetOfMany(t *testing.T) {
	const n = 9_000
	for name, id := range map[string]func(i uint64) uint64{
		"one after the other": func(i uint64) uint64 { return i },
		"every second":        func(i uint64) uint64 { return 2 * i },
		"every third":         func(i uint64) uint64 { return 3 * i },
		"far apart":           func(i uint64) uint64 { return i << 20 },
		"at random":           func(i uint64) uint64 { return i * 0x9E3779B97F4A7C15 },
		"in two bands":        func(i uint64) uint64 { return i>>1 | i&1<<40 },
	} {
		t.Run(name, func(t *testing.T) {
			var up, down, mixed idSet
			plain := roaring64.New()
			for i := range uint64(n) {
				if !up.add(id(i)) || !down.add(id(n-1-i)) || !mixed.add(id((i*7919)%n)) {
					t.Fatalf("id %d is not new", i)
				}
				plain.Add(id(i))
			}
			want, err := plain.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*idSet{&up, &down, &mixed} {
				if got := bytesOfIDs(s); !bytes.Equal(got, want) {
					t.Errorf("%d bytes, not these %d", len(got), len(want))
				}
				again, err := restoreIDSet(want)
				if err != nil || !bytes.Equal(bytesOfIDs(&again), want) {
					t.Errorf("restored otherwise: %v", err)
				}
				for i := range uint64(n) {
					if s.add(id(i)) || !again.has(id(i)) {
						t.Fatalf("id %d is not there", i)
					}
				}
				sound(t, s)
				sound(t, &again)
			}
			if name == "one after the other" { // one run, from wherever it came
				again, err := restoreIDSet(want)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []*idSet{&up, &down, &again} {
					if n := s.size(); n < idSelf || n > idSelf+32 {
						t.Errorf("%d bytes", n)
					}
				}
			}
		})
	}
}

// TestFullContainers checks the encoding of 65,536 ids that share all but their lowest 16 bits,
// alone and beside others, in every order of adding: the checkpoints of older journals attest its hash.
func TestFullContainers(t *testing.T) {
	const size = 1 << 16
	span := func(from, to uint64) (list []uint64) {
		for id := from; id < to; id++ {
			list = append(list, id)
		}
		return list
	}
	for name, ids := range map[string][]uint64{
		"one":                        span(0, size),
		"one, beginning below":       span(size-3, 2*size),
		"all ids but one":            span(1, size),
		"two and a half":             span(0, 2*size+size/2),
		"the third of four":          slices.Concat([]uint64{7}, span(size, size+5000), span(2*size, 3*size), []uint64{9 * size}),
		"the ninth":                  slices.Concat(span(8, 9), span(2*size, 9*size)),
		"at the end of all ids":      slices.Concat([]uint64{1}, span(math.MaxUint64-size+1, math.MaxUint64), []uint64{math.MaxUint64}),
		"in the second of two parts": slices.Concat([]uint64{5}, span(1<<40, 1<<40+size), []uint64{1<<40 + 3*size}),
	} {
		t.Run(name, func(t *testing.T) {
			plain := roaring64.New()
			plain.AddMany(ids)
			want, err := plain.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			var up, down, mixed idSet
			for _, id := range ids {
				up.add(id)
			}
			restored, err := restoreIDSet(want)
			if err != nil {
				t.Fatal(err)
			}
			sets := []*idSet{&up, &restored}
			if len(ids) == size { // one container: the others differ in its place alone
				for i, j := range rand.New(rand.NewPCG(1, 2)).Perm(size) {
					down.add(ids[size-1-i])
					mixed.add(ids[j])
				}
				sets = append(sets, &down, &mixed)
			}
			for _, s := range sets {
				if got := bytesOfIDs(s); !bytes.Equal(got, want) {
					t.Errorf("encoded as %d bytes, want %d", len(got), len(want))
				}
				sound(t, s)
			}
			for i := 0; i < len(ids); i += 97 {
				if restored.add(ids[i]) {
					t.Fatalf("restored without %d", ids[i])
				}
			}
			for i := range min(len(want), 60) { // every change of the head is detected, or is another set
				changed := bytes.Clone(want)
				changed[i] ^= 1
				if s, err := restoreIDSet(changed); err == nil && !bytes.Equal(bytesOfIDs(&s), changed) {
					t.Errorf("byte %d changed: accepted, and encoded otherwise", i)
				}
			}
		})
	}
}

// sound checks the blocks of a set: none too long, each in its place, the memory counted.
func sound(t *testing.T, s *idSet) {
	t.Helper()
	size, last, first := uint64(0), uint64(0), true
	block := func(from uint64, b []byte) {
		if len(b) == 0 || len(b) > 512 {
			t.Errorf("a block of %d bytes", len(b))
		}
		blockRuns(from, b, func(r run) {
			if !first && r.from <= last || r.to < r.from {
				t.Errorf("run %d to %d behind %d", r.from, r.to, last)
			}
			last, first = r.to, false
		})
	}
	blocks := uint64(0)
	if s.blocks != nil {
		s.blocks.Scan(func(from uint64, b []byte) bool {
			blocks++
			size += uint64(cap(b))
			block(from, b)
			return true
		})
	}
	if len(s.tail) > 0 {
		block(s.tailFrom, s.tail)
		if s.tailTo != last {
			t.Errorf("the tail ends at %d, not %d", last, s.tailTo)
		}
	}
	if s.blockBytes != size || s.size() != idSelf+uint64(cap(s.tail))+size+idNode*blocks {
		t.Errorf("%d blocks of %d bytes and a tail of %d, counted %d and %d", blocks, size, cap(s.tail), s.blockBytes, s.size())
	}
}

// What cannot be the encoding of a set is refused.
func TestRestoreIDSetRefuses(t *testing.T) {
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
	runs := roaring64.New()
	runs.AddRange(0, 100_000)
	runs.RunOptimize()
	optimized, err := runs.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	dense := roaring64.New()
	for id := uint64(70_000); id < 80_000; id++ {
		dense.Add(id)
	}
	full, err := dense.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	change := func(b []byte, at int, to byte) []byte {
		b = bytes.Clone(b)
		b[at] = to
		return b
	}
	const ids = 8 + 4 + 8 + 4 + 4 // where the ids of `one` are
	for what, b := range map[string][]byte{
		"nothing":                      nil,
		"seven bytes":                  make([]byte, 7),
		"a part that is not there":     claims(1),
		"a part of eleven bytes":       claims(1, make([]byte, 11)),
		"a part of zeros":              claims(1, make([]byte, 12)),
		"more parts than there are":    claims(2, one[8:]),
		"a second part of three bytes": claims(2, one[8:], make([]byte, 3)),
		"a part cut short":             one[:len(one)-1],
		"a byte behind the last":       append(bytes.Clone(one), 0),
		"parts in another order":       claims(2, two[8+half:], two[8:8+half]),
		"a part that is there twice":   claims(2, two[8:8+half], two[8:8+half]),
		"a part without ids":           claims(1, make([]byte, 4), empty),
		"containers of runs":           optimized,
		"too many containers":          change(one, 8+4+4+2, 1),
		"an offset that is another":    change(one, 8+4+8+4, 17),
		"an id twice":                  change(one, ids+2, 1),
		"ids out of order":             change(one, ids, 9),
		"a bitmap that lacks an id":    change(full, len(full)-8192+(70_000-(1<<16))/8, 0),
		"a container beyond the end":   change(one, 8+4+8+2, 8),
		"fewer ids than are there":     change(one, 8+4+8+2, 6),
		"a bitmap where ids would do":  change(full, 8+4+8+3, 0),
	} {
		if s, err := restoreIDSet(b); err == nil || s.n != 0 {
			t.Errorf("%s restores as %v, %v, want an error and an empty set", what, s, err)
		}
	}
	if s, err := restoreIDSet(claims(2, two[8:8+half], two[8+half:])); err != nil || !s.has(1) || !s.has(1<<32) || s.has(2) {
		t.Errorf("two parts: %v, %v", s, err)
	}
	s, err := restoreIDSet(full)
	if err != nil {
		t.Fatalf("a dense container: %v", err)
	}
	for id, want := range map[uint64]bool{69_999: false, 70_000: true, 79_999: true, 80_000: false} {
		if s.has(id) != want {
			t.Errorf("a dense container has %d: %t, want %t", id, !want, want)
		}
	}
	if b := bytesOfIDs(&idSet{}); !bytes.Equal(b, claims(0)) || new(idSet).size() != 0 {
		t.Errorf("an empty set is %x", b)
	}
	if s, err := restoreIDSet(claims(0)); err != nil || s.has(0) || s.n != 0 {
		t.Errorf("an empty set: %v, %v", s, err)
	}
}

// TestRestoreIDSetPadding checks that the bits behind the last container must be 0, for every number of
// containers in the last byte of the marks of full ones.
func TestRestoreIDSetPadding(t *testing.T) {
	var s idSet
	for n := 1; n <= 17; n++ {
		s.addRun(run{from: uint64(n-1) << 16, to: uint64(n)<<16 - 1})
		b := bytesOfIDs(&s)
		const marks = 8 + 4 + 4 // after the number of parts, the part and the cookie
		if got, err := restoreIDSet(b); err != nil || got.n != s.n {
			t.Fatalf("%d full containers: %v", n, err)
		}
		for bit := n; bit%8 != 0; bit++ {
			padded := bytes.Clone(b)
			padded[marks+bit/8] |= 1 << (bit % 8)
			if _, err := restoreIDSet(padded); !errors.Is(err, errIDsForm) {
				t.Errorf("%d full containers with bit %d: %v", n, bit, err)
			}
		}
	}
}

// FuzzRestoreIDSet: bytes that are taken are those that are written again.
func FuzzRestoreIDSet(f *testing.F) {
	for _, ids := range [][]uint64{{1}, {1, 2, 3, 1 << 16, 1 << 32, math.MaxUint64}, {0, 5, 7, 8, 9}} {
		b, err := roaring64.BitmapOf(ids...).ToBytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(slices.Concat([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x3b, 0x30, 0, 0, 1, 4, 0, 0xff, 0xff}, fullContainer[:]))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := restoreIDSet(b)
		if err != nil {
			return
		}
		if got := bytesOfIDs(&s); !bytes.Equal(got, b) {
			t.Fatalf("%x is written again as %x", b, got)
		}
	})
}

// The patterns in which callers number their orders, with what an id may cost, in bytes of
// memory. TestIDMemory measures it; docs/rules/limits.md states it.
var idPatterns = []struct {
	name string
	most float64
	id   func(i uint64, r *rand.Rand) uint64
}{
	{"one after the other", 0.01, func(i uint64, _ *rand.Rand) uint64 { return 1 + i }},
	{"every tenth", 3, func(i uint64, _ *rand.Rand) uint64 { return 10 * (1 + i) }},
	{"microseconds, 20 a second", 6, func(i uint64, r *rand.Rand) uint64 { return 1_800_000_000_000_000 + 50_000*i + r.Uint64N(40_000) }},
	{"random, 64 bits", 12, func(_ uint64, r *rand.Rand) uint64 { return r.Uint64() }},
}

// An id costs at most what is stated, and the metric is within a quarter of it:
//
//	go test ./core/venue -run IDMemory -v
//	DX_IDS=1000000 go test ./core/venue -run IDMemory -v
func TestIDMemory(t *testing.T) {
	n := uint64(25_000)
	if env := os.Getenv("DX_IDS"); env != "" {
		var err error
		if n, err = strconv.ParseUint(env, 10, 32); err != nil {
			t.Fatal(err)
		}
	}
	const sets = 4 // so that what else the test holds is little beside them
	for _, p := range idPatterns {
		t.Run(p.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			all := make([]idSet, sets)
			before := heapInUse()
			begun := time.Now()
			for s := range all {
				for i := range n {
					all[s].add(p.id(i, r))
				}
			}
			took := time.Since(begun)
			total := sets * float64(n)
			used := float64(int64(heapInUse()) - int64(before))
			reported := 0.0
			for s := range all {
				reported += float64(all[s].size())
			}
			t.Logf("%.2f bytes an id, the metric says %.2f; %.0f ns to add one", used/total, reported/total, float64(took.Nanoseconds())/total)
			const others = 64 << 10 // the runtime and the testing package keep something meanwhile
			if used > p.most*total+others {
				t.Errorf("%.2f bytes an id, %.2f are stated", used/total, p.most)
			}
			if slack := 0.1*total + max(used, 0)/4 + 100_000; reported < used-slack || reported > used+slack {
				t.Errorf("the metric says %.0f bytes, there are %.0f", reported, used)
			}
			runtime.KeepAlive(all)
		})
	}
}

// A placement's id is used up under every rule that has one (the set alone is tested
// above): an id far below all others too.
func TestIDsOfPlacements(t *testing.T) {
	v, do := opened(t)
	for _, id := range []uint64{5, math.MaxUint64, 1, 1 << 40, 6} {
		c := &core.PlaceOrder{User: 1, ClientID: id, Market: 9, Tick: 5000, Qty: 1}
		if r := do(c); r != core.UnknownMarket {
			t.Errorf("id %d: %v", id, r)
		}
		if r := do(c); r != core.DuplicateClientOrderID || !v.UsedID(1, id) {
			t.Errorf("id %d again: %v", id, r)
		}
	}
	if v.UsedID(1, 7) || v.UsedID(2, 5) {
		t.Error("an id that nobody used")
	}
}
