package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/core/mirror"
	"duplex/server"
)

// TestMirrorCommands runs the commands of the mirror on one that agrees, on one of which a row was
// changed, and without what they need.
func TestMirrorCommands(t *testing.T) {
	data := t.TempDir()
	v, _, _ := settledRound(t, func(o *server.Options) { o.Data, o.Mirror = data, "sqlite" })
	v.WaitForMirror()
	v.Close()
	want := func(code int, text string, args ...string) {
		t.Helper()
		expectCommand(t, code, text, append([]string{"mirror"}, args...)...)
	}
	want(0, "since     the first command", "status", "--data", data)
	want(0, "equal: ", "check", "--data", data)
	want(0, "equal: ", "check", "--data", data, "--sample", "7")
	want(2, "--sample", "check", "--data", data, "--sample", "0")
	for _, command := range []string{"status", "check"} {
		want(1, "no mirror yet", command, "--data", t.TempDir())
	}
	for _, command := range []string{"status", "check", "rebuild"} {
		want(2, "--data", command, "--data", filepath.Join(data, "none"))
		want(2, "--mirror", command, "--data", data, "--mirror", "mysql://dx@localhost/dx")
		want(2, "no mirror to look at", command, "--data", data, "--mirror", "off")
	}

	// DX_MIRROR names the mirror, unless the flag does.
	for _, command := range []string{"status", "check", "rebuild"} {
		t.Setenv("DX_MIRROR", "postgres://dx:secret@/dx?host=/nonexistent")
		want(1, "/nonexistent", command, "--data", data)
		if _, out, errs := runCommand("mirror", command, "--data", data); strings.Contains(out+errs, "secret") {
			t.Errorf("%s shows the password: %s%s", command, out, errs)
		}
		want(0, "", command, "--data", data, "--mirror", "sqlite")
		t.Setenv("DX_MIRROR", "off")
		want(2, "no mirror to look at", command, "--data", data)
	}
	if err := os.Unsetenv("DX_MIRROR"); err != nil { // the end of the test restores it
		t.Fatal(err)
	}

	db, err := sql.Open("sqlite", mirror.SQLitePath(data))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE fills SET qty = qty + 1 WHERE user_id = (SELECT min(user_id) FROM fills)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := runCommand("mirror", "check", "--data", data); !strings.Contains(out, "fills: the row with the key") {
		t.Errorf("dx mirror check: %s", out)
	}
	want(1, "dx mirror rebuild builds it anew", "check", "--data", data)
	want(0, "the mirror has every row up to seq ", "rebuild", "--data", data)
	want(0, "equal: ", "check", "--data", data)

	// A rebuild that fails changes nothing.
	journal, away := filepath.Join(data, "journal"), filepath.Join(data, "away")
	if err := os.Rename(journal, away); err != nil {
		t.Fatal(err)
	}
	want(1, "journal", "rebuild", "--data", data)
	if err := os.Rename(away, journal); err != nil {
		t.Fatal(err)
	}
	want(0, "equal: ", "check", "--data", data)
	blocked := t.TempDir()
	if err := os.Symlink(journal, filepath.Join(blocked, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(blocked, "mirror"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(1, "mirror", "rebuild", "--data", blocked)
}
