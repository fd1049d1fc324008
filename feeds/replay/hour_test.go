package replay

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds"
	"duplex/feeds/sim"
)

// ground is a venue without a sequencer. The clock stamps its commands.
type ground struct {
	t   *testing.T
	mu  sync.Mutex
	v   *venue.Venue
	w   *view.View
	now core.Stamp
}

func (g *ground) do(cmd core.Command) core.Reject {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now.Seq, g.now.Ts = g.now.Seq+1, max(g.now.Ts+1, time.Now().UnixNano())
	ev := &core.Events{}
	r := g.v.Apply(g.now, cmd, ev)
	g.w.Fold(g.now, ev.List)
	return r
}

// submit delays each feed by another time, so that the ticks of one second always have the
// same order.
func (g *ground) submit(_ context.Context, cmd core.Command) error {
	if p, ok := cmd.(*core.PostIndex); ok {
		time.Sleep(time.Duration(p.Tick.Feed+1) * time.Millisecond)
	}
	if r := g.do(cmd); r != core.OK {
		return r
	}
	return nil
}

// play plays an hour of a recording on a venue, with two accounts that mint pairs in every
// market, and returns the final state, the view's rows and the number of settled rounds.
func play(t *testing.T, path string) (state, rows []byte, settled int) {
	synctest.Test(t, func(t *testing.T) {
		g := &ground{t: t, v: venue.New(), w: view.New(view.DefaultRetentionCaps())}
		for u := core.UserID(1); u <= 2; u++ {
			g.do(&core.CreateUser{Name: "n", TokenHash: [32]byte{byte(u)}})
			g.do(&core.Deposit{User: u, DepositID: "d" + string(rune('0'+u)), Amount: 100_000_000})
		}
		for f := range core.Feed(core.Feeds) {
			g.do(&core.SetSession{Feed: f, Open: true})
		}
		tape, err := Open(path, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := feeds.NewPoster(g.submit, tape.Sources()...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+time.Minute)
		defer cancel()
		time.Sleep(123_456 * time.Microsecond) // so that no price falls on a whole second
		done := make(chan struct{})
		go func() { defer close(done); p.Run(ctx) }()
		clock := time.NewTicker(250 * time.Millisecond)
		defer clock.Stop()
		for id := uint64(1); ctx.Err() == nil; {
			select {
			case <-clock.C:
			case <-ctx.Done():
				continue
			}
			g.do(&core.Clock{})
			if time.Now().Second() == 20 && time.Now().Nanosecond() < 250_000_000 {
				for m := core.MarketID(1); m <= venue.Slots; m++ {
					g.do(&core.PlaceOrder{User: 1, ClientID: id, Market: m, Side: core.Buy, Outcome: core.Yes, Tick: 6000, Qty: 3})
					g.do(&core.PlaceOrder{User: 2, ClientID: id, Market: m, Side: core.Buy, Outcome: core.No, Tick: 4000, Qty: 3})
					id++
				}
			}
		}
		<-done
		if state, err = g.v.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
		for b, err := range g.w.Image().Pieces(new(sync.Mutex)) {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, b...)
		}
		for r := range g.w.Rounds(0) {
			if r.Status == core.Settled && len(r.Evidence) > 0 {
				settled++
			}
		}
		cash, reserved := core.Pips(0), core.Pips(0)
		for u := core.UserID(1); u <= 2; u++ {
			c, r := g.v.Balance(u)
			cash, reserved = cash+c, reserved+r
		}
		sums := g.v.Sums()
		if cash != sums.Cash || reserved != sums.Reserved || sums.Cash+sums.Reserved+10000*core.Pips(sums.Pairs)+sums.Fees != 200_000_000 {
			t.Errorf("cash %d, reserved %d, sums %+v", cash, reserved, sums)
		}
	})
	return state, rows, settled
}

// TestReplayIsDeterministic plays a recorded hour with outages twice and compares state,
// settlements and evidence byte by byte.
func TestReplayIsDeterministic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hour.csv")
	record(t, path)
	state, rows, settled := play(t, path)
	again, rowsAgain, _ := play(t, path)
	if settled < 100 {
		t.Errorf("%d rounds settled in an hour", settled)
	}
	if !bytes.Equal(state, again) {
		t.Error("the states differ")
	}
	if !bytes.Equal(rows, rowsAgain) {
		t.Error("the rows of the view differ")
	}
}

// record records an hour of the simulator with outages.
func record(t *testing.T, path string) {
	synctest.Test(t, func(t *testing.T) {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := NewRecorder(file)
		if err != nil {
			t.Fatal(err)
		}
		world := sim.New(7)
		world.Outages(10 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for _, s := range world.Sources() {
			all.Go(func() { _ = rec.Tee(s).Run(ctx, func(core.Price, time.Time) {}) }) // returns the error of ctx
		}
		all.Wait()
		if err := rec.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
