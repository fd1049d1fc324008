package arena

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/arena/stats"
	"duplex/core"
	"duplex/core/export"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/schemas"
)

// TestExport tests that two runs of a seed have the same exports, and that no file of a bundle or of
// an export has a secret.
func TestExport(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	var first map[string]string
	for range 2 {
		dir, out := t.TempDir(), t.TempDir()
		c := testConfig(t, withAgent("rest"), withAgent("leak"), func(c *Config) { c.Seeds, c.Rounds, c.Solo = "4", 1, false })
		var secrets [][]byte
		mustFail(t, c, Options{Dir: dir, Ready: func(s *seedRun) {
			for _, x := range s.seats {
				secrets = append(secrets, x.secret, []byte(hex.EncodeToString(x.secret)), []byte(s.venue.OperatorToken()), s.options.MasterKey)
			}
		}})
		if err := Export(dir, filepath.Join(out, "csv"), export.Options{Format: export.CSV}, nil); err != nil {
			t.Fatal(err)
		}
		if err := Export(dir, filepath.Join(out, "parquet"), export.Options{Format: export.Parquet}, nil); err != nil {
			t.Fatal(err)
		}
		if err := Export(dir, filepath.Join(out, "csv"), export.Options{Format: export.CSV}, nil); !errors.Is(err, export.ErrExists) {
			t.Errorf("an export into the folder of another: %v, want that its files exist", err)
		}
		for _, inside := range []string{dir, filepath.Join(dir, "4"), filepath.Join(dir, "tables"), filepath.Join(dir, "4", "export"), filepath.Join(dir, "9", "new", "tables")} {
			var bad *ConfigError
			if err := Export(dir, inside, export.Options{Format: export.CSV}, nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "is inside the run") {
				t.Errorf("an export into %s: %v", inside, err)
			}
		}
		if _, err := Rank([]string{dir}); err != nil {
			t.Error(err)
		}
		files, err := hashFiles(out)
		if err != nil {
			t.Fatal(err)
		}
		if files["csv/4/fills.csv"] == "" || files["csv/4/book.csv"] == "" || files["parquet/4/equity.parquet"] == "" || files["csv/README.md"] == "" {
			t.Errorf("files: %v", files)
		}
		for name, sum := range files {
			if first != nil && first[name] != sum {
				t.Errorf("%s differs between two runs", name)
			}
		}
		first = files
		for _, folder := range []string{dir, out} {
			searchFor(t, folder, secrets)
		}
		noSecrets(t, filepath.Join(dir, "4", "journal"))
		m, err := readManifest(filepath.Join(dir, "4"))
		if err != nil || m.Seats[6].Output != "cannot sign with (secret)" {
			t.Errorf("the last line of an agent that prints its secret is %+v, %v", m.Seats[6], err)
		}
	}
}

