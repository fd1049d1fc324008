package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// deposits books n deposits for the first account.
func deposits(v *servertest.Venue, name string, n int) {
	for i := range n {
		v.Submit(&core.Deposit{User: 1, DepositID: name + strconv.Itoa(i), Amount: 1000})
	}
}

// wholeLine matches the last lines of a copy that verifies.
var wholeLine = regexp.MustCompile(`(?m)^whole: [\d,]+ groups replayed, up to seq (\d+)\nstate hash ([0-9a-f]{64})$`)

// copied runs dx backup or dx restore, and returns the seq and the state hash that it prints.
func copied(t *testing.T, args ...string) (seq, hash string) {
	t.Helper()
	code, out, errs := runCommand(args...)
	m := wholeLine.FindStringSubmatch(out)
	if code != 0 || m == nil {
		t.Fatalf("dx %s: %d %s%s", args[0], code, out, errs)
	}
	return m[1], m[2]
}

// TestBackup backs up a venue while it runs, three times into one folder, and restores the backup: it
// has the state of the moment of the last backup, and opens with the master key.
func TestBackup(t *testing.T) {
	data, backup, restored := t.TempDir(), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	v := servertest.OpenLive(t, data, nil)
	k := v.NewAccount("a")
	var seq, hash string
	for i := range 3 {
		deposits(v, strconv.Itoa(i)+"-", 20)
		if i == 1 {
			if _, err := v.Engine().Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		seq, hash = copied(t, "backup", data, "--to", backup)
		if want := strconv.FormatUint(v.Engine().Seq(), 10); seq != want {
			t.Errorf("the backup reaches seq %s, the venue %s", seq, want)
		}
	}
	deposits(v, "late-", 5)
	v.Close()
	for _, name := range []string{"master.key", "operator.token"} {
		if left, _ := filepath.Glob(filepath.Join(backup, "*", name)); len(left) > 0 {
			t.Errorf("the backup has %s", left)
		}
	}
	if s, h := copied(t, "restore", backup, "--data", restored); s != seq || h != hash {
		t.Errorf("the restored venue has seq %s and hash %s, the backup %s and %s", s, h, seq, hash)
	}
	r := servertest.OpenLive(t, restored, func(o *server.Options) { o.MasterKey = servertest.MasterKey(t, data) })
	defer r.Close()
	servertest.CheckKey(t, r, k)
	if b, err := r.ClientWithKey(k.APIKey, k.Secret).Balance(t.Context()); err != nil || b.Cash != 60_000 {
		t.Errorf("the balance after the restore: %+v %v, want 60000 pips in cash", b, err)
	}
}

// TestBackupRefuses checks what dx backup and dx restore refuse, and that a refused one changes nothing. A
// damaged copy is reported by dx verify with its seq, file and offset.
func TestBackupRefuses(t *testing.T) {
	data, _ := servertest.DataWithDeposits(t)
	other := t.TempDir()
	v := servertest.OpenLive(t, other, nil)
	v.NewAccount("b")
	v.Close()
	backup := filepath.Join(t.TempDir(), "backup")
	copied(t, "backup", other, "--to", backup)
	damaged := filepath.Join(t.TempDir(), "damaged")
	copied(t, "backup", data, "--to", damaged)
	logs, err := filepath.Glob(filepath.Join(damaged, "journal", "log", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	flip(t, logs[0])
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(data, "journal"), link); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"backup", t.TempDir(), "--to", backup}, "no journal"},
		{[]string{"backup", data, "--to", data}, "is inside"},
		{[]string{"backup", data, "--to", filepath.Join(data, "a", "copy")}, "is inside"},
		{[]string{"backup", data, "--to", filepath.Join(link, "copy")}, "is inside"},
		{[]string{"backup", data, "--to", backup}, "the journal of another venue"},
		{[]string{"restore", backup, "--data", data}, "has a journal already"},
		{[]string{"restore", damaged, "--data", filepath.Join(t.TempDir(), "new")}, "damaged"},
		{[]string{"restore", t.TempDir(), "--data", filepath.Join(t.TempDir(), "new")}, "no journal"},
		{[]string{"verify", damaged}, "seq "},
		{[]string{"verify", damaged}, filepath.Base(logs[0]) + " at byte "},
	} {
		expectCommand(t, 1, x.want, x.args...)
	}
	expectCommand(t, 0, "", "verify", data)
	expectCommand(t, 0, "", "verify", backup)
}

