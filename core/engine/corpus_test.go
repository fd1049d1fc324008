package engine

import (
	"archive/tar"
	"compress/gzip"
	"encoding/hex"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal/logtest"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/core/view"
)

// corpus has a small journal of the oldest revision of the rules that is read, and of later ones to the newest,
// with the state that its replay must end in. A journal is never written again; a program that changes the format or the
// rules adds its own:
//
//	go test ./core/engine -run TestRecordJournal -record testdata/journal-NAME.tar.gz -v
var corpus = []struct {
	archive  string
	revision core.Revision
	seq      uint64
	hash     string
}{
	{"journal-revision-6.tar.gz", core.RevisionOldest, 634, "10f30594fde2cc44c5da35a36d1901dcaaef05b0bbf2dad6dcd1dd95351661b2"},
	{"journal-revision-8.tar.gz", core.RevisionForecasts, 637, "c49a248bf8e867e3e037f57df676e3f8174eb9c140b0077c329ce835e3a09ee4"},
	{"journal-revision-9.tar.gz", core.RevisionDeposits, 642, "9e038be27f7ab21696876c465fda50195d2a1d3829dde1f58a9765110fcd80aa"},
	{"journal-revision-10.tar.gz", core.RevisionReplaceSeen, 626, "9591085e831058d8374008dd0daf7007db30a18a80cddffc5132f9a7ba1cea32"},
	{"journal-revision-11.tar.gz", core.RevisionGrants, 645, "0dda3ed1ac5bea429fb193861b263b76346ab3c5c09381c3fd2f999db9a430fd"},
	{"journal-revision-12.tar.gz", core.RevisionSteps, 677, "0a3490e0163f6050f4820946a89a22abfbdc6246ced55ac62c0f5f54a34a9a47"},
	{"journal-revision-13.tar.gz", core.RevisionMakers, 669, "9f09aef217b2fa5d58ddef2949d5f3fd3c30b0c4e1599ad154881bdd5f49f523"},
	{"journal-revision-14.tar.gz", core.RevisionAsks, 683, "1c91d521404da3c6b20b9e2193dcf0bca039ad594fdbdf6175f2c54b9040a183"},
}

// TestCorpus replays every journal of the corpus, from its start, as dx verify --rules does, and from its
// snapshot, and then goes on with it under the newest rules.
func TestCorpus(t *testing.T) {
	for _, j := range corpus {
		t.Run(j.archive, func(t *testing.T) {
			dir := filepath.Join(logtest.Unpack(t, filepath.Join("testdata", j.archive)), "journal")
			p, err := Verify(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if p.Seq != j.seq || hex.EncodeToString(p.Hash[:]) != j.hash || p.Snapshots == 0 {
				t.Errorf("seq %d, hash %x, %d snapshots", p.Seq, p.Hash, p.Snapshots)
			}
			if p, err := VerifyRules(dir, 24*time.Hour, nil); err != nil || p.Rules.Revision != j.revision {
				t.Errorf("the rehearsal: revision %d, %v", p.Rules.Revision, err)
			}
			c := newClock()
			e := mustOpen(t, c.options(dir)) // from its snapshot
			seq, hash, err := e.Hash()
			if err != nil || seq != j.seq || hex.EncodeToString(hash[:]) != j.hash {
				t.Errorf("from its snapshot: seq %d, hash %x, %v", seq, hash, err)
			}
			e.Read(func(v *venue.Venue, _ *view.View) {
				if r := v.Rules().Revision; r != j.revision {
					t.Errorf("the rules have revision %d", r)
				}
			})
			c.step(time.Hour)
			do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
			do(t, e, &core.CreateAgent{Owner: 1, Name: "later"})
			do(t, e, &core.Deposit{User: 1, DepositID: "later", Amount: 5})
			do(t, e, &core.Transfer{Owner: 1, ClientID: "later", From: 1, To: 3, Amount: 2})
			want := ledgerContents(e)
			mustClose(t, e)
			if err := os.RemoveAll(replica.SnapshotDir(dir)); err != nil {
				t.Fatal(err)
			}
			e = mustOpen(t, c.options(dir)) // replays everything
			if got := ledgerContents(e); got != want || got == "" {
				t.Errorf("from its snapshot the ledgers were\n%s\nafter a replay they are\n%s", want, got)
			}
			mustClose(t, e)
			if p, err := Verify(dir, nil); err != nil || p.From != 0 || p.Seq <= j.seq {
				t.Errorf("continued: %+v, %v", p, err)
			}
		})
	}
}

// TestOlderThanRead checks that journals of before the oldest revision are refused, by the start and by
// dx verify, with the name of the version that reads them.
func TestOlderThanRead(t *testing.T) {
	for _, archive := range []string{"journal-format-1.tar.gz", "journal-revision-3.tar.gz"} {
		dir := filepath.Join(logtest.Unpack(t, filepath.Join("testdata/older", archive)), "journal")
		_, err := Open(newClock().options(dir))
		if err == nil || !strings.Contains(err.Error(), "dx 0.1.0 does") {
			t.Errorf("%s is opened: %v", archive, err)
		}
		if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "dx 0.1.0 does") {
			t.Errorf("%s is verified: %v", archive, err)
		}
		if err := os.RemoveAll(replica.SnapshotDir(dir)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(newClock().options(dir)); err == nil || !strings.Contains(err.Error(), "dx 0.1.0 does") {
			t.Errorf("%s without its snapshot is opened: %v", archive, err)
		}
	}
}

// ledgerContents returns what readers see of ledgers, deposits and results by round.
func ledgerContents(e *Engine) string {
	var b strings.Builder
	for line := range strings.Lines(contents(e)) {
		for _, kind := range []string{"balance", "ledger", "account round", "deposit", "forecast"} {
			if strings.HasPrefix(line, kind) {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

var record = flag.String("record", "", "write a journal of this program to an archive")

// TestRecordJournal writes a journal with every kind of command to the archive of -record.
func TestRecordJournal(t *testing.T) {
	if *record == "" {
		t.Skip("needs -record FILE")
	}
	c, root := newClock(), t.TempDir()
	dir := filepath.Join(root, "journal")
	o := c.options(dir)
	o.CheckpointEvery = time.Second
	e := mustOpen(t, o)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest, Environment: core.EnvironmentLive, Settings: []core.Setting{{Name: "four_eyes", Value: "off"}}})
	do(t, e, &core.SetRules{Rules: core.DefaultRules()})
	submitVaried(t, e, c)
	r := do(t, e, &core.Marked{Mark: core.Mark{1, 2, 3}, SignedAt: c.now() / core.NsPerMs, Command: &core.ArmDeadman{User: 1, TimeoutMs: 600_000}})
	if r.Reject != core.OK {
		t.Fatal(r.Reject)
	}
	if r := do(t, e, &core.Deposit{User: 1, DepositID: "large", Amount: core.DepositMax + 1}); r.Reject != core.BadAmount {
		t.Fatal(r.Reject)
	}
	mustClose(t, e) // writes the snapshot
	e = mustOpen(t, o)
	submitAgents(t, e, c)
	submitSteps(t, e)
	submitAsks(t, e, c)
	seq, hash, err := e.Hash()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seq %d, hash %x", seq, hash)
	kill(t, e)
	pack(t, root, *record)
}

// pack writes a directory to an archive.
func pack(t *testing.T, root, archive string) {
	t.Helper()
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	if err := w.AddFS(os.DirFS(root).(fs.ReadDirFS)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{w, z, f} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