// TestExportIntoAFolderInUse tests that the folder of an export refuses another run of its seed, and keeps a page
// of the user's.
func TestExportIntoAFolderInUse(t *testing.T) {
	var bad *ConfigError
	run := func(kind string) string {
		dir := filepath.Join(t.TempDir(), kind)
		mustRun(t, testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Solo, c.Seats = "4", 1, false, []Seat{{Name: "me", Kind: kind}} }), Options{Dir: dir})
		return dir
	}
	fair, out := run("fair"), t.TempDir()
	if err := Export(fair, out, export.Options{Format: export.CSV}, nil); err != nil {
		t.Fatal(err)
	}
	was, err := hashFiles(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := Export(run("random"), out, export.Options{Format: export.Parquet}, nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "of another run") {
		t.Errorf("another run: %v, want that it is refused", err)
	}
	if now, err := hashFiles(out); err != nil || !maps.Equal(now, was) {
		t.Errorf("after a refused export the files are %v %v, want %v", now, err, was)
	}
	mine := t.TempDir()
	page := filepath.Join(mine, "README.md")
	if err := os.WriteFile(page, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Export(fair, mine, export.Options{Format: export.CSV}, nil); !errors.As(err, &bad) || !errors.Is(err, export.ErrExists) {
		t.Errorf("a folder with another page: %v, want that it exists", err)
	}
	if b, err := os.ReadFile(page); err != nil || string(b) != "mine" {
		t.Errorf("the page is %q %v", b, err)
	}
}

// noSecrets fails if a command of a journal has a sealed secret or the hash of a token.
func noSecrets(t *testing.T, folder string) {
	t.Helper()
	accounts, keys := 0, 0
	for at, err := range journal.Check(folder, journal.Position{}, 1) {
		if err != nil {
			t.Fatal(err)
		}
		cmds, err := replica.Commands(&at.Group)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cmds {
			switch c := c.(type) {
			case *core.CreateUser:
				accounts++
				if c.TokenHash != [32]byte{} {
					t.Errorf("account %s has the hash of a token", c.Name)
				}
			case *core.CreateKey:
				keys++
				if len(c.Sealed) > 0 {
					t.Errorf("key %s has a sealed secret", c.Key)
				}
			}
		}
	}
	if accounts < 7 || keys < 7 {
		t.Errorf("%d accounts and %d keys in the journal", accounts, keys)
	}
}

// searchFor fails if a file below a folder has one of some secrets or its SHA-256: as bytes, in hex, or
// in base64. No file has a signature header.
func searchFor(t *testing.T, folder string, texts [][]byte) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		lower := bytes.ToLower(b)
		for _, x := range texts {
			sum := sha256.Sum256(x)
			for _, y := range [][]byte{x, sum[:]} {
				if bytes.Contains(b, y) || bytes.Contains(lower, []byte(hex.EncodeToString(y))) || bytes.Contains(b, []byte(base64.RawStdEncoding.EncodeToString(y))) || bytes.Contains(b, []byte(base64.RawURLEncoding.EncodeToString(y))) {
					t.Errorf("%s has a secret", path)
				}
			}
		}
		if bytes.Contains(lower, []byte("dx-access-signature")) {
			t.Errorf("%s has a signature", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRank tests that runs of the same setup are ranked by profit, and that others are an error.
func TestRank(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	run := func(kind string, rounds int) string {
		dir := filepath.Join(t.TempDir(), kind)
		c := testConfig(t, func(c *Config) { c.Seats, c.Rounds = []Seat{{Name: "me", Kind: kind}}, rounds })
		mustRun(t, c, Options{Dir: dir})
		return dir
	}
	var bad *ConfigError
	fair, hold := run("fair", 2), run("hold", 2)
	list, err := Rank([]string{hold, fair})
	if err != nil || len(list.Rows) != 2 || list.Rows[0].ProfitOwn.Mean < list.Rows[1].ProfitOwn.Mean || *list.Rows[0].Rank != 1 || list.Rows[0].Next == nil || list.Rows[1].Next != nil {
		t.Fatalf("the ranking is %+v, %v, want two runs, the better first, compared", list, err)
	}
	if n := list.Rows[0].Next; !n.Pairwise || n.Profit.Mean != stats.Round(list.Rows[0].ProfitOwn.Mean-list.Rows[1].ProfitOwn.Mean) || n.P == nil {
		t.Errorf("fair and hold compared: %+v, want the difference of their profits", n)
	}
	link, copied := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "copy")
	if err := errors.Join(os.Symlink(fair, link), os.CopyFS(copied, os.DirFS(fair))); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{fair, link, copied} {
		if _, err := Rank([]string{fair, again}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "once more") {
			t.Errorf("%s beside %s: %v, want an error that it is the same run", again, fair, err)
		}
	}
	if _, err := Rank([]string{fair, run("hold", 3)}); !errors.As(err, &bad) {
		t.Errorf("runs of two setups: %v", err)
	}
}

// TestServe tests that time stands still until somebody calls, and moves on when all that have called
// wait.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := NewConfig()
	c.Hand, c.Seats = true, []Seat{{Name: "me"}, {Name: "other"}}
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	unwritten := errors.New("the disk is full")
	if err := Serve(ctx, c, 1, Options{}, func(schemas.DevFile) error { return unwritten }); !errors.Is(err, unwritten) {
		t.Errorf("without its keys it ends with %v", err)
	}
	files, ended := make(chan schemas.DevFile, 1), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, c, 1, Options{}, func(f schemas.DevFile) error { files <- f; return nil })
	}()
	f := <-files
	a := agent{f.API, f.Accounts[0].APIKey, f.Accounts[0].Secret}
	for _, x := range []struct{ method, target, body, want string }{
		{"GET", "/v1/time", "", `"clock":"virtual","venue_time":"17675712000`},
		{"POST", "/v1/arena/advance", `{"by_ms":10000}`, `"venue_time":"17675712100`},
		{"POST", "/v1/arena/advance", `{"until_ts":"1767571230000000000"}`, `"venue_time":"17675712300`},
		{"POST", "/v1/arena/advance", `{"until_ts":"1"}`, `"venue_time":"17675712300`},
		{"POST", "/v1/arena/advance", `{"until_ts":"1","by_ms":1}`, `schema_violation`},
		{"POST", "/v1/arena/advance", `{}`, `schema_violation`},
		{"POST", "/v1/arena/advance", `{"by_ms":86400001}`, `schema_violation`},
		{"POST", "/v1/arena/advance", `{"by_ms":0}`, `schema_violation`},
		{"GET", "/v1/account/limits", "", `"write":{"sustained_rate_per_s":20,"burst":20}`},
	} {
		status, answer, err := a.send(x.method, x.target, x.body)
		if err != nil || !strings.Contains(string(answer), x.want) {
			t.Errorf("%s %s: %d %s %v, want %s", x.target, x.body, status, answer, err, x.want)
		}
	}
	if out, err := a.tool("advance_clock", `{"by_ms":1000}`); err != nil || !strings.Contains(string(out.Result.StructuredContent), `"venue_time":"17675712310`) {
		t.Errorf("advance_clock: %s %v", out.Result.StructuredContent, err)
	}
	if out, err := a.tool("get_venue", `{}`); err != nil || !strings.Contains(string(out.Result.StructuredContent), `"environment":"arena"`) {
		t.Errorf("get_venue: %s %v", out.Result.StructuredContent, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
