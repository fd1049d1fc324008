package venue

import (
	"testing"

	"duplex/core"
)

// TestMakersOfAnEarlierRevision checks that not_after_ts and client_request_id have no effect before core.RevisionMakers, and
// that a feed which falls silent cancels nothing.
func TestMakersOfAnEarlierRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionSteps)
	v.must(&core.PlaceOrder{User: 1, ClientID: 901, Market: 1, Tick: 4000, Qty: 5, NotAfter: 1, Flags: core.CancelOnPause})
	old := core.OrderID(v.st.Seq)
	for range 2 {
		v.must(&core.DecreaseOrder{User: 1, Order: old, Amount: 1, RequestID: 7})
	}
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
}
