package venue

import (
	"testing"

	"duplex/core"
)

// TestCloseByTheStamp checks that a placement is rejected if its stamp is at or after the market's close, to
// the nanosecond, and a preview if the time that it is given is.
func TestCloseByTheStamp(t *testing.T) {
	v, do := opened(t)
	do(&core.Clock{})
	m, _ := v.Market(1)
	id := uint64(0)
	place := func() *core.PlaceOrder {
		id++
		return &core.PlaceOrder{User: 1, ClientID: id, Market: 1, Tick: 5000, Qty: 1}
	}
	for _, c := range []struct {
		ts   int64
		want core.Reject
	}{{m.CloseTs - 1, core.OK}, {m.CloseTs, core.MarketNotTrading}, {m.CloseTs + 1, core.MarketNotTrading}} {
		if _, r := v.Preview(place(), c.ts); r != c.want {
			t.Errorf("a preview %d ns from the close: %v", c.ts-m.CloseTs, r)
		}
		if r := v.Apply(core.Stamp{Seq: v.Now().Seq + 1, Ts: c.ts}, place(), &core.Events{}); r != c.want {
			t.Errorf("%d ns from the close: %v", c.ts-m.CloseTs, r)
		}
	}
	if s, _ := v.Market(1); s.Status != core.Trading {
		t.Errorf("the market is %v: its clock tick has not come", s.Status)
	}
	// A placement's stamp is after the last command's, whatever time the preview names.
	if _, r := v.Preview(place(), 0); r != core.MarketNotTrading {
		t.Errorf("a preview behind the close: %v", r)
	}
}

// TestPreviewOfExpiry checks that a preview compares a gtt order's expiry with the time it is given, or with the
// least stamp of the next command if that is later.
func TestPreviewOfExpiry(t *testing.T) {
	v, _ := opened(t)
	c := &core.PlaceOrder{User: 1, ClientID: 1, Market: 2, Tick: 5000, Qty: 1, TIF: core.GTT, Expiry: v.Now().Ts + core.NsPerSec}
	if _, r := v.Preview(c, c.Expiry-1); r != core.OK {
		t.Error(r)
	}
	if _, r := v.Preview(c, c.Expiry); r != core.BadExpiry {
		t.Error(r)
	}
	next := v.Now().Ts + 1
	for _, ts := range []int64{0, next - 1, next} {
		for expiry, want := range map[int64]core.Reject{next: core.BadExpiry, next + 1: core.OK} {
			c.Expiry = expiry
			if _, r := v.Preview(c, ts); r != want {
				t.Errorf("expiry %d ns and preview %d ns after the next stamp: %v, want %v", expiry-next, ts-next, r, want)
			}
		}
	}
}
