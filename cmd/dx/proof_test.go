package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"duplex/server"
)

// TestProof writes the bundle of a round while the venue runs, and checks it.
func TestProof(t *testing.T) {
	data := t.TempDir()
	settledRound(t, func(o *server.Options) { o.Data = data })
	file := filepath.Join(t.TempDir(), "round-1.proof")
	want := func(code int, text string, args ...string) {
		t.Helper()
		expectCommand(t, code, text, append([]string{"proof"}, args...)...)
	}
	want(0, "It is for the operator and for auditors", "1", "--data", data, "--out", file)
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("the bundle is %v %v, want mode 0600", st, err)
	}
	want(0, "payouts      $10.00 to 2 accounts for 10 pairs, after 1 fills", "check", file)
	want(0, "agrees\n", "check", file)
	want(0, "is this bundle already", "1", "--data", filepath.Join(data, "journal"), "--out", file)

	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.proof")
	write := func(b []byte) {
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(bytes.Replace(b, []byte(`"winner":"yes"`), []byte(`"winner":"no"`), 1))
	want(1, "the file has been changed", "check", damaged)
	want(1, "yes wins", "check", damaged)
	want(2, "is another bundle of this round", "1", "--data", data, "--out", damaged)
	write([]byte("notes\n"))
	want(1, "not a proof bundle", "check", damaged)
	want(2, "is not a bundle of round 1", "1", "--data", data, "--out", damaged)
	want(2, "no journal here", "1", "--data", t.TempDir(), "--out", damaged)

	none := filepath.Join(t.TempDir(), "none.proof")
	want(1, "a bundle is of a settled round", "2", "--data", data, "--out", none)
	want(1, "round 999 has not opened", "999", "--data", data, "--out", none)
	want(2, "--out", "1", "--data", data)
	if list, err := os.ReadDir(filepath.Dir(none)); err != nil || len(list) != 0 {
		t.Errorf("a failed command leaves %v, %v", list, err)
	}
	if got, err := os.ReadFile(damaged); err != nil || string(got) != "notes\n" {
		t.Errorf("a failed command changes the file: %q, %v", got, err)
	}
}
