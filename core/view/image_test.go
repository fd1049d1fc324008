package view

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"duplex/core"
)

// randomCommands folds random commands of a few users.
type randomCommands struct {
	w    *View
	r    *rand.Rand
	seq  uint64
	open []core.OrderID
}

func (c *randomCommands) step() {
	c.seq++
	st := core.Stamp{Seq: c.seq, Ts: int64(c.seq) * second}
	user := core.UserID(1 + c.r.IntN(4))
	pick := func() core.OrderID { return c.open[c.r.IntN(len(c.open))] }
	drop := func(id core.OrderID) {
		c.open = slices.DeleteFunc(c.open, func(x core.OrderID) bool { return x == id })
	}
	var e core.Event
	c.w.EndSeconds(st.Ts, &oneRound{at: core.Stamp{Seq: c.seq - 1, Ts: st.Ts - second}, q: core.Quote{Number: 1 + c.seq/8, Category: 1, CloseTs: st.Ts, Volume: core.Qty(c.seq)}, ok: true})
	switch kind := c.r.IntN(10); {
	case kind < 3 || len(c.open) < 2:
		var rej core.Reject
		if kind == 0 {
			rej = core.BadQty
		} else {
			c.open = append(c.open, core.OrderID(c.seq))
		}
		e = &core.OrderPlaced{Place: &core.PlaceOrder{User: user, ClientID: c.seq, Market: 1, Qty: 5, Tick: 5000}, Generation: 1, Reject: rej}
	case kind == 3:
		id := pick()
		drop(id)
		e = &core.OrderClosed{Order: id, Status: core.Canceled, Reason: core.UserCancel}
	case kind == 4:
		e = &core.OrderDecreased{Order: pick(), Left: 3}
	case kind == 5:
		a, b := pick(), pick()
		if a == b || c.w.resting[a].Left < 2 || c.w.resting[b].Left < 2 {
			return
		}
		e = &core.Filled{Market: core.MarketID(1 + c.r.IntN(2)), Taker: a, Maker: b, Qty: 1, TickYes: 5000}
	case kind == 6:
		e = &core.AccountSettled{User: user, Number: c.seq, Payout: 1}
	case kind == 7:
		amount := core.Pips(c.seq)
		e = []core.Event{
			&core.WithdrawalChanged{Withdrawal: core.Withdrawal{ID: 1 + c.seq%3, User: user, Amount: amount}},
			&core.Deposited{User: user, DepositID: "some id", Amount: amount},
			&core.Transferred{ClientID: "move", From: user, To: user%4 + 1, Amount: amount, Seq: c.seq},
			&core.Redeemed{User: user, Market: 1, Qty: 1, Credit: core.Payout},
			&core.ForecastSubmitted{User: user, Market: 1, Generation: 1, P: core.Probability(c.r.IntN(10_001))},
		}[c.r.IntN(5)]
		if _, is := e.(*core.ForecastSubmitted); is && c.w.rounds.newestOf[1] == nil {
			return
		}
	case kind == 8:
		e = &core.Indexed{Tick: core.IndexTick{Feed: core.Gold, Second: int64(c.seq), Price: core.Price(1 + c.r.Uint64N(1000)), Count: 1}}
	default:
		status := core.Trading
		if c.seq%8 == 7 {
			status = core.Settled
		}
		e = &core.RoundChanged{Round: core.Round{Market: 1, Number: 1 + c.seq/8, Category: 1, Status: status, Strike: core.Price(c.seq)}}
	}
	c.w.Fold(st, []core.Event{e})
	audit := core.Audit{Who: "operator", Why: "news"}
	switch c.seq % 3 {
	case 0:
		c.w.Record(st, &core.PauseMarket{Market: 1, Audit: audit}, core.InvalidTransition, nil, nil)
	case 1:
		c.w.Record(st, &core.PostIndex{Tick: core.IndexTick{Price: 7}, Audit: audit}, core.OK, nil, nil)
	default:
		c.w.Record(st, &core.SuspendUser{User: user, Audit: audit}, core.OK, nil, nil)
	}
	if c.r.IntN(20) == 0 {
		c.w.Fold(st, []core.Event{&core.UserChanged{User: core.User{ID: core.UserID(len(c.w.accounts))}}})
	}
}

