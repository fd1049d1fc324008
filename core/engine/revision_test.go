package engine

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// unpackDir extracts an archive of a data directory.
func unpackDir(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir, r := t.TempDir(), tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// firstJournal was written before rules had a revision: 426 commands in 387 groups, with a
// checkpoint every second and a snapshot in the middle. It contains what later revisions
// treat differently: revoked keys, one of them resealed, a reduce_only order that lost
// contracts and was then executed, and a fill after its market's close.
const (
	firstJournal     = "testdata/journal-revision-0.tar.gz"
	firstJournalSeq  = 426
	firstJournalHash = "dd25dbf6cefaa4790374c5b8c0118bc11cf3b1b1497779e80de6001e642910c9"
)

// TestJournalWithoutARevision checks that a journal from before rules had a revision replays to
// the same states: the hashes of every checkpoint and of its snapshot match.
func TestJournalWithoutARevision(t *testing.T) {
	dir := filepath.Join(unpackDir(t, firstJournal), "journal")
	p, err := Verify(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Seq != firstJournalSeq || hex.EncodeToString(p.Hash[:]) != firstJournalHash || p.Snapshots != 1 {
		t.Errorf("seq %d, hash %x, %d snapshots", p.Seq, p.Hash, p.Snapshots)
	}
	c := newClock()
	e := mustOpen(t, c.options(dir)) // from its snapshot
	seq, hash, err := e.Hash()
	if err != nil || seq != firstJournalSeq || hex.EncodeToString(hash[:]) != firstJournalHash {
		t.Errorf("seq %d, hash %x, %v", seq, hash, err)
	}
	e.Read(func(v *venue.Venue, _ *view.View) {
		if r := v.Rules().Revision; r != core.RevisionFirst {
			t.Errorf("the rules have revision %d", r)
		}
		if n := len(slices.Collect(v.Keys())); n != 5 {
			t.Errorf("%d keys", n)
		}
	})
	for id, there := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "e": false} {
		if (e.Key(id) != nil) != there {
			t.Errorf("key %s: %+v", id, e.Key(id))
		}
	}
	// Under the newest revision revoked keys leave the state, and the journal still verifies.
	c.step(time.Hour)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	e.Read(func(v *venue.Venue, _ *view.View) {
		if n := len(slices.Collect(v.Keys())); n != 3 {
			t.Errorf("%d keys under the newest rules", n)
		}
	})
	do(t, e, &core.CreateKey{User: 1, Key: "f"})
	mustClose(t, e)
	if p, err := Verify(dir, nil); err != nil || p.From != 0 || p.Seq <= firstJournalSeq || p.Snapshots != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

// skewedLog opens a journal whose clock is ahead of the engine's. A group's stamp is then later
// than the time at which the engine decided whether a Clock is due.
func skewedLog(dir string, now func() int64, ahead *atomic.Int64) func(journal.Options) (Log, error) {
	return func(o journal.Options) (Log, error) {
		o.Now = func() int64 { return now() + ahead.Load() }
		return journal.Open(dir, o)
	}
}

// TestNothingTradesBehindTheClose checks that no order fills after its market's close, by the
// stamp of the log, even if its group was sealed before the close and has no Clock.
func TestNothingTradesBehindTheClose(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	var ahead atomic.Int64
	o := c.options(dir)
	o.OpenLog = skewedLog(dir, c.now, &ahead)
	e := mustOpen(t, o)
	defer mustClose(t, e)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	furnish(t, e, c)
	do(t, e, buy(1, 1, core.Yes, 5000, 10))
	var m venue.MarketState
	e.Read(func(v *venue.Venue, _ *view.View) { m, _ = v.Market(1) })
	for m.CloseTs-c.now() > 5*core.NsPerSec {
		c.step(4 * time.Second) // the index stays fresh for 5 s
		do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second(), Price: 6_500_000_000_000, Count: 3}})
	}
	if r := do(t, e, buy(2, 1, core.No, 5000, 1)); r.Reject != core.OK {
		t.Fatalf("before the close: %v", r.Reject)
	}
	ahead.Store(m.CloseTs - c.now())
	out, err := e.SubmitAll(context.Background(), []core.Command{buy(2, 2, core.No, 5000, 1), buy(2, 3, core.No, 4000, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range out {
		if x.Err != nil || x.Receipt.Reject != core.MarketNotTrading || x.Receipt.Stamp.Ts < m.CloseTs {
			t.Errorf("item %d: %v, %v, %d ns after the close", i, x.Receipt.Reject, x.Err, x.Receipt.Stamp.Ts-m.CloseTs)
		}
	}
}
