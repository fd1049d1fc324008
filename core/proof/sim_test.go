package proof

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"duplex/core"
	"duplex/core/journal/logtest"
	"duplex/core/sim"
	"duplex/core/venue"
	"duplex/core/view"
)

// proveAll writes and checks the bundle of every settled round of a journal. It returns their
// number and that of their fills.
func proveAll(dir string) (settled, fills int, err error) {
	for n := uint64(1); ; n++ {
		var out bytes.Buffer
		if err := Write(&out, dir, n, nil); err != nil {
			if strings.Contains(err.Error(), "has not opened") {
				return settled, fills, nil
			}
			if !strings.HasSuffix(err.Error(), "a bundle is of a settled round") && !strings.Contains(err.Error(), "older than the journal") {
				return settled, fills, fmt.Errorf("round %d: %w", n, err)
			}
			continue
		}
		r, err := Check(&out)
		if err != nil {
			return settled, fills, fmt.Errorf("round %d: %w", n, err)
		}
		settled, fills = settled+1, fills+r.Fills
	}
}

// TestSimulations proves the rounds in the journals that simulated venues leave, with crashes,
// agents, and snapshots that have trimmed the journal.
func TestSimulations(t *testing.T) {
	rounds := 0
	for seed := range uint64(4) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			_, err := sim.Run(sim.Options{Seed: seed, Dir: dir, Journal: func(dir string) error {
				settled, _, err := proveAll(dir)
				rounds += settled
				return err
			}})
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
	if rounds < 4 {
		t.Errorf("%d settled rounds", rounds)
	}
}

// TestCorpus proves the rounds in the journals of every revision of the rules.
func TestCorpus(t *testing.T) {
	archives, err := filepath.Glob("../engine/testdata/*.tar.gz")
	if err != nil || len(archives) < 2 {
		t.Fatalf("%d journals: %v", len(archives), err)
	}
	for _, archive := range archives {
		settled, fills, err := proveAll(filepath.Join(logtest.Unpack(t, archive), "journal"))
		if err != nil || settled == 0 || fills == 0 {
			t.Errorf("%s: %d rounds with %d fills: %v", archive, settled, fills, err)
		}
		t.Logf("%s: %d rounds with %d fills", archive, settled, fills)
	}
}

// TestRandomRounds proves rounds of random commands: orders of every kind on every market, cancels,
// redemptions, changes of fees and rules, revoked keys, late and double prices.
func TestRandomRounds(t *testing.T) {
	rounds, trades := 0, 0
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		w := newWorld(t, dir)
		w.accounts(5)
		for f := range core.Feed(core.Feeds) {
			w.do(&core.SetSession{Feed: f, Open: true})
			w.price(f, start)
		}
		var orders []core.OrderID
		var markets []core.MarketID // some that trade
		id := uint64(0)
		command := func() core.Command {
			u := core.UserID(1 + r.IntN(5))
			switch r.IntN(20) {
			case 0:
				if len(orders) > 0 {
					return &core.CancelOrder{User: u, Order: orders[r.IntN(len(orders))]}
				}
			case 1:
				return &core.CancelAll{User: u, Market: core.MarketID(r.IntN(4)), Group: uint32(r.IntN(2))}
			case 2:
				return &core.Redeem{User: u, Market: markets[r.IntN(len(markets))], Qty: core.Qty(1 + r.IntN(3))}
			case 3:
				if taker := r.IntN(500); r.IntN(5) == 0 {
					return &core.SetFees{Fees: core.Fees{Maker: core.Rate(r.IntN(taker + 2)), Taker: core.Rate(taker), RebatePct: uint8(r.IntN(60)), ReferPct: uint8(r.IntN(50))}}
				}
			case 4:
				if rules := core.DefaultRules(); r.IntN(5) == 0 {
					rules.MinSources[r.IntN(core.Feeds)] = uint8(r.IntN(3))
					return &core.SetRules{Rules: rules}
				}
			case 5:
				if len(orders) > 0 {
					return &core.DecreaseOrder{User: u, Order: orders[r.IntN(len(orders))], To: r.IntN(2) == 0, Amount: core.Qty(r.IntN(4))}
				}
			case 6: // a price of another second
				now := w.at.Load() / core.NsPerSec
				return &core.PostIndex{Tick: core.IndexTick{Feed: core.Feed(r.IntN(core.Feeds)), Second: now + int64(r.IntN(6)-4), Price: start + core.Price(r.IntN(99)), Count: uint8(r.IntN(4)), Manual: r.IntN(2) == 0}}
			}
			id++
			c := &core.PlaceOrder{
				User: u, ClientID: id, Market: markets[r.IntN(len(markets))], Side: core.Side(r.IntN(3) / 2), Outcome: core.Outcome(r.IntN(2)),
				Tick: core.Tick(100 * (46 + r.IntN(9))), Qty: core.Qty(1 + r.IntN(9)), TIF: core.TIF(r.IntN(4)), Group: uint32(r.IntN(3)),
			}
			switch r.IntN(6) {
			case 0:
				c.Type, c.TIF, c.Tick, c.Unpriced = core.Market, core.IOC, 9999, true
				if core.IsBid(c.Side, c.Outcome) != (c.Outcome == core.Yes) {
					c.Tick = 1
				}
				c.MaxCost = uint64(r.IntN(100_000))
			case 1:
				c.Flags = core.Flags(r.IntN(int(core.AllFlags) + 1))
			}
			if c.TIF == core.GTT {
				c.Expiry = w.at.Load() + int64(r.IntN(20))*core.NsPerSec
			}
			return c
		}
		for range 150 {
			markets = markets[:0]
			w.e.Read(func(v *venue.Venue, _ *view.View) {
				for m := core.MarketID(1); m <= venue.Slots; m++ {
					if s, ok := v.Market(m); ok && s.Status == core.Trading && s.Category%3 != 2 {
						markets = append(markets, m)
					}
				}
			})
			for range min(1+r.IntN(15), 99*len(markets)) {
				if got, err := w.e.Submit(context.Background(), command()); err == nil {
					orders = append(orders, core.OrderID(got.Stamp.Seq))
				}
			}
			w.second(1)
			for f := range core.Feed(core.Feeds) {
				if r.IntN(9) > 0 {
					w.price(f, start+core.Price(r.IntN(1000)))
				}
			}
		}
		w.stop()
		settled, fills, err := proveAll(dir)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		rounds, trades = rounds+settled, trades+fills
	}
	if rounds < 12 || trades < 100 {
		t.Errorf("%d settled rounds with %d fills", rounds, trades)
	}
}
