package view

import (
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// A snapshot of version 1 is read, also the oldest kind, which has no list of actions.
func TestSnapshotVersion1(t *testing.T) {
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
				t.Errorf("%d parts: actions %v, want that of seq 2", n, seqs(old, 0))
			}
		}
	}
	for _, nulls := range []stateV1{{Users: []accountV1{{Rows: []*Order{nil}}}}, {Rounds: []*Round{nil}}} {
		b, err := encoding.Marshal(&nulls)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RestoreV1(b, DefaultRetentionCaps()); err == nil {
			t.Error("a list with a null entry was restored")
		}
	}
}
