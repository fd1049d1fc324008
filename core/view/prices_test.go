package view

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"duplex/core"
)

func foldTick(w *View, f core.Feed, at int64, p core.Price, sources uint8, manual bool) {
	w.Fold(core.Stamp{Seq: uint64(at), Ts: at * second}, []core.Event{&core.Indexed{Tick: core.IndexTick{Feed: f, Second: at, Price: p, Count: sources, Manual: manual}}})
}

// values copies what an iterator yields.
func values[T any](seq iter.Seq[*T]) (out []T) {
	for x := range seq {
		out = append(out, *x)
	}
	return out
}

// TestPriceTicks compares the history of a feed with a plain list, at every bound and size,
// while ticks are added, replaced, dropped and restored.
func TestPriceTicks(t *testing.T) {
	const most = 150
	w, r := New(DefaultRetentionCaps()), rand.New(rand.NewPCG(1, 2))
	w.prices[core.Gold] = newHistory[PriceTick](most)
	var want []PriceTick
	at, price := int64(1_800_000_000), core.Price(240_000_000_000)
	for n := range 400 {
		price += core.Price(r.Int64N(2_000_001)-1_000_000) * 1000
		x := PriceTick{Second: at, Price: price, Sources: uint8(r.IntN(3))}
		foldTick(w, core.Gold, at, x.Price, x.Sources, false)
		if want = append(want, x); r.IntN(5) == 0 { // an operator replaces it
			want[len(want)-1].Price++
			foldTick(w, core.Gold, at, x.Price+1, x.Sources, true)
		}
		if len(want) > most {
			want = want[1:]
		}
		if at++; r.IntN(10) == 0 {
			at += r.Int64N(1000)
		}
		if n%50 == 0 {
			restored, err := restorePieces(encodeView(t, w), w.caps)
			if err != nil || !bytes.Equal(encodeView(t, w), encodeView(t, restored)) {
				t.Fatalf("restored: %v", err)
			}
			w = restored
			w.prices[core.Gold].(*encodedHistory[PriceTick, *PriceTick]).max = most
		}
		if n%37 != 0 && n != 399 {
			continue
		}
		bounds := []int64{math.MinInt64, 0, math.MaxInt64}
		for _, x := range want {
			bounds = append(bounds, x.Second, x.Second+1)
		}
		for _, before := range bounds {
			end, _ := slices.BinarySearchFunc(want, before, func(x PriceTick, s int64) int { return cmp.Compare(x.Second, s) })
			for _, size := range []int{0, 1, 63, 64, 65, most, math.MaxInt} {
				list := slices.Clone(want[max(0, end-min(size, end)):end])
				slices.Reverse(list)
				if got := values(w.PriceTicks(core.Gold, before, size)); !slices.Equal(got, list) {
					t.Fatalf("%d ticks below %d:\ngot  %v\nwant %v", size, before, got, list)
				}
			}
		}
	}
	if got := values(w.PriceTicks(core.BTC, math.MaxInt64, 9)); got != nil {
		t.Errorf("BTC has %v", got)
	}
}

// An iterator shows the ticks of the time at which it was made.
func TestPriceTicksAfterTheLock(t *testing.T) {
	w := New(DefaultRetentionCaps())
	for s := range int64(100) {
		foldTick(w, core.BTC, s, core.Price(s+1), 1, false)
	}
	all := w.PriceTicks(core.BTC, math.MaxInt64, 1000)
	foldTick(w, core.BTC, 99, 7, 1, true)
	for s := range int64(100) {
		foldTick(w, core.BTC, 100+s, 8, 1, false)
	}
	got := values(all)
	if len(got) != 100 || got[0] != (PriceTick{99, 100, 1}) || got[99] != (PriceTick{0, 1, 1}) {
		t.Errorf("%d ticks, %v", len(got), got[0])
	}
}

