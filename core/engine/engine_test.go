package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// clock is a clock that a test sets. It starts in the first second of a minute at which a
// round of every cadence opens.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(1_800_000_000*core.NsPerSec - 1_800_000_000*core.NsPerSec%(900*core.NsPerSec) + core.NsPerSec)
	return c
}

func (c *clock) now() int64           { return c.at.Load() }
func (c *clock) step(d time.Duration) { c.at.Add(int64(d)) }
func (c *clock) second() int64        { return c.now() / core.NsPerSec }

// options writes no snapshot but those that a test asks for: a machine that is held up would write one for
// the time that a command took.
func (c *clock) options(dir string) Options {
	return Options{Dir: dir, Now: c.now, SnapshotEvery: Backlog{1 << 60, 1 << 60, 1 << 60}}
}

func mustOpen(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustClose(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func do(t testing.TB, e *Engine, cmd core.Command) Receipt {
	t.Helper()
	r, err := e.Submit(context.Background(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// setUp creates two funded users, and a trading market of every BTC series.
func setUp(t *testing.T, e *Engine, c *clock) {
	t.Helper()
	for i := range 2 {
		do(t, e, &core.CreateUser{Name: fmt.Sprint("user", i), TokenHash: [32]byte{byte(i + 1)}})
		do(t, e, &core.Deposit{User: core.UserID(i + 1), DepositID: fmt.Sprint("d", i), Amount: 1_000_000_000})
	}
	openMarkets(t, e, c)
}

// openMarkets opens a market of every BTC series.
func openMarkets(t testing.TB, e *Engine, c *clock) {
	t.Helper()
	do(t, e, &core.SetSession{Feed: core.BTC, Open: true})
	do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second(), Price: 6_500_000_000_000, Count: 3}})
	waitUntil(t, e, func(v *venue.Venue, _ *view.View) bool { s, ok := v.Market(3); return ok && s.Status == core.Trading })
}

// doAll submits commands together. Only a tick off the grid may be rejected.
func doAll(t testing.TB, e *Engine, cmds []core.Command) {
	t.Helper()
	out, err := e.SubmitAll(context.Background(), cmds)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		if x.Err != nil || x.Receipt.Reject != core.OK && x.Receipt.Reject != core.BadPriceTick {
			t.Fatal(x.Err, x.Receipt.Reject)
		}
	}
}

// waitUntil waits until a condition holds that the engine brings about by itself.
func waitUntil(t testing.TB, e *Engine, ok func(*venue.Venue, *view.View) bool) {
	t.Helper()
	f := e.Follow()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for {
		var there bool
		e.Read(func(v *venue.Venue, w *view.View) { there = ok(v, w) })
		if there {
			return
		}
		if _, err := f.Next(ctx); err != nil {
			t.Fatal("the condition never held")
		}
	}
}

func buy(u core.UserID, id uint64, o core.Outcome, tick core.Tick, qty core.Qty) *core.PlaceOrder {
	return &core.PlaceOrder{User: u, ClientID: id, Market: 1, Side: core.Buy, Outcome: o, Tick: tick, Qty: qty}
}

// bytesOf encodes the whole state, which a restart must restore.
func bytesOf(t *testing.T, e *Engine) string {
	t.Helper()
	e.mu.RLock()
	im, err := e.captureLocked()
	e.mu.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	defer im.View.End(e.mu.RLocker())
	var to memory
	if _, err := im.Stream(&to, e.mu.RLocker(), func() error { return nil }, im.awaitHash); err != nil {
		t.Fatal(err)
	}
	return to.String()
}

// memory is a sink that keeps a snapshot in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Piece(b []byte) error { m.Write(b); return nil }
func (m *memory) EndPart() error       { return nil }

func TestPlacementIsAnsweredWithWhatHappened(t *testing.T) {
	c := newClock()
	e := mustOpen(t, c.options(t.TempDir()))
	defer mustClose(t, e)
	setUp(t, e, c)
	first := do(t, e, buy(1, 1, core.Yes, 5000, 10))
	second := do(t, e, buy(2, 1, core.No, 5000, 4))
	if second.Stamp.Seq <= first.Stamp.Seq || second.Stamp.Ts <= first.Stamp.Ts {
		t.Fatalf("stamps do not rise: %v then %v", first.Stamp, second.Stamp)
	}
	var fill *core.Filled
	for _, ev := range second.Events {
		if f, ok := ev.(*core.Filled); ok {
			fill = f
		}
	}
	if fill == nil || fill.Path != core.Mint || fill.Qty != 4 || fill.Maker != core.OrderID(first.Stamp.Seq) {
		t.Fatalf("fill %+v", fill)
	}
	if r := do(t, e, buy(2, 1, core.No, 5000, 4)); r.Reject != core.DuplicateClientOrderID {
		t.Fatalf("a repeat gave %v", r.Reject)
	}
}

// TestRestartBringsEverythingBack checks that a restart restores the state, after a stop and
// after a kill: then another engine opens a copy of the files of the running one.
func killed(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestRestartBringsEverythingBack(t *testing.T) {
	for _, how := range []string{"kill", "kill behind a snapshot", "stop"} {
		t.Run(how, func(t *testing.T) {
			c, dir := newClock(), t.TempDir()
			e := mustOpen(t, c.options(dir))
			setUp(t, e, c)
			for i := range uint64(20) {
				do(t, e, buy(1, i+1, core.Yes, 4000+core.Tick(i%5)*100, 3))
				if i == 10 && how != "kill" {
					if _, err := e.Snapshot(); err != nil {
						t.Fatal(err)
					}
				}
				do(t, e, buy(2, i+1, core.No, 5700, 2))
			}
			do(t, e, &core.CancelAll{User: 2})
			before := bytesOf(t, e)
			if how == "stop" {
				mustClose(t, e)
			} else {
				dir = killed(t, dir)
				defer mustClose(t, e)
			}
			again := mustOpen(t, c.options(dir))
			if bytesOf(t, again) != before {
				t.Fatal("state differs after the restart")
			}
			if r := do(t, again, buy(1, 5, core.Yes, 4000, 1)); r.Reject != core.DuplicateClientOrderID {
				t.Fatalf("a client order id of before gave %v", r.Reject)
			}
			mustClose(t, again)
			p, err := Verify(dir, nil)
			if err != nil || p.Commands == 0 {
				t.Fatalf("verify: %+v, %v", p, err)
			}
		})
	}
}

func TestRoundsRunByTheClockAlone(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	e := mustOpen(t, o)
	defer mustClose(t, e)
	setUp(t, e, c)
	do(t, e, buy(1, 1, core.Yes, 5000, 10))
	do(t, e, buy(2, 1, core.No, 5000, 10))
	for range 70 { // past the freeze at the minute and the dispute after it
		c.step(time.Second)
		do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second(), Price: 6_500_000_000_001, Count: 3}})
	}
	waitUntil(t, e, func(v *venue.Venue, w *view.View) bool {
		for r := range w.Rounds(0) {
			if r.Market == 1 && r.Generation == 1 {
				return r.Status == core.Settled && r.Winner == core.Yes && len(r.Evidence) >= 10
			}
		}
		return false
	})
	e.Read(func(v *venue.Venue, _ *view.View) {
		cash, _ := v.Balance(1)
		if want := core.Pips(1_000_000_000 - 10*5000 + 10*10000); cash != want {
			t.Errorf("the winner, a maker without fee, has %d, not %d", cash, want)
		}
	})
}

