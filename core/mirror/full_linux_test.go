package mirror

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a disk of some size, which grow makes larger.
func smallDisk(t *testing.T, size string) (dir string, grow func(size string)) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a disk:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, func(size string) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk lets the disk of the database become full while the journal, which is on another one, goes
// on. The mirror says so, and catches up when there is space, without a row missing or twice.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, disk, dsn, text string, grow func(string)) {
		v := newVenueLog(t, 23)
		v.perGroup = 60
		o := v.options(dsn)
		m := v.start(o)
		v.waitFor(m)
		var free syscall.Statfs_t
		if err := syscall.Statfs(disk, &free); err != nil {
			t.Fatal(err)
		}
		const left = 400 << 10 // bytes for rows
		if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, int64(free.Bavail)*int64(free.Bsize)-left), 0o600); err != nil {
			t.Fatal(err)
		}
		for m.LastError() == nil && v.seconds < 2000 {
			v.run(1)
			waitUntil(t, func() bool { return m.Behind() == 0 || m.LastError() != nil })
		}
		if err := m.LastError(); err == nil || !strings.Contains(err.Error(), text) || m.Err() != nil {
			t.Fatalf("after %d s the error is %v, want %q; stopped with %v", v.seconds, err, text, m.Err())
		}
		if seq, _ := m.Position(); seq == 0 {
			t.Error("the disk is full before the first row")
		}
		behind := m.Behind()
		v.run(5)
		if m.Behind() <= behind {
			t.Errorf("%d groups behind, and %d after 5 s more", behind, m.Behind())
		}
		grow("1g")
		v.waitFor(m)
		v.check(m)
		if r, err := Check(ctx, o, 1, nil); err != nil || len(r.Differences) > 0 {
			t.Errorf("%+v %v", r, err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		dir, grow := smallDisk(t, "4m")
		test(t, dir, SQLitePath(dir), "full", grow)
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := newPostgres(t)
		dir, grow := smallDisk(t, "24m")
		place := filepath.Join(dir, "space")
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, place} {
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Skip("the server runs as another user:", err)
			}
		}
		for path := filepath.Dir(dir); path != "/" && path != os.TempDir(); path = filepath.Dir(path) { // the server must reach it
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		name := filepath.Base(strings.Split(dsn, "?")[0])
		sqlOn(t, "postgres", "CREATE TABLESPACE small LOCATION '"+place+"'", "ALTER DATABASE "+name+" SET TABLESPACE small")
		t.Cleanup(func() {
			sqlOn(t, "postgres", "DROP DATABASE "+name+" WITH (FORCE)", "DROP TABLESPACE small")
		})
		test(t, dir, dsn, "could not extend file", grow)
	})
}
