package venue

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"pgregory.net/rapid"

	"duplex/core"
)

// TestImageDoesNotChange checks that later commands do not change an image.
func TestImageDoesNotChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			v.Apply(s.stamp(), s.command(), &core.Events{})
		}
		want := bytesOf(t, v)
		image, err := v.Image()
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 60).Draw(t, "after") {
			v.Apply(s.stamp(), s.command(), &core.Events{})
		}
		tick, _, _, _ := v.Index(core.BTC)
		tick.Manual, tick.Price = true, tick.Price+1 // replaces the newest tick in place
		v.Apply(s.stamp(), &core.PostIndex{Tick: tick}, &core.Events{})
		if got, err := image.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the image changed, %v", err)
		}
	})
}

// TestImageIsTheState checks that an image's pieces are the encoding of state, and that its orders are
// in book order.
func TestImageIsTheState(t *testing.T) {
	if n := reflect.TypeFor[state]().NumField() - 1; n != stateFields {
		t.Fatalf("state has %d fields, stateFields says %d", n, stateFields)
	}
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		v.useRequest(1, 7) // without these the last fields are left out
		v.Apply(s.stamp(), &core.SetGroup{User: 1, Group: 9, FillLimit: 3, WindowMs: 1000}, &core.Events{})
		if rapid.Bool().Draw(t, "with accounts") {
			for _, c := range otherCommands() {
				v.Apply(s.stamp(), c, &core.Events{})
			}
		}
		if rapid.Bool().Draw(t, "empty schedule") {
			v.Apply(s.stamp(), &core.SetSchedule{Windows: []core.Window{}}, &core.Events{})
		}
		for range rapid.IntRange(0, 80).Draw(t, "commands") {
			v.Apply(s.stamp(), s.command(), &core.Events{})
		}
		v.Apply(s.stamp(), &core.BindOrders{User: 1, Group: 9, Line: core.Line{Node: 1, Session: 5}}, &core.Events{})
		v.asks.add(&core.Ask{ID: 1, Place: core.PlaceOrder{User: 1}, Expires: never})
		got := bytesOf(t, v)
		var x state
		if err := cbor.Unmarshal(got, &x); err != nil {
			t.Fatal(err)
		}
		want, err := encoding.Marshal(&x)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%x\nis encoded again as\n%x, %v", got, want, err)
		}
		i := 0
		for m := range v.markets {
			if b := v.markets[m].book; b != nil {
				for _, bid := range [2]bool{true, false} {
					for r := range b.Orders(bid) {
						if x.Orders[i].ID != b.At(r).ID {
							t.Fatalf("order %d of the state is %d, in the books it is %d", i, x.Orders[i].ID, b.At(r).ID)
						}
						i++
					}
				}
			}
		}
		if i != len(x.Orders) {
			t.Fatalf("%d orders, %d in the books", len(x.Orders), i)
		}
	})
}

// TestEmptyListsAtTheEnd checks that client_request_ids and groups are fields of the state only if there are any, so that
// their absence does not change a state hash, and that each such state is restored as it was. A new venue has the fewest.
func TestEmptyListsAtTheEnd(t *testing.T) {
	if n, err := readArrayHead(piecesOf(t, New())[0]); n != 16 || err != nil {
		t.Errorf("a new venue has %d fields, %v", n, err)
	}
	for _, c := range []struct {
		request uint64
		group   uint32
		again   core.Reject // the same decrease
		fields  int
	}{{0, 0, core.OK, 25}, {1, 0, core.DuplicateClientRequestID, 26}, {0, 4, core.OK, 27}, {1, 4, core.DuplicateClientRequestID, 27}} {
		v, do := opened(t)
		do(&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Tick: 4000, Qty: 9})
		decrease := &core.DecreaseOrder{User: 2, Order: core.OrderID(v.Now().Seq), Amount: 1, RequestID: c.request}
		do(decrease)
		set := do(&core.SetGroup{User: 2, Group: c.group, FillLimit: 5, WindowMs: 1000})
		list := piecesOf(t, v)
		if n, err := readArrayHead(list[0]); n != c.fields || err != nil {
			t.Errorf("%+v: %d fields, %v", c, n, err)
		}
		w, hash, err := RestorePieces(sequence(list))
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if of, err := w.Hash(); of != hash || err != nil {
			t.Errorf("%+v: hash %x after the restore, not %x, %v", c, of, hash, err)
		}
		st := core.Stamp{Seq: v.Now().Seq + 1, Ts: v.Now().Ts + 1}
		again, groups := w.Apply(st, decrease, &core.Events{}), slices.Collect(w.Groups(2, st.Ts))
		if again != c.again || (len(groups) == 1) != (set == core.OK) {
			t.Errorf("%+v: the decrease again is %v, groups %v", c, again, groups)
		}
	}
}

