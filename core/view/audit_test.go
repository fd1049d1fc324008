package view

import (
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
)

// record records one action of an operator, a routine one or another.
func record(w *View, seq uint64, routine bool) {
	var cmd core.Command = &core.SuspendUser{User: 1, Audit: core.Audit{Who: "operator", Why: "a test"}}
	if routine {
		cmd = &core.PostIndex{Audit: core.Audit{Who: "operator"}}
	}
	w.RecordAudit(core.Stamp{Seq: seq, Ts: int64(seq)}, cmd, core.OK, nil)
}

func seqs(w *View, from uint64) (out []uint64) {
	for a := range w.Actions(from) {
		out = append(out, a.Seq)
	}
	return out
}

// TestActions checks that actions come newest first from both rings, and that routine ones evict only
// routine ones.
func TestActions(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Actions, caps.Routine = 3, 2
	w := New(caps)
	if got := seqs(w, 0); got != nil {
		t.Errorf("of an empty view: %v", got)
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
	if got := seqs(w, 0); !slices.Equal(got, []uint64{13, 12, 11, 10, 9}) || w.ActionCount() != 13 {
		t.Errorf("%v of %d", got, w.ActionCount())
	}
}

// TestNotEveryCommandIsAnAction checks that commands of traders, price sources and the clock are no
// actions.
func TestNotEveryCommandIsAnAction(t *testing.T) {
	w := New(DefaultRetentionCaps())
	for i, cmd := range []core.Command{&core.PlaceOrder{}, &core.Redeem{}, &core.RequestWithdrawal{}, &core.Clock{}, &core.PostIndex{}, &core.SetSession{}, &core.Checkpoint{}} {
		if w.RecordAudit(core.Stamp{Seq: uint64(i + 1)}, cmd, core.OK, nil); w.ActionCount() != 0 {
			t.Fatalf("%T", cmd)
		}
	}
}

// TestSnapshotV1 checks that a snapshot of version 1 is restored, also one without actions.
func TestSnapshotV1(t *testing.T) {
	whole, err := encoding.Marshal(&stateV1{Users: []accountV1{{NextFill: 1, NextSettled: 1, NextEvent: 1}}, Trail: trailState{NextAction: 1, NextRoutine: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var parts []cbor.RawMessage
	if err := cbor.Unmarshal(whole, &parts); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		cut, err := cbor.Marshal(append(slices.Clone(parts), cbor.RawMessage{0x80})[:min(n, len(parts)+1)])
		if err != nil {
			t.Fatal(err)
		}
		old, err := RestoreV1(cut, DefaultRetentionCaps())
		if whole := n == 3 || n == 4; whole != (err == nil) {
			t.Fatalf("%d parts: %v", n, err)
		}
		if err == nil {
			if record(old, 2, false); !slices.Equal(seqs(old, 0), []uint64{2}) {
				t.Errorf("%d parts: %v", n, seqs(old, 0))
			}
		}
	}
	for _, hole := range []stateV1{{Users: []accountV1{{Rows: []*Order{nil}}}}, {Rounds: []*Round{nil}}} {
		b, err := encoding.Marshal(&hole)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RestoreV1(b, DefaultRetentionCaps()); err == nil {
			t.Error("an inconsistent state was restored")
		}
	}
}