// busyLock folds random commands whenever it is locked, as if other goroutines ran first.
type busyLock struct{ *randomCommands }

func (b busyLock) Lock() {
	for range b.r.IntN(8) {
		b.step()
	}
}
func (b busyLock) Unlock() {}

// noLock is a lock that does nothing.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

type fataler interface {
	Helper()
	Fatal(...any)
}

// joinPieces returns all pieces in one, for comparisons and for fuzzing.
func joinPieces(t fataler, pieces iter.Seq2[[]byte, error]) []byte {
	t.Helper()
	var list [][]byte
	for b, err := range pieces {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(b))
	}
	b, err := encoding.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func encodeView(t fataler, w *View) []byte {
	t.Helper()
	m := w.Image()
	defer m.End(noLock{})
	return joinPieces(t, m.Pieces(noLock{}))
}

// restorePieces restores a view from joined pieces.
func restorePieces(b []byte, caps RetentionCaps) (*View, error) {
	var list [][]byte
	if err := cbor.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	return Restore(func(yield func([]byte, error) bool) {
		for _, b := range list {
			if !yield(b, nil) {
				return
			}
		}
	}, caps)
}

var smallCaps = RetentionCaps{Tape: 3, Terminal: 2, Rejects: 2, Fills: 3, Settlements: 2, Events: 6, Rounds: 2, Actions: 3, Routine: 2, Ledger: 5, AccountRounds: 2, Deposits: 2, Forecasts: 3}

// A view restored from a snapshot stays equal to the original under the same commands.
func TestRestoredViewStaysEqual(t *testing.T) {
	for seed := range uint64(200) {
		src := rand.NewPCG(seed, 2)
		c := &randomCommands{w: New(smallCaps), r: rand.New(src)}
		for range c.r.IntN(100) {
			c.step()
		}
		w, err := restorePieces(encodeView(t, c.w), smallCaps)
		if err != nil {
			t.Fatal(err)
		}
		alike := *src
		again := &randomCommands{w: w, r: rand.New(&alike), seq: c.seq, open: slices.Clone(c.open)}
		for range 40 {
			c.step()
			again.step()
			if !bytes.Equal(encodeView(t, c.w), encodeView(t, w)) {
				t.Fatalf("seed %d: the restored view differs after command %d", seed, c.seq)
			}
		}
	}
}

// An image shows the view as it was when the image began, although commands continue.
func TestImageIsConsistent(t *testing.T) {
	for seed := range uint64(200) {
		c := &randomCommands{w: New(smallCaps), r: rand.New(rand.NewPCG(seed, 1))}
		for range c.r.IntN(300) {
			c.step()
		}
		want := encodeView(t, c.w)
		image := c.w.Image()
		for range c.r.IntN(30) {
			c.step()
		}
		if got := joinPieces(t, image.Pieces(busyLock{c})); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: the image changed", seed)
		}
		if image.End(busyLock{c}); c.w.image != nil {
			t.Fatal("the view still copies accounts after End")
		}
	}
}

// Any number of readers list fills at a time. Each fill has its number.
func TestFillsAreNumberedForAllReaders(t *testing.T) {
	live := New(DefaultRetentionCaps())
	for seq := uint64(1); seq <= 3*chunkLen; seq++ {
		id := place(live, seq*10, core.OK)
		fill(live, seq*10+1, id, id, 4)
		if seq == chunkLen*3/2 {
			live.Fold(core.Stamp{Seq: seq*10 + 2}, []core.Event{
				&core.RoundChanged{Round: core.Round{Market: 1, Number: 1, Category: 1, Status: core.Trading}},
			})
		}
	}
	restored, err := restorePieces(encodeView(t, live), live.caps)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*View{live, restored} {
		var readers errgroup.Group
		for range 4 {
			readers.Go(func() error {
				want := w.accounts[1].fills.end()
				for n, f := range w.Fills(1, 0) {
					if want--; n != want || f.N != n {
						return fmt.Errorf("fill %d has number %d, want %d", n, f.N, want)
					}
				}
				return nil
			})
		}
		if err := readers.Wait(); err != nil {
			t.Error(err)
		}
	}
}