// TestAppendHead checks that heads are as the CBOR library writes them, and that readArrayHead accepts
// those heads only.
func TestAppendHead(t *testing.T) {
	for _, n := range []int{0, 1, 23, 24, 255, 256, 65_535, 65_536, 1 << 20} {
		list, err := encoding.Marshal(make([]bool, n))
		if err != nil {
			t.Fatal(err)
		}
		if head := appendHead(nil, cborArray, uint64(n)); !bytes.HasPrefix(list, head) || len(list) != len(head)+n {
			t.Errorf("the head of %d items is %x", n, head)
		}
		text, err := encoding.Marshal(make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		if head := appendHead(nil, cborBytes, uint64(n)); !bytes.HasPrefix(text, head) || len(text) != len(head)+n {
			t.Errorf("the head of %d bytes is %x", n, head)
		}
	}
	for _, n := range []int{0, 23, 24, 255, 256, 65_535, 65_536, 1 << 20} {
		if m, err := readArrayHead(appendHead(nil, cborArray, uint64(n))); m != n || err != nil {
			t.Errorf("%d is read as %d, %v", n, m, err)
		}
	}
	for _, b := range [][]byte{nil, {0x80, 0}, {0x98, 1}, {0x9f}, {0xa0}, {0x9a, 0, 0, 0, 1}} {
		if n, err := readArrayHead(b); err == nil {
			t.Errorf("%x is read as the head of %d items", b, n)
		}
	}
	for n, want := range map[uint64]string{1<<32 - 1: "9affffffff", 1 << 32: "9b0000000100000000"} {
		if got := fmt.Sprintf("%x", appendHead(nil, cborArray, n)); got != want {
			t.Errorf("the head of %d items is %s", n, got)
		}
	}
}

// TestImagesBesideCommands checks that an image can be encoded while commands are applied, and keeps the
// hash of its moment. The race detector must find nothing.
func TestImagesBesideCommands(t *testing.T) {
	v, do := keyVenue()
	r := rand.New(rand.NewPCG(3, 4))
	n := 0
	change := func() {
		n++
		u := core.UserID(1 + n%3)
		for range 20 {
			do(&core.PlaceOrder{User: u, ClientID: r.Uint64() >> (n % 60), Market: 1})
		}
		do(&core.Deposit{User: u, DepositID: fmt.Sprint(r.Uint32()), Amount: 5})
		do(&core.RequestWithdrawal{User: u, ClientID: fmt.Sprint(n), Amount: 1, Destination: "d"})
		do(&core.DecideWithdrawal{Withdrawal: v.Now().Seq - uint64(r.IntN(200)), Complete: n%2 == 0})
		do(&core.CreateKey{User: u, Key: fmt.Sprint("k", n)})
		do(&core.ResealKey{Key: fmt.Sprint("k", r.IntN(n)), Sealed: []byte{1}})
		do(&core.RevokeKey{User: u, Key: fmt.Sprint("k", r.IntN(n))})
	}
	for range 30 {
		change()
		want, err := v.Hash()
		if err != nil {
			t.Fatal(err)
		}
		image, err := v.Image()
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan [32]byte)
		go func() {
			hash, err := image.Hash()
			if err != nil {
				t.Error(err)
			}
			got <- hash
		}()
		for range 10 {
			change()
		}
		if hash := <-got; hash != want {
			t.Fatalf("%x, not %x", hash, want)
		}
	}
}
