package replica

import (
	"sync"
	"testing"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/view"
)

// TestManyAccounts restores a snapshot with more accounts than the library of CBOR takes in a list of a
// stranger.
func TestManyAccounts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long with the race detector")
	}
	const accounts = 140_000
	r := New(view.DefaultRetentionCaps())
	apply := func(cmd core.Command) {
		g := &journal.Group{Number: r.At.Number + 1, Proposal: r.At.Number + 1, Stamp: int64(r.At.Number+1) * core.NsPerMs}
		out, err := r.Apply(g, []core.Command{cmd}, nil)
		if err != nil || out.Applied[0].Reject != core.OK {
			t.Fatal(out, err)
		}
	}
	apply(&core.ActivateRules{Revision: core.RevisionNewest})
	for range accounts {
		apply(&core.CreateUser{Name: "user"})
	}
	apply(&core.Deposit{User: accounts, DepositID: "d", Amount: 7})
	im, err := r.Image()
	if err != nil {
		t.Fatal(err)
	}
	defer im.View.End(new(sync.Mutex))
	dir := t.TempDir()
	w, err := journal.CreateSnapshot(SnapshotDir(dir), im.Seq, im.At)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := im.Stream(w, new(sync.Mutex), func() error { return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Commit(hash); err != nil {
		t.Fatal(err)
	}
	again, err := Restore(dir, view.DefaultRetentionCaps(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if cash, _ := again.Venue.Balance(accounts); cash != 7 || again.Venue.Now() != r.Venue.Now() {
		t.Errorf("cash %d at %v, want 7 at %v", cash, again.Venue.Now(), r.Venue.Now())
	}
	rows := 0
	for range again.View.Ledger(accounts, 0) {
		rows++
	}
	if rows != 1 {
		t.Errorf("%d rows of the ledger of the last account", rows)
	}
}
