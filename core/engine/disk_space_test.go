package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// TestNearlyFullDisk checks that a nearly full disk refuses placements and nothing else, and
// that placements are accepted again when there is space.
func TestNearlyFullDisk(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { // virtual time: a measurement is used for 250 ms
		var left atomic.Int64
		var broken atomic.Pointer[error]
		left.Store(1 << 40)
		c := newClock()
		o := c.options(dir)
		o.Free = func() (uint64, error) {
			if err := broken.Load(); err != nil {
				return 0, *err
			}
			return uint64(left.Load()), nil
		}
		e := mustOpen(t, o)
		defer mustClose(t, e)
		setUp(t, e, c)
		ctx := context.Background()
		first := do(t, e, buy(1, 1, core.Yes, 4000, 1))
		left.Store(minFreeBytes - 1)
		time.Sleep(freeSpaceCacheTime + 1)
		for name, cmd := range map[string]core.Command{
			"a placement": buy(1, 2, core.Yes, 4000, 1), "redeeming": &core.Redeem{User: 1, Market: 1, Qty: 1}, "a withdrawal": &core.RequestWithdrawal{User: 1, ClientID: "w", Amount: 1, Destination: "d"},
		} {
			if _, err := e.Submit(ctx, cmd); !errors.Is(err, ErrShed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := e.SubmitAll(ctx, []core.Command{buy(1, 3, core.Yes, 4000, 1)}); !errors.Is(err, ErrShed) {
			t.Errorf("a batch: %v", err)
		}
		for name, cmd := range map[string]core.Command{
			"a cancel": &core.CancelOrder{User: 1, Order: core.OrderID(first.Stamp.Seq)}, "a deposit": &core.Deposit{User: 1, DepositID: "more", Amount: 1}, "a pause": &core.PauseMarket{Market: 2},
		} {
			if r, err := e.Submit(ctx, cmd); err != nil || r.Reject != core.OK {
				t.Errorf("%s: %v %v", name, r.Reject, err)
			}
		}
		left.Store(minFreeBytes)
		time.Sleep(freeSpaceCacheTime + 1)
		do(t, e, buy(1, 4, core.Yes, 4000, 1))
		err := error(syscall.EIO)
		broken.Store(&err) // the space cannot be measured: placements go on
		time.Sleep(freeSpaceCacheTime + 1)
		do(t, e, buy(1, 5, core.Yes, 4000, 1))
		e.Read(func(v *venue.Venue, _ *view.View) {
			for id, want := range map[uint64]bool{1: true, 2: false, 3: false, 4: true, 5: true} {
				if v.UsedID(1, id) != want {
					t.Errorf("order %d sequenced: %t", id, !want)
				}
			}
		})
	})
}
