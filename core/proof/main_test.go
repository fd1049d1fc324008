package proof

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
)

// Tests use small segments, because a journal fills its segments of 64 MB with zeros ahead.
func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20
	code := m.Run()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// world is an engine with a clock that the test sets.
type world struct {
	t    testing.TB
	e    *engine.Engine
	o    engine.Options
	at   atomic.Int64
	last map[core.UserID]uint64 // client order ids
}

// boundary is a time at which a round of every cadence begins, in ns.
const boundary = 1_800_000_000 / 900 * 900 * core.NsPerSec

func newWorld(t testing.TB, dir string) *world {
	w := &world{t: t, last: map[core.UserID]uint64{}}
	w.at.Store(boundary - 2*core.NsPerSec)
	w.o = engine.Options{Dir: dir, Now: w.at.Load, CheckpointEvery: 10 * time.Second}
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	e, err := engine.Open(w.o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.e = e
}

func (w *world) stop() {
	w.t.Helper()
	if err := w.e.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// do submits a command and returns its seq. It fails the test if the command is rejected.
func (w *world) do(cmd core.Command) uint64 {
	w.t.Helper()
	r, err := w.e.Submit(context.Background(), cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Stamp.Seq
}

func (w *world) order(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, tick core.Tick, qty core.Qty) core.OrderID {
	w.t.Helper()
	w.last[u]++
	return core.OrderID(w.do(&core.PlaceOrder{User: u, ClientID: w.last[u], Market: m, Side: s, Outcome: o, Tick: tick, Qty: qty}))
}

// price posts the index of the current second.
func (w *world) price(f core.Feed, p core.Price) {
	w.t.Helper()
	w.do(&core.PostIndex{Tick: core.IndexTick{Feed: f, Second: w.at.Load() / core.NsPerSec, Price: p, Count: 3, Sources: []core.SourcePrice{{Name: "a", Price: p}}}})
}

// second lets a second pass and applies what is due.
func (w *world) second(n int) {
	for range n {
		w.at.Add(core.NsPerSec)
		w.do(&core.Clock{})
	}
}

// waitFor waits until round n has a status that the engine brings about.
func (w *world) waitFor(n uint64, s core.RoundStatus) core.Round {
	w.t.Helper()
	f := w.e.Follow()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for {
		var got core.Round
		w.e.Read(func(v *venue.Venue, _ *view.View) {
			for id := core.MarketID(1); id <= venue.Slots; id++ {
				if m, ok := v.Market(id); ok && m.Number == n {
					got = m.Round
				}
			}
		})
		if got.Status == s {
			return got
		}
		if _, err := f.Next(ctx); err != nil {
			w.t.Fatalf("round %d is %q", n, got.Status)
		}
	}
}

// accounts creates n accounts with $10,000 each; the last has referred the first.
func (w *world) accounts(n int) {
	for i := n; i >= 1; i-- {
		w.do(&core.CreateUser{Name: fmt.Sprint("user", i), TokenHash: [32]byte{byte(i)}, Referrer: core.UserID(map[bool]int{i == 1: 1}[true])})
	}
	for i := 1; i <= n; i++ {
		w.do(&core.Deposit{User: core.UserID(i), DepositID: fmt.Sprint("d", i), Amount: 100_000_000})
	}
}

// shared is a journal with settled and other rounds that tests read.
var shared struct {
	once sync.Once
	dir  string
	err  error
}

// journalDir returns the folder of a journal. settledRound has fills on all paths, shares of fees and
// a redemption; operatorRound is settled at the second price of an operator.
func journalDir(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "proof-test-"); shared.err == nil {
			play(t, shared.dir)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.dir
}

const start = core.Price(6_500_000_000_000)

func play(t testing.TB, dir string) {
	w := newWorld(t, dir)
	w.accounts(4)
	w.do(&core.SetFees{Fees: core.Fees{Maker: 10, Taker: 250, RebatePct: 20, ReferPct: 10}})
	for _, f := range []core.Feed{core.BTC, core.Gold, core.WTI} {
		w.do(&core.SetSession{Feed: f, Open: true})
		w.price(f, start)
	}
	w.second(1)
	w.price(core.BTC, start+1)
	w.second(1) // the boundary: the 60 s rounds open; the longer ones have opened late before it
	btc := w.roundOf(1)
	m := btc.Market
	maker := w.order(1, m, core.Buy, core.Yes, 4800, 30)
	w.order(2, m, core.Buy, core.No, 5300, 20)  // mint
	w.order(3, m, core.Buy, core.No, 5200, 10)  // mint
	w.order(2, m, core.Sell, core.No, 5400, 5)  // rests
	w.order(4, m, core.Buy, core.No, 5400, 5)   // direct
	w.order(1, m, core.Sell, core.Yes, 4500, 8) // rests
	w.order(3, m, core.Sell, core.No, 5000, 4)  // merge
	w.do(&core.SetFees{Fees: core.Fees{Maker: 0, Taker: 100, RebatePct: 50, ReferPct: 0}})
	w.order(1, m, core.Buy, core.No, 5500, 6) // no fill with one's own order
	w.order(4, m, core.Buy, core.Yes, 6000, 3)
	gone := w.order(2, m, core.Buy, core.Yes, 1000, 7)
	w.do(&core.CancelOrder{User: 2, Order: gone})
	w.order(3, m, core.Buy, core.Yes, 600, 9)
	w.do(&core.CancelAll{User: 3})
	_, _ = w.e.Submit(context.Background(), &core.CancelOrder{User: 2, Order: maker}) // another account's
	w.do(&core.Redeem{User: 4, Market: m, Qty: 2})
	w.do(&core.RequestWithdrawal{User: 4, ClientID: "w", Amount: 5, Destination: "bank"})
	for i := range core.Price(59) {
		w.second(1)
		if i%7 != 3 {
			w.price(core.BTC, start+i*1_000_001)
		}
		if i%3 == 0 {
			w.price(core.Gold, start+i)
		}
	}
	w.second(1)
	w.waitFor(btc.Number, core.Proposed)
	w.second(7)
	if r := w.waitFor(btc.Number, core.Settled); r.Number != settledRound || r.Winner != core.Yes || r.Covered != 10 {
		t.Fatalf("the round is %+v, want number %d settled for yes with 10 covered seconds", r, settledRound)
	}

	// The next round gets no price of its own, and those of an operator.
	w.price(core.BTC, start)
	w.second(1)
	next := w.roundOf(1)
	w.order(1, next.Market, core.Buy, core.Yes, 7000, 12)
	w.order(2, next.Market, core.Buy, core.No, 3000, 12)
	w.second(54)
	w.waitFor(next.Number, core.Frozen)
	by := core.Audit{Who: "operator", Why: "no source answers"}
	w.do(&core.ProposePrice{Market: next.Market, Price: start + 9, Audit: by})
	w.do(&core.ProposePrice{Market: next.Market, Price: start - 9, Audit: by})
	w.second(7)
	if r := w.waitFor(next.Number, core.Settled); r.Number != operatorRound || r.Winner != core.No || !r.ByOperator {
		t.Fatalf("the round is %+v, want number %d settled for no by the operator", r, operatorRound)
	}
	if r := w.waitFor(voidRound, core.Void); r.Category != 7 {
		t.Fatalf("the void round is %+v, want category 7", r)
	}
	w.stop()
}

// The rounds of journalDir by what became of them.
const (
	settledRound  = 1
	liveRound     = 2
	emptyRound    = 4 // nobody traded
	voidRound     = 7
	operatorRound = 10
)

// roundOf returns the newest round of a category.
func (w *world) roundOf(category uint16) (r core.Round) {
	w.t.Helper()
	w.e.Read(func(v *venue.Venue, _ *view.View) {
		for id := core.MarketID(1); id <= venue.Slots; id++ {
			if m, ok := v.Market(id); ok && m.Category == category && m.Number > r.Number {
				r = m.Round
			}
		}
	})
	if r.Number == 0 {
		w.t.Fatalf("no round of category %d", category)
	}
	return r
}

// bundle returns the bundle of a round.
func bundle(t testing.TB, dir string, round uint64) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, dir, round, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