// flip changes a byte in the middle of what a file has.
func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(bytes.TrimRight(b, "\x00"))/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreDrills follows docs/operations/recovery.md#a-lost-disk and its neighbors: a disk is lost, a
// snapshot of the backup is damaged, the master key is lost.
func TestRestoreDrills(t *testing.T) {
	data, to := t.TempDir(), t.TempDir()
	v := servertest.OpenLive(t, data, func(o *server.Options) { o.ArchiveTo, o.ArchiveEvery = to, 10*time.Millisecond })
	k := v.NewAccount("a")
	for i := range 2 {
		deposits(v, strconv.Itoa(i)+"-", 10)
		if _, err := v.Engine().Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	deposits(v, "last-", 10)
	v.Close()
	master := servertest.MasterKey(t, data)
	if err := os.RemoveAll(data); err != nil { // the disk is lost
		t.Fatal(err)
	}
	checkCash := func(dir string, k schemas.NewKey, change func(*server.Options)) {
		t.Helper()
		v := servertest.OpenLive(t, dir, change)
		defer v.Close()
		if b, err := v.ClientWithKey(k.APIKey, k.Secret).Balance(t.Context()); err != nil || b.Cash != 30_000 {
			t.Errorf("the balance after the restore: %+v %v, want 30000 pips in cash", b, err)
		}
	}

	t.Run("lost disk", func(t *testing.T) {
		restored := filepath.Join(t.TempDir(), "data")
		copied(t, "restore", to, "--data", restored)
		checkCash(restored, k, func(o *server.Options) { o.MasterKey = master })
	})
	t.Run("damaged snapshot", func(t *testing.T) {
		list, err := journal.Snapshots(filepath.Join(to, "journal", journal.SnapshotDir))
		if err != nil || len(list) < 2 {
			t.Fatal(list, err)
		}
		flip(t, list[0])
		restored := filepath.Join(t.TempDir(), "data")
		code, out, errs := runCommand("restore", to, "--data", restored)
		if code != 1 || !strings.Contains(errs, "recovery.md#a-damaged-snapshot") {
			t.Errorf("dx restore of a damaged snapshot: exit %d %s%s, want 1 and the drill of the manual", code, out, errs)
		}
		servertest.RemoveFile(t, filepath.Join(restored, "journal", journal.SnapshotDir, filepath.Base(list[0])))
		expectCommand(t, 0, "", "verify", restored)
		checkCash(restored, k, func(o *server.Options) { o.MasterKey = master })
		servertest.RemoveFile(t, list[0])
	})
	t.Run("lost master key", func(t *testing.T) {
		restored := filepath.Join(t.TempDir(), "data")
		copied(t, "restore", to, "--data", restored)
		code, _, errs := runCommand("serve", "--data", restored, "--oracle", "manual", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0")
		if code == 0 || !strings.Contains(errs, "put the file back, or give the key in DX_MASTER_KEY") {
			t.Errorf("dx serve without its master key: exit %d %s, want what to do", code, errs)
		}
		fresh, err := hex.DecodeString(strings.Repeat("5a", 32))
		if err != nil {
			t.Fatal(err)
		}
		v := servertest.OpenLive(t, restored, func(o *server.Options) { o.MasterKey, o.MasterKeyLost = fresh, true })
		if _, err := v.ClientWithKey(k.APIKey, k.Secret).Balance(t.Context()); err == nil {
			t.Error("a key of before works")
		}
		v.Close()
	})
}
