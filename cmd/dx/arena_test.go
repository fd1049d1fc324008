package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"duplex/arena"
	"duplex/schemas"
)

// TestArenaServe tests that the file with the keys of an arena can be read by its owner alone, and that the
// line that names it comes when it is there.
func TestArenaServe(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "new", "arena.json")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		s := arenaServeCmd{Seed: 3, Keys: keys, API: "127.0.0.1:0", Portal: "127.0.0.1:0", Admin: "127.0.0.1:0"}
		err := s.Run(ctx, in, slog.New(slog.DiscardHandler))
		ended <- err
		in.CloseWithError(io.EOF)
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(line, "venue of seed 3: API http://127.0.0.1:") {
		t.Fatalf("the first line is %q, %v, want the venue of seed 3; serve ended with %v", line, err, <-ended)
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // the rest of what it prints
	var f schemas.DevFile
	b, err := os.ReadFile(keys)
	if err := errors.Join(err, json.Unmarshal(b, &f)); err != nil {
		t.Fatalf("the dev file is %s, %v", b, err)
	}
	if len(f.Accounts) != 1 || f.Accounts[0].Name != "agent" || len(f.Accounts[0].Secret) != 2*schemas.SecretLen {
		t.Errorf("the accounts are %+v, want agent alone, with a secret", f.Accounts)
	}
	if f.MCP != f.API+"/v1/mcp" {
		t.Errorf("the agent lane is at %s, want %s/v1/mcp", f.MCP, f.API)
	}
	for path, want := range map[string]os.FileMode{keys: 0o600, filepath.Dir(keys): 0o700} {
		if s, err := os.Stat(path); err != nil || s.Mode().Perm() != want {
			t.Errorf("the mode of %s is %v, %v, want %v", path, s.Mode().Perm(), err, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestVerifyArena tests that dx verify checks a run, and one bundle of it against its manifest, and not only
// the bundle's journal.
func TestVerifyArena(t *testing.T) {
	dir := t.TempDir()
	c := arena.NewConfig()
	c.Solo, c.Rounds, c.Seeds, c.Seats = false, 1, "1", []arena.Seat{{Name: "random", Kind: "random"}}
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	if _, err := arena.Run(t.Context(), c, arena.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	verify := func(dir string) (string, error) {
		var out strings.Builder
		err := (&verifyCmd{Dir: dir}).Run(&out)
		return out.String(), err
	}
	bundle := filepath.Join(dir, "1")
	for at, want := range map[string]string{dir: "whole: 1 seeds", bundle: "whole: 1 bundles"} {
		if out, err := verify(at); err != nil || !strings.Contains(out, want) {
			t.Errorf("dx verify %s: %q, %v, want %q", at, out, err, want)
		}
	}
	path := filepath.Join(bundle, "trajectories", "random.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, bundle} {
		if out, err := verify(at); err == nil || out != "" || !strings.Contains(err.Error(), "random.jsonl was changed") {
			t.Errorf("dx verify %s after a change: %q, %v, want an error that names random.jsonl", at, out, err)
		}
	}
}

// TestVerifyCertificate tests dx verify on a certificate without its runs, and on what is none.
func TestVerifyCertificate(t *testing.T) {
	c := arena.Certificate{SetupHash: "ab", Certified: true, Dx: "9.9.9", Checks: []arena.Check{{Fault: "none", Seat: "a", Check: "it runs to the end", Exercised: 1, Passed: true, Found: "it did", Evidence: []uint64{}}}}
	text := func() string {
		b, err := json.MarshalIndent(&c, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + "\n"
	}
	c.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(text())))
	good := text()
	expectCommand(t, 0, "whole: certified by dx 9.9.9, 1 of 1 checks passed; the digest is as written. Its runs were not looked at", "verify", textFile(t, "certificate.json", good))
	expectCommand(t, 1, "was changed: its digest is", "verify", textFile(t, "certificate.json", strings.Replace(good, "9.9.9", "9.9.8", 1)))
	expectCommand(t, 2, "is no certificate of dx arena certify", "verify", textFile(t, "report.json", `{"seats":[]}`))
	expectCommand(t, 2, "no such file", "verify", filepath.Join(t.TempDir(), "nothing"))
}

// TestArenaStats tests dx arena stats on a file of somebody's results: its verdicts, and errors that name the line.
func TestArenaStats(t *testing.T) {
	var file strings.Builder
	file.WriteString("seed,seat,profit,swing\n")
	for i := range 20 {
		fmt.Fprintf(&file, "%d,able,%d,2\n%d,idle,0,0\n", i, 3+i%4, i)
	}
	good := textFile(t, "results.csv", file.String())
	expectCommand(t, 0, "profit\n", "arena", "stats", good)
	expectCommand(t, 0, `{"name":"idle","profit":{"mean":0,"low":0,"high":0},"p":null,"p_tail":null,"p_corrected":null,"verdict":"flat","more":0,"half_width":0,"swing":0}`, "arena", "stats", good, "--json")
	expectCommand(t, 0, "calibration error", "arena", "stats", textFile(t, "forecasts.csv", "seed,seat,p,outcome\n1,a,0.7,1\n"))
	expectCommand(t, 2, `line 2: profit "x" is not a number`, "arena", "stats", textFile(t, "bad.csv", "seed,seat,profit\n1,a,x\n"))
}

// TestArenaImport tests that the bars of an exchange become a tape that a run plays, whose table names the source, and
// that an error exits with 2 and writes nothing.
func TestArenaImport(t *testing.T) {
	var bars strings.Builder
	bars.WriteString("timestamp,open,high,low,close,volume\n")
	for i := range 4 * 60 {
		fmt.Fprintf(&bars, "%d,1,2,3,%d.5,4\n", 1_767_571_200_000+1000*i, 90_000+i%7)
	}
	out := filepath.Join(t.TempDir(), "tape.csv")
	expectCommand(t, 2, "line 2, column open: ", "arena", "import", textFile(t, "bars.csv", strings.ReplaceAll(bars.String(), ",1,2", ",x,2")), "--out", out, "--source", "sample", "--price", "open")
	if _, err := os.Stat(out); err == nil {
		t.Error("a tape was written in spite of the error")
	}
	expectCommand(t, 0, "BTC from 2026-01-05T00:00:01Z on, 240 seconds, of bars of 1s\n", "arena", "import", textFile(t, "bars.csv", bars.String()), "--out", out, "--source", "sample")
	file := textFile(t, "arena.toml", "rounds = 1\nseeds = \"1\"\n[[seat]]\nname = \"a\"\nkind = \"hold\"\n")
	expectCommand(t, 0, "BTC index of tape sample, synthetic maker", "arena", "run", file, "--tape", out, "--out", filepath.Join(t.TempDir(), "run"))
}

// TestArenaBoard tests that the command that a board prints for a run verifies it, in a shell in another folder, also if
// the path has a blank and a quote; and that a folder that is named twice exits with 2 and writes nothing.
func TestArenaBoard(t *testing.T) {
	skipProcess(t)
	base := t.TempDir()
	dirs := []string{filepath.Join(base, "one"), filepath.Join(base, "it's two")}
	for i, dir := range dirs {
		file := textFile(t, "arena.toml", fmt.Sprintf("rounds = 1\nseeds = \"%d\"\n[[seat]]\nname = \"a\"\nkind = \"random\"\n", i+1))
		expectCommand(t, 0, "", "arena", "run", file, "--out", dir)
	}
	out := filepath.Join(base, "board")
	expectCommand(t, 2, "once more", "arena", "board", dirs[0], dirs[1], dirs[0], "--out", out)
	if _, err := os.Stat(out); err == nil {
		t.Error("a board was written in spite of the error")
	}
	expectCommand(t, 0, filepath.Join("board", "index.html"), "arena", "board", dirs[0], dirs[1], "--out", out)
	page, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`<code>(dx verify [^<]+)</code>`).FindAllStringSubmatch(string(page), -1)
	if len(commands) != 2 {
		t.Fatalf("the page has the commands %q, want one for each run", commands)
	}
	for _, c := range commands {
		sh := exec.Command("sh", "-c", html.UnescapeString(c[1]))
		sh.Dir, sh.Env = t.TempDir(), []string{"PATH=" + filepath.Dir(dxPath(t)) + ":" + os.Getenv("PATH")}
		if b, err := sh.CombinedOutput(); err != nil || !strings.Contains(string(b), "whole: 1 seeds replayed") {
			t.Errorf("%s: %v\n%s", sh, err, b)
		}
	}
}

// TestArenaFailedSeat tests that a run with a seat that fails prints its table, names seat, seed and status, and
// exits with 1, and that the seat has no rank.
func TestArenaFailedSeat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	file := textFile(t, "arena.toml", "rounds = 1\nseeds = \"4\"\n[[seat]]\nname = \"broken\"\ncommand = \"false\"\n[[seat]]\nname = \"a\"\nkind = \"hold\"\n")
	code, out, errs := runCommand("arena", "run", file, "--out", dir)
	if code != 1 || !strings.Contains(out, "failed in 1 seed") || !strings.Contains(errs, `seat "broken" ended seed 4 with exit status 1`) {
		t.Errorf("exit %d, %s%s, want 1, the table, and seat, seed and status", code, out, errs)
	}
	expectCommand(t, 0, `"rank":null,"run":"run","seat":"broken"`, "arena", "rank", dir, "--json")
}

// TestArenaFlags tests that a flag replaces a setting of the file, also by 0 or false, and that a value that
// cannot work is an error before anything runs.
func TestArenaFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	file := textFile(t, "arena.toml", "rounds = 5\nseeds = \"1..5\"\nthink = 1.0\nnoise = 2.0\nseries = \"btc-5m\"\nsolo = true\n[[seat]]\nname = \"a\"\nkind = \"hold\"\n")
	for flag, want := range map[string]string{
		"--rounds=0": "rounds 0", "--think=NaN": "think NaN", "--think=+Inf": "think", "--noise=NaN": "noise NaN", "--noise=-1": "noise -1", "--series=gold-60s": "series",
	} {
		expectCommand(t, 2, want, "arena", "run", file, "--out", dir, flag)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("a run with a bad flag has begun")
	}
	expectCommand(t, 0, "", "arena", "run", file, "--out", dir, "--rounds=1", "--seeds=3", "--think=0", "--noise=0", "--series=btc-60s", "--no-solo")
	var m arena.Manifest
	b, err := os.ReadFile(filepath.Join(dir, "3", "manifest.json"))
	if err != nil || json.Unmarshal(b, &m) != nil {
		t.Fatal(err)
	}
	s := m.Settings
	if s.Rounds != 1 || s.Series != "btc-60s" || !m.Reproducible {
		t.Errorf("the manifest is %s, want one round of btc-60s, reproducible", b)
	}
	if s.Think != 0 || s.Noise != 0 || s.Solo {
		t.Errorf("the settings are %+v, want no think time, no noise and no solo runs", s)
	}
}

// TestArenaExport tests the flags of dx arena export: both codecs, both formats in one folder, and a codec of CSV.
func TestArenaExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	file := textFile(t, "arena.toml", "rounds = 1\nseeds = \"3\"\n[[seat]]\nname = \"a\"\nkind = \"hold\"\n")
	expectCommand(t, 0, "", "arena", "run", file, "--out", dir, "--no-solo")
	out := filepath.Join(t.TempDir(), "tables")
	expectCommand(t, 2, "--codec: only Parquet is compressed", "arena", "export", dir, "--out", out, "--codec", "snappy")
	expectCommand(t, 0, "README.md there", "arena", "export", dir, "--out", out, "--format", "parquet", "--codec", "snappy")
	expectCommand(t, 0, "README.md there", "arena", "export", dir, "--out", out)
	expectCommand(t, 2, "exists already: delete it, or export into another folder", "arena", "export", dir, "--out", out)
	formats := map[string]int{}
	for _, f := range readExport(t, filepath.Join(out, "3")) {
		formats[filepath.Ext(f.Name)]++
		if !f.Complete {
			t.Errorf("%+v, want a complete file: the run has ended", f)
		}
	}
	if formats[".csv"] == 0 || formats[".csv"] != formats[".parquet"] || len(formats) != 2 {
		t.Errorf("the manifest has files of %v, want as many of CSV as of Parquet", formats)
	}
}