func TestCheckpointsAreCompared(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	o := c.options(dir)
	o.CheckpointEvery = time.Second
	e := mustOpen(t, o)
	setUp(t, e, c)
	for i := range uint64(5) {
		c.step(2 * time.Second)
		do(t, e, buy(1, i+1, core.Yes, 4000, 1))
	}
	var at uint64
	e.Read(func(*venue.Venue, *view.View) { at = e.replica.State.Seq })
	if at == 0 {
		t.Fatal("no checkpoint was taken")
	}
	e.mu.Lock()
	err := e.checkpoint(&core.Checkpoint{Seq: at, Hash: [32]byte{1}})
	e.mu.Unlock()
	if err == nil {
		t.Fatal("another state's hash was accepted")
	}
	mustClose(t, e)
	if _, err := Verify(dir, nil); err != nil {
		t.Fatal(err)
	}
}

// heldLog is a log that holds each proposed group back until it is released.
type heldLog struct {
	Log
	mu   sync.Mutex
	took chan struct{}
	fail error
}

func (h *heldLog) Propose(ctx context.Context, g journal.Group) error {
	if h.took != nil {
		h.took <- struct{}{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		return h.fail
	}
	return h.Log.Propose(ctx, g)
}

// queued waits until n commands wait in the queue, which nothing signals.
func queued(e *Engine, n int) {
	for e.QueueDepth() < n {
		time.Sleep(time.Millisecond)
	}
}

func heldEngine(t *testing.T, queue int) (*Engine, *heldLog) {
	t.Helper()
	c, h := newClock(), &heldLog{}
	o := c.options(t.TempDir())
	o.Queue = queue
	o.OpenLog = func(j journal.Options) (Log, error) {
		f, err := journal.Open(o.Dir, j)
		h.Log = f
		return h, err
	}
	e := mustOpen(t, o)
	setUp(t, e, c)
	return e, h
}

func TestShedAndUnknownAreNeverMixed(t *testing.T) {
	e, h := heldEngine(t, 16)
	defer mustClose(t, e)
	h.mu.Lock()
	h.took = make(chan struct{}, 8)
	ctx, cancel := context.WithCancel(context.Background())
	answers := make(chan error)
	submit := func(id uint64) {
		_, err := e.Submit(ctx, buy(1, id, core.Yes, 4000, 1))
		answers <- err
	}
	go submit(1)
	<-h.took // the log has the first group
	for id := uint64(2); id <= 5; id++ {
		go submit(id)
	}
	queued(e, 4)
	if _, err := e.Submit(context.Background(), buy(1, 9, core.Yes, 4000, 1)); !errors.Is(err, ErrShed) {
		t.Errorf("over a quarter of the queue: %v", err)
	}
	cancel()
	got := map[error]int{}
	for range 5 {
		got[<-answers]++
	}
	if got[ErrUnknown] != 1 || got[ErrShed] != 4 {
		t.Errorf("answers %v", got)
	}
	h.took = nil
	h.mu.Unlock()
	waitUntil(t, e, func(v *venue.Venue, _ *view.View) bool { return v.UsedID(1, 1) })
	e.Read(func(v *venue.Venue, _ *view.View) {
		for id := uint64(2); id <= 9; id++ {
			if v.UsedID(1, id) {
				t.Errorf("order %d was shed and executed", id)
			}
		}
	})
}

// TestABatchIsShedWhole checks that a batch whose context ends in the queue is shed as a whole
// (docs/rules/errors.md#shed).
func TestABatchIsShedWhole(t *testing.T) {
	e, h := heldEngine(t, 16)
	defer mustClose(t, e)
	h.mu.Lock()
	h.took = make(chan struct{}, 8)
	first, batch := make(chan error), make(chan error)
	go func() {
		_, err := e.Submit(context.Background(), buy(1, 1, core.Yes, 4000, 1))
		first <- err
	}()
	<-h.took // the log has the group
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		out, err := e.SubmitAll(ctx, []core.Command{buy(1, 2, core.Yes, 4000, 1), buy(1, 3, core.Yes, 4000, 1)})
		if out != nil {
			t.Errorf("%+v", out)
		}
		batch <- err
	}()
	queued(e, 2)
	full := make([]core.Command, 15)
	for i := range full {
		full[i] = buy(1, uint64(10+i), core.Yes, 4000, 1)
	}
	if _, err := e.SubmitAll(ctx, full); !errors.Is(err, ErrShed) || e.Stats().Shed.Load() != 15 {
		t.Errorf("%v, %d shed commands", err, e.Stats().Shed.Load())
	}
	cancel()
	if err := <-batch; !errors.Is(err, ErrShed) {
		t.Errorf("%v", err)
	}
	h.took = nil
	h.mu.Unlock()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestFailedLogStopsTheSequencer(t *testing.T) {
	e, h := heldEngine(t, 16)
	h.mu.Lock()
	h.fail = errors.New("disk is gone")
	h.mu.Unlock()
	if _, err := e.Submit(context.Background(), buy(1, 1, core.Yes, 4000, 1)); !errors.Is(err, ErrUnknown) {
		t.Errorf("the placement under way: %v", err)
	}
	<-e.Stopped()
	if _, err := e.Submit(context.Background(), buy(1, 2, core.Yes, 4000, 1)); !errors.Is(err, ErrStopped) {
		t.Errorf("the next placement: %v", err)
	}
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "disk is gone") {
		t.Errorf("it stopped because of %v", err)
	}
}

