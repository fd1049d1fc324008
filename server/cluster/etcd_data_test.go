package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
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
	r.closeAll()
	member := filepath.Join(r.options[0].Dir, "etcd", "member")
	logs, err := filepath.Glob(filepath.Join(member, "wal", "*.wal"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if err := checkDatabase(r.options[0].Dir); err != nil {
		t.Fatal("the whole database: ", err)
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
			need, err := databaseSize(file)
			if err != nil || need <= int64(2*os.Getpagesize()) || need > int64(len(b)) {
				t.Fatal(need, len(b), err)
			}
			return b[:need-1]
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
	if err := checkWAL(dir, 0); err != nil {
		t.Fatal("the whole WAL: ", err)
	}
	path, last, err := endOfWAL(filepath.Join(dir, "etcd", "member", "wal"))
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
		_, end, err := endOfWAL(filepath.Dir(path))
		if err != nil || end > last || last-end < lost {
			t.Fatalf("with %d of %d bytes it ends at %d of %d, %v", cut, used, end, last, err)
		}
		if lost = last - end; lost == 0 {
			continue
		}
		err = checkWAL(dir, lost-1)
		if !errors.As(err, &damage) || damage.File != path || !strings.Contains(err.Error(), "it was cut") {
			t.Fatalf("%d entries less: %v", lost, err)
		}
		if err := checkWAL(dir, lost); err != nil {
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
	if file, end, err := endOfWAL(filepath.Dir(path)); err != nil || file != newer || end != last {
		t.Errorf("an empty newest file: %s ends at %d, %v", file, end, err)
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
