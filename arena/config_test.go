package arena

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadConfig tests that every setting that cannot work is an error before anything runs.
func TestBadConfig(t *testing.T) {
	tape := func(rows ...string) string {
		path := filepath.Join(t.TempDir(), "tape.csv")
		if err := os.WriteFile(path, []byte("ts_ns,feed,source,price\n"+strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const seat = "[[seat]]\nname = \"a\"\nkind = \"hold\"\n"
	for text, want := range map[string]string{
		"":                                      "no seats",
		seat + "colour = 1\n":                   "unknown setting seat.colour",
		"speed = 1\n" + seat:                    "unknown setting speed",
		seat + "fund = -1\n":                    "fund -1",
		seat + "fund = 1.5\n":                   "fund 1.5",
		seat + "fund = \"1.00001\"\n":           "fund 1.00001",
		seat + seat:                             "used twice",
		"[[seat]]\nname = \"a\"\n":              "either a kind or a command",
		"[[seat]]\nname = \"A\"\nkind=\"hold\"": "a name has",
		"[[seat]]\nname = \"a\"\nkind=\"x\"":    "unknown kind",
		"[[seat]]\nname = \"a\"\ncommand=\"/no/such/agent x\"":        "is not there",
		"[[seat]]\nname = \"a\"\ncommand=\"sh 'x\"":                   "a quote is not closed",
		seat + "faults = [\"fire\"]\n":                                "fault \"fire\"",
		seat + "faults = [\"refused\"]\n":                             "refused shed",
		seat + "faults = [\"lost_answer\"]\n":                         "a baseline sends no requests",
		seat + "faults = [\"late_answer x\"]\n":                       "a number of ms",
		seat + "mandate = { max_daily_loss = 5 }\n":                   "mandate.max_daily_loss: ",
		seat + "mandate = { max_daily_loss = \"x\" }\n":               "mandate.max_daily_loss: ",
		seat + "mandate = { price_collar = 9999 }\n":                  "9998",
		seat + "mandate = { max_daily_los = \"5\" }\n":                "no such field, but expires_ts",
		seat + "mandate = { categories = [1, 1] }\n":                  "categories: each category once",
		"noise = nan\n" + seat:                                        "noise NaN",
		"noise = inf\n" + seat:                                        "noise +Inf",
		"think = nan\n" + seat:                                        "think NaN",
		"think = -inf\n" + seat:                                       "think -Inf",
		"seeds = \"5..1\"\n" + seat:                                   "seeds",
		"seeds = \"1,1\"\n" + seat:                                    "named twice",
		"rounds = -1\n" + seat:                                        "rounds",
		"rounds = 0\n" + seat:                                         "rounds 0",
		"anonymous = true\nstart = \"2026-01-05T00:00:00Z\"\n" + seat: "hides the date",
		"pace = \"fast\"\n" + seat:                                    "pace",
		"start = \"soon\"\n" + seat:                                   "start",
		"stall = \"1\"\n" + seat:                                      "stall",
		"series = \"gold-60s\"\n" + seat:                              "series",
		"noise = 6\n" + seat:                                          "noise",
		fmt.Sprintf("tape = %q\n%s", "/dev/null", seat):               "no regular file",
		fmt.Sprintf("tape = %q\n%s", tape("1000000000,BTC,a\x1b[31m,60000", "2000000000,BTC,a\x1b[31m,60000"), seat):      "not plain text",
		fmt.Sprintf("tape = %q\n%s", "/no/tape.csv", seat):                                                                "no such file",
		fmt.Sprintf("tape = %q\n%s", tape("2000000000,BTC,a,60000", "1000000000,BTC,a,60000"), seat):                      "the time falls",
		fmt.Sprintf("tape = %q\n%s", tape("1000000000,BTC,a,60000", "20000000000,BTC,a,60000"), seat):                     "no index of BTC",
		fmt.Sprintf("tape = %q\n%s", tape("1000000000,BTC,a,60000", "3000000000,BTC,a,60000"), seat):                      "0 windows of 1380 seconds, for 20 rounds of btc-60s; 30 seeds need as many",
		fmt.Sprintf("seeds = \"fresh:2\"\ntape = %q\n%s", tape("1000000000,BTC,a,60000", "3000000000,BTC,a,60000"), seat): "cannot be sealed",
		"seeds = \"fresh:0\"\n" + seat: "fresh:N", "seeds = \"fresh:2000000\"\n" + seat: "fresh:N", "seeds = \"fresh:07\"\n" + seat: "fresh:N",
		"seeds = \"committed:abc\"\n" + seat: "committed:HASH", "seeds = \"committed:" + strings.Repeat("0", 64) + "\"\n" + seat: "--reveal",
		seat + "files = [\"/no/such/file\"]\n": "files go with a command", "[[seat]]\nname = \"a\"\ncommand=\"true\"\nfiles = [\"/no/such/file\"]\n": "/no/such/file",
		fmt.Sprintf("tape = %q\n%s", tape("1000000000,gold,a,2000", "3000000000,gold,a,2000"), seat): "no price of BTC",
	} {
		path := filepath.Join(t.TempDir(), "arena.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadConfig(path)
		if err == nil {
			err = c.Complete()
		}
		var bad *ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}

// TestSolo tests that each seat can have a venue of its own, and that a run that was stopped continues
// with what is missing.
func TestSolo(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Solo, c.Rounds, c.Seeds = true, 1, "1..2" })
	mustRun(t, c, Options{Dir: dir, Jobs: 2})
	if err := os.RemoveAll(filepath.Join(dir, "2", "mid")); err != nil {
		t.Fatal(err)
	}
	if r, err := MakeReport(dir, false, nil); err != nil || r.Of != 2 || len(r.Seeds) != 1 || len(r.Seats) != 5 {
		t.Errorf("the report of an incomplete run: %+v, %v", r, err)
	}
	var bad *ConfigError
	if _, err := Rank([]string{dir}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "1 of 2 seeds") {
		t.Errorf("an incomplete run is ranked: %v", err)
	}
	mustRun(t, c, Options{Dir: dir})
	if n, err := Verify(dir, nil); err != nil || n != 2 {
		t.Error(n, err)
	}
	if _, err := Run(t.Context(), c, Options{Dir: dir}); !errors.As(err, &bad) {
		t.Errorf("a complete run was run again: %v", err)
	}
	if _, err := Run(t.Context(), testConfig(t), Options{Dir: dir}); !errors.As(err, &bad) {
		t.Errorf("a run of another setup in the same folder: %v", err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "2", "mid")), os.CopyFS(filepath.Join(dir, "2", "mid"), os.DirFS(filepath.Join(dir, "2", "hold")))); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "do not have every seat of the settings once") {
		t.Errorf("a seat is another's copy: %v", err)
	}
}

// TestQuoteCommand tests that a quoted word is split into one word again, by this package and by a shell, and
// that a plain one stays as it is.
func TestQuoteCommand(t *testing.T) {
	for _, word := range []string{"/usr/bin/dx", "/home/a b/dx", `/it's/"dx" \ $HOME`, "C:/x y.exe", "a\tb"} {
		line := quoteCommand(word) + " mcp"
		argv, err := splitCommand(line)
		if err != nil || len(argv) != 2 || argv[0] != word || argv[1] != "mcp" {
			t.Errorf("%s splits into %q, %v, want %q and mcp", line, argv, err, word)
		}
		if out, err := exec.Command("sh", "-c", "printf '%s|' "+line).Output(); err != nil || string(out) != word+"|mcp|" {
			t.Errorf("%s: a shell has %q, %v", line, out, err)
		}
	}
	if got := quoteCommand("/usr/bin/dx"); got != "/usr/bin/dx" {
		t.Error(got)
	}
}

// TestEnvironment tests what a seat that is an MCP host finds in its environment: the command of the bridge,
// and a time for its calls.
func TestEnvironment(t *testing.T) {
	c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats = "2", 1, c.Seats[:1] }, withAgent("environment"), func(c *Config) { c.Seats[1].MCP = true })
	r := mustRun(t, c, Options{Dir: t.TempDir()})
	if s := r.Seats[1]; s.ExitStatus == nil || *s.ExitStatus != 0 || s.Kind != "mcp" {
		t.Errorf("the seat is %+v, want kind mcp and exit status 0", s)
	}
}