func TestManyCallersShareGroups(t *testing.T) {
	c := newClock()
	e := mustOpen(t, c.options(t.TempDir()))
	defer mustClose(t, e)
	setUp(t, e, c)
	before := e.Stats().Groups.Load()
	var wg sync.WaitGroup
	for u := core.UserID(1); u <= 2; u++ {
		for w := range uint64(16) {
			wg.Go(func() {
				for i := range uint64(10) {
					r, err := e.Submit(context.Background(), buy(u, 1+w*10+i, core.Yes, 4000, 1))
					if err != nil || r.Reject != core.OK {
						t.Errorf("%v %v", r.Reject, err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := e.Stats().Groups.Load() - before; n >= 320 {
		t.Errorf("%d groups for 320 commands", n)
	}
	e.Read(func(v *venue.Venue, _ *view.View) {
		v.Audit()
		if v.Resting() != 320 {
			t.Errorf("%d orders rest", v.Resting())
		}
	})
}

// TestNoEmptyGroup checks that a group whose callers have all given up is not persisted.
func TestNoEmptyGroup(t *testing.T) {
	e, h := heldEngine(t, 64)
	h.mu.Lock()
	h.took = make(chan struct{}, 8)
	answers := make(chan error, 1)
	go func() {
		_, err := e.Submit(context.Background(), buy(1, 1, core.Yes, 4000, 1))
		answers <- err
	}()
	<-h.took // the sequencer waits for the log with this order
	ctx, cancel := context.WithCancel(context.Background())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := e.Submit(ctx, buy(1, 2, core.Yes, 4000, 1))
		gaveUp <- err
	}()
	queued(e, 1)
	cancel()
	if err := <-gaveUp; !errors.Is(err, ErrShed) {
		t.Fatalf("a caller that gave up: %v", err)
	}
	h.mu.Unlock()
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	for p, err := range journal.Scan(e.opt.Dir, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Body) == 0 {
			t.Errorf("group %d has no command", p.Number)
		}
	}
}
