package venue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"duplex/core"
)

// TestMakersOfAnEarlierRevision checks that not_after_ts and client_request_id have no effect before core.RevisionMakers, not
// even in the row of a redeem, and that a feed which falls silent cancels nothing.
func TestMakersOfAnEarlierRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionSteps)
	v.must(&core.PlaceOrder{User: 1, ClientID: 901, Market: 1, Tick: 4000, Qty: 5, NotAfter: 1, Flags: core.CancelOnPause})
	old := core.OrderID(v.st.Seq)
	for range 2 {
		v.must(&core.DecreaseOrder{User: 1, Order: old, Amount: 1, RequestID: 7})
	}
	for i, side := range []core.Outcome{core.Yes, core.No} { // two pairs each
		v.must(&core.PlaceOrder{User: 3, ClientID: uint64(910 + i), Market: 2, Outcome: side, Tick: 5000, Qty: 2})
		v.must(&core.PlaceOrder{User: 4, ClientID: uint64(910 + i), Market: 2, Outcome: side.Other(), Tick: 5000, Qty: 2})
	}
	redeem := func(u core.UserID, want uint64) {
		t.Helper()
		v.must(&core.Redeem{User: u, Market: 2, Qty: 1, RequestID: 8})
		if !slices.ContainsFunc(v.ev.List, func(e core.Event) bool { r, ok := e.(*core.Redeemed); return ok && r.RequestID == want }) {
			t.Errorf("the row of the redeem has not the id %d", want)
		}
	}
	redeem(3, 0)
	redeem(3, 0)
	before := v.Resting()
	v.st.Ts += 2 * v.rules.StaleNs
	v.must(&core.Clock{})
	if m, _ := v.Market(1); !v.paused(v.market(1)) || m.Status != core.Trading || v.Resting() != before {
		t.Errorf("market 1 is paused: %v, and %d orders rest, want true and %d", v.paused(v.market(1)), v.Resting(), before)
	}
	v.must(&core.ActivateRules{Revision: core.RevisionMakers})
	v.must(&core.DecreaseOrder{User: 1, Order: old, Amount: 1, RequestID: 7}) // it is new
	if r := v.do(&core.DecreaseOrder{User: 1, Order: old, Amount: 1, RequestID: 7}); r != core.DuplicateClientRequestID {
		t.Errorf("again: %v", r)
	}
	if r := v.do(&core.PlaceOrder{User: 1, ClientID: 902, Market: 1, Tick: 4000, Qty: 5, NotAfter: 1}); r != core.TooLate {
		t.Errorf("after the bound: %v", r)
	}
	redeem(4, 8)
}

// TestGroupsOfAnAccount checks how many groups of an account can have a bound, that each account has its own, and that
// an older revision has none.
func TestGroupsOfAnAccount(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionSteps)
	set := func(u core.UserID, id uint32) core.Reject {
		return v.do(&core.SetGroup{User: u, Group: id, FillLimit: 1, WindowMs: core.GroupWindowMin})
	}
	if r := set(1, 1); r != core.UnknownGroup {
		t.Errorf("before the revision: %v", r)
	}
	if r := v.do(&core.DeleteGroup{User: 1, Group: 1}); r != core.UnknownGroup {
		t.Errorf("a deletion before the revision: %v", r)
	}
	v.must(&core.ActivateRules{Revision: core.RevisionMakers})
	for id := range uint32(core.GroupsMax) {
		if r := set(1, id+1); r != core.OK {
			t.Fatalf("group %d: %v", id+1, r)
		}
	}
	for _, x := range []struct {
		user core.UserID
		id   uint32
		want core.Reject
	}{{1, core.GroupsMax + 1, core.GroupLimitReached}, {1, core.GroupsMax, core.OK}, {2, core.GroupsMax + 1, core.OK}, {99, 1, core.UnknownUser}} {
		if r := set(x.user, x.id); r != x.want {
			t.Errorf("group %d of %d: %v, want %v", x.id, x.user, r, x.want)
		}
	}
	v.must(&core.DeleteGroup{User: 1, Group: 5})
	if r := set(1, core.GroupsMax+1); r != core.OK {
		t.Errorf("after one was deleted: %v", r)
	}
}

// TestGroupWindow checks which fills count in which slice, beside a list of all fills, also when nothing was filled
// for a while.
func TestGroupWindow(t *testing.T) {
	const window, tenth = 1000, 100 * core.NsPerMs
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		g, at, all := group{limit: 1, window: window}, int64(origin), map[int64]core.Qty{}
		for range 60 {
			at += r.Int64N(4 * tenth)
			if r.IntN(8) == 0 {
				at += r.Int64N(20 * tenth)
			}
			if r.IntN(3) > 0 {
				n := core.Qty(1 + r.IntN(9))
				g.count(n, at)
				all[at/tenth] += n
			}
			want := core.Qty(0)
			for slice, n := range all {
				if slice >= at/tenth-10 {
					want += n
				}
			}
			if got := g.filled(at); got != want {
				t.Fatalf("%d contracts count in slice %d, want %d of %v", got, at/tenth, want, all)
			}
		}
	}
}
