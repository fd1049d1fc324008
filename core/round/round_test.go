package round

import (
	"math"
	"testing"

	"duplex/core"
	"duplex/core/feed"
)

// A Unix minute that starts every cadence.
const quarter = int64(1_800_000_000) / 900 * 900 * core.NsPerSec

func series(cadence int64) core.Series { return core.Series{Category: 1, Cadence: cadence, Window: 10} }

func TestStretch(t *testing.T) {
	for _, c := range []struct{ cadence, at, start, end int64 }{
		{1, 0, 0, 60}, {1, 59, 0, 60}, {1, 60, 60, 120},
		{5, 299, 0, 300}, {5, 300, 300, 600},
		{15, 899, 0, 900}, {15, 900, 900, 1800},
	} {
		start, end := Stretch(series(c.cadence), quarter+c.at*core.NsPerSec)
		if start != quarter+c.start*core.NsPerSec || end != quarter+c.end*core.NsPerSec {
			t.Errorf("%d m at %d s: from %d to %d", c.cadence, c.at, (start-quarter)/core.NsPerSec, (end-quarter)/core.NsPerSec)
		}
	}
}

// A round opens in the first 5 s of a stretch that has had none; the longer series
// also later, while at least 60 s are left (contract core, Rounds).
func TestMayOpen(t *testing.T) {
	const had, none = 0, -1 // the stretch at hand has had a round; the one before had
	for _, c := range []struct {
		story    string
		cadence  int64
		at, last int64 // at: ns into the stretch
		opens    bool
	}{
		{"at the boundary", 1, 0, none, true},
		{"just before 5 s", 1, 5*core.NsPerSec - 1, none, true},
		{"at 5 s it is late", 1, 5 * core.NsPerSec, none, false},
		{"a second one in its stretch", 1, 1, had, false},
		{"5 m, late", 5, 5 * core.NsPerSec, none, true},
		{"5 m, with 60 s left", 5, 240 * core.NsPerSec, none, true},
		{"5 m, with less", 5, 240*core.NsPerSec + 1, none, false},
		{"5 m, a second one late in its stretch", 5, 100 * core.NsPerSec, had, false},
		{"15 m, with 60 s left", 15, 840 * core.NsPerSec, none, true},
		{"15 m, with less", 15, 840*core.NsPerSec + 1, none, false},
		{"15 m, a second one", 15, 2, had, false},
	} {
		stretch := c.cadence * 60 * core.NsPerSec
		ts := quarter + c.at
		ok, next := MayOpen(series(c.cadence), ts, quarter+c.last*stretch)
		want := ts
		if !c.opens {
			want = quarter + stretch
		}
		if ok != c.opens || next != want {
			t.Errorf("%s: %v, next %d ns after the start of the stretch", c.story, ok, next-quarter)
		}
	}
}

func TestFreeze(t *testing.T) {
	var ring feed.Ring
	boundary := quarter / core.NsPerSec
	for s := boundary - 10; s <= boundary; s++ {
		ring.Put(core.IndexTick{Second: s, Price: core.Price(s - boundary + 11), Count: uint8(s - boundary + 20)})
	}
	r := core.Round{Status: core.Trading, CloseTs: quarter, Window: 4, Strike: 8}
	Freeze(&r, &ring, quarter+7)
	want := core.Round{Status: core.Frozen, CloseTs: quarter, Window: 4, Strike: 8, FreezeTs: quarter + 7, Settle: (7 + 8 + 9 + 10) / 4, Covered: 4, FreshCount: 19}
	if r != want {
		t.Errorf("%+v, not %+v", r, want)
	}
}

// 80 % of the window's seconds, rounded up, and one fresh source.
func TestDecided(t *testing.T) {
	for _, c := range []struct {
		window, covered int64
		fresh           uint8
		want            bool
	}{
		{10, 8, 1, true}, {10, 7, 1, false}, {10, 10, 0, false}, {10, 8, 3, true},
		{30, 24, 1, true}, {30, 23, 1, false}, {60, 48, 1, true}, {60, 47, 1, false},
		{1, 1, 1, true}, {1, 0, 1, false}, {3, 3, 1, true}, {3, 2, 1, false}, {4, 4, 1, true}, {4, 3, 1, false}, {200, 160, 1, true}, {200, 159, 1, false},
	} {
		r := core.Round{Window: c.window, Covered: c.covered, FreshCount: c.fresh}
		if got := Decided(&r); got != c.want {
			t.Errorf("%d of %d s, %d sources: %v", c.covered, c.window, c.fresh, got)
		}
	}
}

func TestPropose(t *testing.T) {
	for _, c := range []struct {
		price  core.Price
		winner core.Outcome
	}{{101, core.Yes}, {100, core.No}, {99, core.No}} {
		r := core.Round{Status: core.Frozen, Strike: 100, Gen: 2, Winner: core.NoOutcome}
		Propose(&r, c.price, true, 77)
		want := core.Round{Status: core.Proposed, Strike: 100, Gen: 3, Settle: c.price, Winner: c.winner, ProposedTs: 77, ByOperator: true}
		if r != want {
			t.Errorf("%d: %+v", c.price, r)
		}
	}
}

func TestYesPayout(t *testing.T) {
	for status := core.NeverOpened; status <= core.Void; status++ {
		for winner := core.Yes; winner <= core.NoOutcome; winner++ {
			want := 0
			if winner == core.Yes && (status == core.Proposed || status == core.Settled) {
				want = 100
			}
			if got := YesPayout(&core.Round{Status: status, Winner: winner}); got != want {
				t.Errorf("%v, winner %q: %d", status, winner, got)
			}
		}
	}
}

func TestDue(t *testing.T) {
	const never = math.MaxInt64
	rules := &core.Rules{DisputeNs: 5, CoverageWaitNs: 30}
	r := core.Round{CloseTs: 1000, FreezeTs: 2000, ProposedTs: 3000, Window: 10, Covered: 10}
	for _, c := range []struct {
		status core.RoundStatus
		fresh  uint8
		want   int64
	}{
		{core.Trading, 1, 1000},
		{core.Frozen, 1, 2001}, // proposed by the next clock tick
		{core.Frozen, 0, 2030},
		{core.Proposed, 1, 3005},
		{core.NeverOpened, 1, never}, {core.Settled, 1, never}, {core.Void, 1, never},
	} {
		r.Status, r.FreshCount = c.status, c.fresh
		if got := Due(&r, rules); got != c.want {
			t.Errorf("%v with %d sources: %d", c.status, c.fresh, got)
		}
	}
}
