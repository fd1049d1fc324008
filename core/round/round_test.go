package round

import (
	"math"
	"testing"

	"duplex/core"
	"duplex/core/feed"
)

// quarter is a Unix time in ns at which a period of every cadence starts.
const quarter = int64(1_800_000_000) / 900 * 900 * core.NsPerSec

func series(cadence int64) core.Series { return core.Series{Category: 1, Cadence: cadence, Window: 10} }

func TestPeriod(t *testing.T) {
	for _, c := range []struct{ cadence, at, start, end int64 }{
		{1, 0, 0, 60}, {1, 59, 0, 60}, {1, 60, 60, 120},
		{5, 299, 0, 300}, {5, 300, 300, 600},
		{15, 899, 0, 900}, {15, 900, 900, 1800},
	} {
		start, end := Period(series(c.cadence), quarter+c.at*core.NsPerSec)
		if start != quarter+c.start*core.NsPerSec || end != quarter+c.end*core.NsPerSec {
			t.Errorf("cadence %d at %d s: period from %d to %d s, want %d to %d s", c.cadence, c.at, (start-quarter)/core.NsPerSec, (end-quarter)/core.NsPerSec, c.start, c.end)
		}
	}
}

// TestMayOpen checks the bounds of docs/rules/rounds.md#opening and
// docs/rules/rounds.md#late-opening.
func TestMayOpen(t *testing.T) {
	const had, none = 0, -1 // the last round was in this period, or in the one before
	for _, c := range []struct {
		story    string
		cadence  int64
		at, last int64 // at: ns into the period
		opens    bool
	}{
		{"at the boundary", 1, 0, none, true},
		{"just before 5 s", 1, 5*core.NsPerSec - 1, none, true},
		{"at 5 s", 1, 5 * core.NsPerSec, none, false},
		{"a second round of the period", 1, 1, had, false},
		{"5 m, late", 5, 5 * core.NsPerSec, none, true},
		{"5 m, with 60 s left", 5, 240 * core.NsPerSec, none, true},
		{"5 m, with less", 5, 240*core.NsPerSec + 1, none, false},
		{"5 m, a second round late in the period", 5, 100 * core.NsPerSec, had, false},
		{"15 m, with 60 s left", 15, 840 * core.NsPerSec, none, true},
		{"15 m, with less", 15, 840*core.NsPerSec + 1, none, false},
		{"15 m, a second round", 15, 2, had, false},
	} {
		period := c.cadence * 60 * core.NsPerSec
		ts := quarter + c.at
		ok, next := MayOpen(series(c.cadence), ts, quarter+c.last*period)
		want := ts
		if !c.opens {
			want = quarter + period
		}
		if ok != c.opens || next != want {
			t.Errorf("%s: %v, next %d ns after the start of the period", c.story, ok, next-quarter)
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
		t.Errorf("%+v, want %+v", r, want)
	}
}

// TestCoverage checks that 80 % of the window's seconds, rounded up, and one fresh source
// are enough.
func TestCoverage(t *testing.T) {
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
		if got := HasCoverage(&r, &core.Rules{}); got != c.want {
			t.Errorf("%d of %d s, %d sources: coverage %v", c.covered, c.window, c.fresh, got)
		}
	}
}

// TestCoverageWithMinSources checks that a minimum of sources applies to its feed only.
func TestCoverageWithMinSources(t *testing.T) {
	rules := &core.Rules{MinSources: [core.Feeds]uint8{core.BTC: 2}}
	for _, c := range []struct {
		feed  core.Feed
		fresh uint8
		want  bool
	}{{core.BTC, 0, false}, {core.BTC, 1, false}, {core.BTC, 2, true}, {core.BTC, 3, true}, {core.Gold, 0, false}, {core.Gold, 1, true}} {
		r := core.Round{Feed: c.feed, Window: 10, Covered: 10, FreshCount: c.fresh, Status: core.Frozen, FreezeTs: 5}
		if got := HasCoverage(&r, rules); got != c.want {
			t.Errorf("%s, %d sources: coverage %v", c.feed, c.fresh, got)
		}
		if due := NextTransition(&r, rules); (due == 6) != c.want {
			t.Errorf("%s, %d sources: next transition at %d", c.feed, c.fresh, due)
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
			t.Errorf("price %d: %+v, want %+v", c.price, r, want)
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
				t.Errorf("%v, winner %q: payout %d, want %d", status, winner, got, want)
			}
		}
	}
}

func TestNextTransition(t *testing.T) {
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
		if got := NextTransition(&r, rules); got != c.want {
			t.Errorf("%v with %d sources: %d, want %d", c.status, c.fresh, got, c.want)
		}
	}
}
