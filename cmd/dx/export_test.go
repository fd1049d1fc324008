package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/export"
	"duplex/server"
)

// TestExport exports tables while the venue runs, and checks what is refused.
func TestExport(t *testing.T) {
	data := t.TempDir()
	v, _, _ := settledRound(t, func(o *server.Options) { o.Data, o.Mirror = data, "sqlite" })
	v.Submit(&core.CreateUser{Name: "=cmd|calc!A1"})
	v.WaitForMirror()
	dir := filepath.Join(t.TempDir(), "out")
	want := func(code int, text string, args ...string) {
		t.Helper()
		expectCommand(t, code, text, append([]string{"export"}, args...)...)
	}
	want(0, "wrote 2 rows in 1 file to ", "fills", "--data", data, "--out", dir)
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Rows  uint64
		Chain string
		Files []struct{ Name, SHA256 string }
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Rows != 2 || len(m.Chain) != 64 {
		t.Errorf("the manifest is %s %v, want 2 rows and the hash of the chain", b, err)
	}
	if len(m.Files) != 1 || !strings.HasPrefix(m.Files[0].Name, "fills-") || len(m.Files[0].SHA256) != 64 {
		t.Errorf("the files are %+v, want one of fills with its hash", m.Files)
	}
	for cell, more := range map[string][]string{",'=cmd|calc!A1,": nil, ",=cmd|calc!A1,": {"--raw"}} {
		dir := filepath.Join(t.TempDir(), "out")
		want(0, "file", append([]string{"users", "--data", data, "--out", dir}, more...)...)
		paths, err := filepath.Glob(filepath.Join(dir, "users*.csv"))
		all := ""
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all += string(b)
		}
		if err != nil || !strings.Contains(all, cell) {
			t.Errorf("users with %v have no cell %s\n%s", more, cell, all)
		}
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want(2, "exists already: delete it, or export into another folder", "fills", "--data", data, "--out", dir)
	if after, err := os.ReadDir(dir); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("after a refused export the folder has %v %v, want %v", after, err, before)
	}
	want(0, "files to ", "all", "--format", "parquet", "--data", data, "--out", t.TempDir())
	for _, codec := range []string{"zstd", "snappy"} {
		want(0, "wrote 2 rows in 1 file", "fills", "--format", "parquet", "--codec", codec, "--data", data, "--out", t.TempDir())
	}
	want(0, "file", "ledger", "--data", data, "--out", dir) // another table into the folder of the fills
	want(0, "wrote 2 rows in 1 file", "fills", "--format", "parquet", "--data", data, "--out", dir)
	tables := map[string]int{}
	for _, f := range readExport(t, dir) {
		tables[f.Table]++
		if f.Complete { // the venue's day has not ended
			t.Errorf("%+v, want that the day is open", f)
		}
	}
	if tables["fills"] != 2 || tables["ledger"] != 1 || len(tables) != 2 {
		t.Errorf("the manifest has files of %v, want fills in both formats, and the ledger", tables)
	}
	other := t.TempDir()
	theirs, _, _ := settledRound(t, func(o *server.Options) { o.Data, o.Mirror = other, "sqlite" })
	theirs.WaitForMirror()
	want(2, "exports of another journal", "trades", "--data", other, "--out", dir)
	want(0, ", where the mirror ends\n", "fills", "--to", "1000000", "--data", data, "--out", t.TempDir())
	want(0, ": the mirror has no row in this range\n", "fills", "--from", "1000000", "--data", data, "--out", t.TempDir())
	want(0, "wrote 0 rows in 0 files", "fills", "--from", "2100-01-01", "--data", data, "--out", t.TempDir())
	for _, c := range [][]string{
		{`"keys" is none of users, orders`, "keys"}, {"--from", "fills", "--from", "yesterday"}, {"--from", "fills", "--from", "0"}, {"--to", "fills", "--from", "5", "--to", "4"},
		{"--to", "fills", "--from", "2026-01-02", "--to", "2026-01-02"}, {"--to", "fills", "--from", "2026-01-02", "--to", "7"}, {"--format", "fills", "--format", "xls"},
		{"--codec: only Parquet is compressed", "fills", "--codec", "zstd"}, {"--codec", "fills", "--format", "parquet", "--codec", "gzip"},
		{"no mirror", "fills", "--mirror", "off"},
	} {
		want(2, c[0], append(c[1:], "--data", data, "--out", t.TempDir())...)
	}
	want(1, "no mirror", "fills", "--data", t.TempDir(), "--out", t.TempDir())
	none := filepath.Join(t.TempDir(), "none")
	want(1, "no mirror", "fills", "--data", t.TempDir(), "--out", none)
	if _, err := os.Stat(none); !os.IsNotExist(err) {
		t.Errorf("an export that failed leaves its folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := &exportCmd{Table: "all", exportOptions: exportOptions{Format: "csv"}, Out: none, Data: data, Mirror: "sqlite"}
	if err := stopped.Run(ctx, io.Discard); err == nil || !strings.Contains(err.Error(), "no file stays") {
		t.Errorf("a canceled export: %v", err)
	}
}

// readExport returns the files of the manifest in a folder.
func readExport(t *testing.T, dir string) []export.File {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, export.ManifestName))
	var m export.Manifest
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.Files
}