// Decoding returns every tick and every row, extreme ones too.
func TestCodecOfPrices(t *testing.T) {
	var scratch []byte
	ticks := []PriceTick{{}, {math.MaxInt64, math.MaxUint64, 255}, {math.MinInt64, 0, 0}, {5, 100_000_000, 3}, {6, 300_000_000, 3}, {7, 1 << 63, 4}, {6, 1, 4}}
	if got, err := decodeChunk[PriceTick](encodeChunk[PriceTick](ticks, &scratch), len(ticks), 0); err != nil || !slices.Equal(got, ticks) {
		t.Errorf("%v, %v", got, err)
	}
	var low, high RoundSecond
	setExtremes(reflect.ValueOf(&low).Elem(), true)
	setExtremes(reflect.ValueOf(&high).Elem(), false)
	rows := []RoundSecond{low, high, low, {}, {Second: 1}, {Second: 2, Bid: 5}, {Second: 9, Bid: 5, Volume: 3}}
	b := encodeChunk[RoundSecond](rows, &scratch)
	if got, err := decodeChunk[RoundSecond](b, len(rows), 0); err != nil || !slices.Equal(got, rows) {
		t.Errorf("%v, %v", got, err)
	}
	for n := range b {
		if _, err := decodeChunk[RoundSecond](b[:n], len(rows), 0); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(b))
		}
	}
	for _, bad := range [][]byte{{1 << 6, 0}, {9 << 2, 0}} {
		if _, err := decodeChunk[PriceTick](bad, 1, 0); err == nil {
			t.Errorf("tick %x was accepted", bad)
		}
	}
	for _, bad := range [][]byte{{1 << 6}, {1 << 1, 9, 0}} {
		if _, err := decodeChunk[RoundSecond](bad, 1, 0); err == nil {
			t.Errorf("row %x was accepted", bad)
		}
	}
}

// oneRound is a Source with at most one live round.
type oneRound struct {
	at core.Stamp
	q  core.Quote
	ok bool
}

func (s *oneRound) Now() core.Stamp { return s.at }

func (s *oneRound) Quote(category uint16) (core.Quote, bool) {
	return s.q, s.ok && category == s.q.Category
}

// TestEndSeconds runs commands at the given times, in ms, on a round that closes at 10 s and
// is traded from the command of its number on: the volume after a command is its number.
func TestEndSeconds(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    []int64 // ms
		trade int     // the first command after which the round trades; it stops at over
		over  int
		want  string // second:volume
	}{
		{"one second", []int64{1000, 1100, 1999}, 1, 9, ""},
		{"seconds in turn", []int64{1000, 1500, 2000, 3999, 4000}, 1, 9, "1:2 2:3 3:4"},
		{"a gap has the state before it", []int64{1000, 1500, 5000}, 1, 9, "1:2 2:2 3:2 4:2"},
		{"the close ends the rows", []int64{8500, 3_600_000}, 1, 9, "8:1 9:1"},
		{"nothing at the close", []int64{8500, 10_000, 12_000}, 1, 2, "8:1 9:1"},
		{"from the second of the open", []int64{1000, 3700, 3800, 5000}, 2, 9, "3:3 4:3"},
		{"ends before the second of a void", []int64{1000, 2500, 3500, 3600, 5000}, 1, 3, "1:1 2:2"},
	} {
		w, src := New(DefaultRetentionCaps()), &oneRound{q: core.Quote{Number: 7, Category: 1, CloseTs: 10 * second}}
		restored, restoredSrc := w, *src
		for i, ms := range c.at {
			st := core.Stamp{Seq: uint64(i + 1), Ts: ms * core.NsPerMs}
			w.EndSeconds(st.Ts, src)
			b, err := restorePieces(encodeView(t, restored), w.caps) // restored before each command
			if err != nil {
				t.Fatal(err)
			}
			restored = b
			restored.EndSeconds(st.Ts, &restoredSrc)
			src.at, src.q.Volume, src.ok = st, core.Qty(i+1), i+1 >= c.trade && i+1 < c.over
			restoredSrc = *src
		}
		var got []string
		list := values(w.RoundSeconds(&core.Round{Category: 1, Number: 7}, math.MaxInt64, 1000))
		for _, x := range slices.Backward(list) {
			got = append(got, fmt.Sprintf("%d:%d", x.Second, x.Volume))
		}
		if s := fmt.Sprint(got); s != "["+c.want+"]" {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
		if !bytes.Equal(encodeView(t, w), encodeView(t, restored)) {
			t.Errorf("%s: other bytes after restores between the commands", c.name)
		}
	}
}

