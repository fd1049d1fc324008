package view

import (
	"slices"
	"testing"

	"duplex/core"
)

// record records an action with the given seq: a manual price if routine, else a suspension.
func record(w *View, seq uint64, routine bool) {
	var cmd core.Command = &core.SuspendUser{User: 1, Audit: core.Audit{Who: "operator", Why: "a test"}}
	if routine {
		cmd = &core.PostIndex{Audit: core.Audit{Who: "operator"}}
	}
	w.Record(core.Stamp{Seq: seq, Ts: int64(seq)}, cmd, core.OK, nil, nil)
}

func seqs(w *View, from uint64) (out []uint64) {
	for a := range w.Actions(from) {
		out = append(out, a.Seq)
	}
	return out
}

// Actions are listed newest first across both rings, and manual prices evict only manual
// prices.
func TestActions(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Actions, caps.Routine = 3, 2
	w := New(caps)
	if got := seqs(w, 0); got != nil {
		t.Errorf("empty view: %v", got)
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
		t.Errorf("actions %v, %d in all", got, w.ActionCount())
	}
}

// Commands of traders, of feeds and of the clock are not actions.
func TestTraderCommandsAreNotActions(t *testing.T) {
	w := New(DefaultRetentionCaps())
	for i, cmd := range []core.Command{&core.PlaceOrder{}, &core.Redeem{}, &core.RequestWithdrawal{}, &core.Clock{}, &core.PostIndex{}, &core.SetSession{}, &core.Checkpoint{}} {
		if w.Record(core.Stamp{Seq: uint64(i + 1)}, cmd, core.OK, nil, nil); w.ActionCount() != 0 {
			t.Fatalf("a %T is recorded as an action", cmd)
		}
	}
}
