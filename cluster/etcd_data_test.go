package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"duplex/core/journal"
)

// TestDamagedEtcdIsNamed checks that a member whose etcd database was cut, emptied or removed, or whose
// WAL was changed, ends with a *journal.Damage that names it before etcd opens it.
func TestDamagedEtcdIsNamed(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 1)
	l := r.open(0)
	fill(t, l, 1, 1<<32, 50)
	l.Close()
	id := r.clusters[0].id
	r.closeAll()
	member := filepath.Join(r.options[0].Dir, "etcd", "member")
	logs, err := filepath.Glob(filepath.Join(member, "wal", "*.wal"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if err := checkEtcdData(r.options[0].Dir, id); err != nil {
		t.Fatal("the whole data: ", err)
	}
	for _, test := range []struct {
		name, path string
		damage     func(b []byte) []byte // nil: no file
	}{
		{"one byte less", filepath.Join(member, "snap", "db"), func(b []byte) []byte {
			f := filepath.Join(t.TempDir(), "db")
			if err := os.WriteFile(f, b, 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			db, err := openBolt(file)
			if err != nil || db.size() <= int64(2*os.Getpagesize()) || db.size() > int64(len(b)) {
				t.Fatal(db, len(b), err)
			}
			return b[:db.size()-1]
		}},
		{"one page", filepath.Join(member, "snap", "db"), func(b []byte) []byte { return b[:os.Getpagesize()] }},
		{"half a page", filepath.Join(member, "snap", "db"), func(b []byte) []byte { return b[:30] }},
		{"other bytes", filepath.Join(member, "snap", "db"), func(b []byte) []byte { return []byte(strings.Repeat("x", len(b))) }},
		{"empty", filepath.Join(member, "snap", "db"), func([]byte) []byte { return nil }},
		{"missing", filepath.Join(member, "snap", "db"), nil},
		{"WAL", logs[0], func(b []byte) []byte { b[2000] ^= 4; return b }},
	} {
		whole, err := os.ReadFile(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if test.damage == nil {
			err = os.Remove(test.path)
		} else {
			err = os.WriteFile(test.path, test.damage(append([]byte(nil), whole...)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = r.refusedStart(r.options[0])
		named := filepath.Dir(test.path)
		if damage := (*journal.Damage)(nil); !errors.As(err, &damage) || !strings.HasPrefix(damage.File, named) || !strings.Contains(err.Error(), "dx cluster add") {
			t.Errorf("%s: %v", test.name, err)
		}
		if err := os.WriteFile(test.path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.startAll()
	l = r.open(0)
	defer l.Close()
	read(t, l, 1, 50)
}

// TestCutWAL checks that a WAL which lacks more entries than it may of those that etcd's database has is
// damage, that one which lacks as many as it may is not, and that the end of a WAL is found when its newest
// file is empty.
func TestCutWAL(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 1)
	l := r.open(0)
	fill(t, l, 1, 1<<32, 50)
	l.Close()
	r.closeAll()
	dir := r.options[0].Dir
	db, err := checkDatabase(dir, ID{})
	if err != nil {
		t.Fatal(err)
	}
	walDir := filepath.Join(dir, "etcd", "member", "wal")
	if err := db.checkWAL(walDir, 0); err != nil {
		t.Fatal("the whole WAL: ", err)
	}
	w, err := readWAL(walDir, db.applied)
	path, last := w.path, w.last
	if err != nil || last < 50 {
		t.Fatal(path, last, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(whole, "\x00"))
	var damage *journal.Damage
	lost := uint64(0) // entries
	for cut := used - 1; cut > used/2; cut -= 97 {
		if err := os.WriteFile(path, append(whole[:cut:cut], make([]byte, len(whole)-cut)...), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := readWAL(walDir, db.applied)
		end := w.last
		if err != nil || end > last || last-end < lost {
			t.Fatalf("with %d of %d bytes it ends at %d of %d, %v", cut, used, end, last, err)
		}
		if lost = last - end; lost == 0 {
			continue
		}
		err = db.checkWAL(walDir, lost-1)
		if !errors.As(err, &damage) || damage.File != path || !strings.Contains(err.Error(), "it was cut") {
			t.Fatalf("%d entries less: %v", lost, err)
		}
		if err := db.checkWAL(walDir, lost); err != nil {
			t.Fatalf("%d entries less, which may be: %v", lost, err)
		}
	}
	if lost < 10 {
		t.Errorf("only %d entries were cut off", lost)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(filepath.Dir(path), fmt.Sprintf("%016x-%016x.wal", 1, last+1))
	if err := os.WriteFile(newer, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err := readWAL(walDir, db.applied); err != nil || w.path != newer || w.last != last || w.put == nil {
		t.Errorf("an empty newest file: %s ends at %d, %v", w.path, w.last, err)
	}
}

// TestEtcdEndsTheProcess checks that what etcd says before it ends the process over its WAL is damage, and
// nothing else is.
func TestEtcdEndsTheProcess(t *testing.T) {
	var got []error
	o := &Options{Dir: "data", Log: slog.New(slog.DiscardHandler), OnDamage: func(err error) { got = append(got, err) }}
	log := zap.New(etcdLog{o})
	log.Error("tocommit(90) is out of range [lastIndex(80)]. " + raftLostEntries)
	log.Error("failed to read WAL, cannot be repaired", zap.Error(errors.New("unexpected end")))
	log.Error("failed to open WAL", zap.Error(fmt.Errorf("[openWALFiles]: %w", syscall.EMFILE)))
	log.Error("failed to save Raft hard state and entries", zap.Error(errors.New("input/output error")))
	if len(got) != 2 || !strings.Contains(got[0].Error(), "it was cut") || !strings.Contains(got[1].Error(), "unexpected end") {
		t.Fatal(got)
	}
	for _, err := range got {
		if damage := (*journal.Damage)(nil); !errors.As(err, &damage) || damage.File != filepath.Join("data", "etcd", "member", "wal") {
			t.Error(err)
		}
	}
}

// TestFatalErrorIsLogged checks that the log can be written between the error with which etcd ends the process
// and the end, and that other errors do not wait for it.
func TestFatalErrorIsLogged(t *testing.T) {
	var text bytes.Buffer
	written := ""
	o := &Options{Dir: "data", Log: slog.New(slog.NewTextHandler(&text, nil)), OnFatal: func() { written = text.String() }}
	log := zap.New(etcdLog{o}, zap.WithFatalHook(zapcore.WriteThenPanic))
	log.Error("a peer is slow")
	if written != "" {
		t.Errorf("waited for %q", written)
	}
	func() {
		defer func() { _ = recover() }() // in place of the end
		log.Fatal("failed to save Raft hard state and entries", zap.Error(errors.New("input/output error")))
	}()
	if !strings.Contains(written, "input/output error") {
		t.Errorf("before the end the log has %q", written)
	}
}

// TestFlippedDatabase flips used bytes of etcd's database. What is not damage to a member has no effect: etcd, in a
// process of its own, reads every group.
//
//	go test ./cluster -run FlippedDatabase -damages 1000 -v
func TestFlippedDatabase(t *testing.T) {
	t.Parallel()
	o, want := stoppedMember(t)
	head, id := uint64(len(want)), o.identity.ClusterID
	c, err := copyEtcd(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.remove()
	path := filepath.Join(c.dir, "etcd", "member", "snap", "db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkEtcdData(c.dir, id); err != nil {
		t.Fatal("the whole data: ", err)
	}
	used := usedPages(t, whole)
	flips, sound, random := 100**damages, 0, rand.New(rand.NewPCG(1, 2))
	for i := range flips {
		at := int(used[random.IntN(len(used))])*os.Getpagesize() + random.IntN(os.Getpagesize())
		bit := byte(1) << random.IntN(8)
		setByte(t, path, at, whole[at]^bit)
		err := checkEtcdData(c.dir, id)
		// Of a database that says it has more entries than the WAL either may be wrong.
		if damage := (*journal.Damage)(nil); err != nil && (!errors.As(err, &damage) || damage.File != path && !strings.HasSuffix(damage.File, ".wal")) {
			t.Fatalf("byte %d, bit %#x: %v", at, bit, err)
		}
		if err != nil {
			setByte(t, path, at, whole[at])
			continue
		}
		if sound++; sound > *damages {
			setByte(t, path, at, whole[at])
			continue
		}
		archive, err := journal.Open(t.TempDir(), journal.Options{Archive: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.drain(t.Context(), archive); err != nil || archive.Head() != head || archive.Last() != want[head-1].After() {
			t.Errorf("flip %d, of byte %d (%.40q), bit %#x, is no damage, and etcd reads %d of %d groups: %v", i, at, whole[at-min(at, 20):at+20], bit, archive.Head(), head, err)
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.make(filepath.Join(o.dir, "etcd", "member")); err != nil { // etcd has written to the copy
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d flips have no effect", sound, flips)
	if sound == 0 || sound > flips/2 {
		t.Errorf("%d of %d flips have no effect", sound, flips)
	}
}

func setByte(t *testing.T, path string, at int, b byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// usedPages are the pages of a database that a walk reads, and the headers.
func usedPages(t *testing.T, b []byte) (list []uint64) {
	t.Helper()
	db, err := openBolt(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.walk(func(string, []byte, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for p := range db.pages {
		if p < 2 || db.seen[p/64]&(1<<(p%64)) != 0 {
			list = append(list, p)
		}
	}
	return list
}