// Of each series the rows of 17 rounds are kept, and an image shows those of its time.
func TestRoundSecondsAreBounded(t *testing.T) {
	w, src := New(DefaultRetentionCaps()), &oneRound{ok: true}
	rows := func(number uint64) int {
		return len(values(w.RoundSeconds(&core.Round{Category: 1, Number: number}, math.MaxInt64, 1000)))
	}
	step := func(s int64) {
		w.EndSeconds(s*second, src)
		src.at = core.Stamp{Seq: uint64(s), Ts: s * second}
		src.q = core.Quote{Number: uint64(1 + s/100), Category: 1, CloseTs: math.MaxInt64}
	}
	for s := int64(1); s <= 3000; s++ {
		step(s)
	}
	for number, want := range map[uint64]int{13: 0, 14: 100, 29: 100, 30: 100, 31: 0} {
		if got := rows(number); got != want {
			t.Errorf("round %d has %d rows, want %d", number, got, want)
		}
	}
	want := encodeView(t, w)
	image := w.Image()
	defer image.End(noLock{})
	for s := int64(3001); s <= 3300; s++ {
		step(s)
	}
	if !bytes.Equal(joinPieces(t, image.Pieces(noLock{})), want) {
		t.Error("the image changed")
	}
	if got := values(w.RoundSeconds(&core.Round{Category: 77, Number: 30}, math.MaxInt64, 9)); got != nil {
		t.Errorf("a round of no series has %v", got)
	}
	for _, c := range []struct {
		number uint64
		status core.RoundStatus
		want   bool
	}{{1, core.Settled, false}, {31, core.Trading, true}, {30, core.Settled, true}} {
		if got := w.HasRoundSeconds(&core.Round{Category: 1, Number: c.number, Status: c.status}); got != c.want {
			t.Errorf("memory has the rows of round %d: %v", c.number, got)
		}
		if got := w.HasRoundSeconds(&core.Round{Category: 2, Number: c.number, Status: c.status}); got != (c.status == core.Trading) {
			t.Errorf("memory has the rows of round %d of a series without any: %v", c.number, got)
		}
	}
}

// TestSharedState checks that formats that are not read, other numbers of parts, and prices and seconds of
// what does not exist are errors.
func TestSharedState(t *testing.T) {
	w := New(DefaultRetentionCaps())
	s := sharedState{Format: stateFormat, Trail: w.auditTrail.state()}
	parts := []any{s.Format, s.Accounts, s.Tapes, s.Rounds, s.Trail, s.Prices, s.Seconds, s.Ledgers}
	for format, length := range map[uint64]int{3: -1, 4: 8, 5: 8, 6: 8, 7: -1} {
		parts[0] = format
		for n := range len(parts) + 1 {
			b, err := encoding.Marshal(parts[:n])
			if err != nil {
				t.Fatal(err)
			}
			if _, err = decodeShared(b); (err == nil) != (n == length) {
				t.Errorf("format %d with %d parts: %v", format, n, err)
			}
		}
	}
	for _, bad := range []sharedState{
		{Prices: [][]byte{{}}}, {Prices: make([][]byte, core.Feeds+1)}, {Seconds: []secondsState{{Category: 0, Rows: []byte{1, 1}}}},
		{Seconds: []secondsState{{Category: uint16(core.SeriesCount + 1), Rows: []byte{1, 1}}}}, {Seconds: []secondsState{{Category: 1, Rows: []byte{3, 1}}}},
	} {
		bad.Format, bad.Trail = stateFormat, s.Trail
		b, err := encoding.Marshal(&bad)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := encoding.Marshal([][]byte{b})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := restorePieces(pieces, w.caps); err == nil {
			t.Errorf("%+v was restored", bad)
		}
	}
}

// A day of ticks of a feed takes at most 5 bytes a tick in memory, with prices in cents.
func TestMemoryOfPrices(t *testing.T) {
	const most = 5 * priceCap
	w, r := New(DefaultRetentionCaps()), rand.New(rand.NewPCG(3, 4))
	before := heapBytes()
	price := core.Price(6_500_000_000_000)
	for s := range int64(priceCap + 1000) {
		price += core.Price(r.Int64N(1001)-500) * 1_000_000 // up to 5 dollars
		foldTick(w, core.BTC, 1_800_000_000+s, price, 3, false)
	}
	size := heapBytes() - before
	t.Logf("%d bytes for the ticks of a day, %.2f a tick", size, float64(size)/priceCap)
	if size > most {
		t.Errorf("more than the limit of %d", most)
	}
	if n := len(values(w.PriceTicks(core.BTC, math.MaxInt64, math.MaxInt))); n != priceCap {
		t.Errorf("%d ticks are kept", n)
	}
}
