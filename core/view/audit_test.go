package view

import (
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
)

// record has one action of an operator, of the kind that comes often or of another.
func record(w *View, seq uint64, often bool) {
	var cmd core.Command = &core.SuspendUser{User: 1, Audit: core.Audit{Who: "operator", Why: "a test"}}
	if often {
		cmd = &core.PostIndex{Audit: core.Audit{Who: "operator"}}
	}
	w.Record(core.Stamp{Seq: seq, Ts: int64(seq)}, cmd, core.OK, nil)
}

func seqs(w *View, from uint64) (out []uint64) {
	for a := range w.Actions(from) {
		out = append(out, a.Seq)
	}
	return out
}

// Actions come newest first whatever ring they are in, and prices by hand push out
// prices only.
func TestActions(t *testing.T) {
	caps := DefaultCaps()
	caps.Actions, caps.Routine = 3, 2
	w := New(caps)
	if got := seqs(w, 0); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	for seq := uint64(1); seq <= 10; seq++ {
		record(w, seq, seq > 1 && seq != 4)
	}
	for from, want := range map[uint64][]uint64{0: {10, 9, 4, 1}, 10: {9, 4, 1}, 9: {4, 1}, 4: {1}, 1: nil} {
		if got := seqs(w, from); !slices.Equal(got, want) {
			t.Errorf("below %d: %v, want %v", from, got, want)
		}
	}
	for seq := uint64(11); seq <= 13; seq++ {
		record(w, seq, false)
	}
	if got := seqs(w, 0); !slices.Equal(got, []uint64{13, 12, 11, 10, 9}) || w.Recorded() != 13 {
		t.Errorf("%v of %d", got, w.Recorded())
	}
}

// Nobody answers for what traders, prices and time do.
func TestNotEveryCommandIsAnAction(t *testing.T) {
	w := New(DefaultCaps())
	for i, cmd := range []core.Command{&core.PlaceOrder{}, &core.Redeem{}, &core.RequestWithdrawal{}, &core.Clock{}, &core.PostIndex{}, &core.SetSession{}, &core.Checkpoint{}} {
		if w.Record(core.Stamp{Seq: uint64(i + 1)}, cmd, core.OK, nil); w.Recorded() != 0 {
			t.Fatalf("%T", cmd)
		}
	}
}

// A snapshot of a venue that did not list actions yet is read, and the list begins.
func TestStateWithoutActions(t *testing.T) {
	w := New(DefaultCaps())
	w.Fold(core.Stamp{Seq: 1}, []core.Event{&core.UserChanged{User: core.User{ID: 1}}})
	b, err := w.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var parts []cbor.RawMessage
	if err := cbor.Unmarshal(b, &parts); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		cut, err := cbor.Marshal(append(slices.Clone(parts), cbor.RawMessage{0x80})[:min(n, len(parts)+1)])
		if err != nil {
			t.Fatal(err)
		}
		old, err := Restore(cut, DefaultCaps())
		if whole := n == 3 || n == 4; whole != (err == nil) {
			t.Fatalf("%d parts: %v", n, err)
		}
		if err == nil {
			if record(old, 2, false); !slices.Equal(seqs(old, 0), []uint64{2}) {
				t.Errorf("%d parts: %v", n, seqs(old, 0))
			}
		}
	}
}
