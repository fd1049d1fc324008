package arena

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"duplex/arena/stats"
	"duplex/core"
	"duplex/core/export"
	"duplex/core/replica"
)

// TestPartOfARun tests that a run from which a seed or a seat was left out is neither verified nor ranked,
// although its report agrees with the bundles that are left; and that a bundle counts for its own seed alone.
func TestPartOfARun(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	mustRun(t, testConfig(t, func(c *Config) { c.Rounds, c.Seeds, c.Seats = 1, "1..3", c.Seats[2:4] }), Options{Dir: whole, Jobs: 2})
	if list, err := Rank([]string{whole}); err != nil || len(list.Rows) != 2 {
		t.Fatal(list, err)
	}
	for name, x := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"a seed is missing": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "2")) }, "has 2 of 3 seeds, and seed 2 is not complete"},
		"a seed is another's copy": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "2")), os.CopyFS(filepath.Join(dir, "2"), os.DirFS(filepath.Join(dir, "1"))))
		}, "is the bundle of seed 1"},
		"a seed is another's, renamed": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "2")), os.CopyFS(filepath.Join(dir, "2"), os.DirFS(filepath.Join(dir, "1"))), edit(filepath.Join(dir, "2", manifestName), `"seed": 1,`, `"seed": 2,`))
		}, "the index is not the one that seed 2 draws"},
		"a seed more": {func(dir string) error {
			return errors.Join(os.CopyFS(filepath.Join(dir, "4"), os.DirFS(filepath.Join(dir, "1"))), edit(filepath.Join(dir, "4", manifestName), `"seed": 1,`, `"seed": 4,`))
		}, "has seeds that are not in its settings"},
		"a seat is left out": {func(dir string) error {
			path := filepath.Join(dir, "2", manifestName)
			m, err := readManifest(filepath.Dir(path))
			if err != nil {
				return err
			}
			m.Seats = m.Seats[1:]
			return writeManifest(filepath.Dir(path), m)
		}, "is none of the commands that create the accounts"},
	} {
		dir := filepath.Join(t.TempDir(), "part")
		if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), x.change(dir)); err != nil {
			t.Fatal(err)
		}
		if r, err := MakeReport(dir, false, nil); err == nil { // the report of what is left
			if err := r.Write(dir); err != nil {
				t.Fatal(err)
			}
		}
		_, err1 := Verify(dir, nil)
		_, err2 := Rank([]string{dir})
		for what, err := range map[string]error{"verified": err1, "ranked": err2} {
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s: %s: %v, want %q", name, what, err, x.want)
			}
		}
	}
	if err := edit(filepath.Join(whole, reportName), `"verdict": "too few seeds"`, `"verdict": "profit"`); err != nil {
		t.Fatal(err)
	}
	if _, err := Rank([]string{whole}); err == nil || !strings.Contains(err.Error(), "verdict") {
		t.Errorf("a report that was changed is ranked: %v", err)
	}
	m, err := readManifest(filepath.Join(whole, "1"))
	if err != nil {
		t.Fatal(err)
	}
	ahead := &replica.Result{Applied: []replica.Applied{{Stamp: core.Stamp{Ts: 2 * core.NsPerSec}, Command: &core.PostIndex{Tick: core.IndexTick{Second: math.MaxInt64}}}}}
	if err := checkIndex(m)(&replayBundle{start: core.NsPerSec}, ahead); err == nil {
		t.Error("a price of a later time is accepted")
	}
}

// TestForeignRun tests that the names in a run that somebody else made are checked when it is read, and that
// no text of a report is markup of its page.
func TestForeignRun(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, testConfig(t, func(c *Config) { c.Rounds, c.Seeds, c.Seats = 1, "1", c.Seats[2:4] }), Options{Dir: dir})
	bundle := filepath.Join(dir, "1")
	r, err := MakeReport(dir, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Manifest, string){
		"a seat":  func(m *Manifest, text string) { m.Settings.Seats[0].Name, m.Seats[0].Name = text, text },
		"a kind":  func(m *Manifest, text string) { m.Settings.Seats[0].Kind = text },
		"the run": func(m *Manifest, text string) { m.Settings.Name = text },
	} {
		for _, text := range []string{"<script>alert(1)</script>", "\x1b[2Jfair", "../../up", "=1+1", strings.Repeat("x", 33)} {
			m, err := readManifest(bundle)
			if err != nil {
				t.Fatal(err)
			}
			change(m, text)
			changed := t.TempDir()
			if err := errors.Join(os.CopyFS(changed, os.DirFS(dir)), writeManifest(filepath.Join(changed, "1"), m)); err != nil {
				t.Fatal(err)
			}
			_, err1 := MakeReport(changed, false, nil)
			_, err2 := Verify(changed, nil)
			_, err3 := VerifyBundles(filepath.Join(changed, "1"), nil)
			_, err4 := Rank([]string{changed})
			err5 := Export(changed, filepath.Join(t.TempDir(), "x"), export.Options{Format: export.CSV}, nil)
			for i, err := range []error{err1, err2, err3, err4, err5} {
				if bad := (*ConfigError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
					t.Errorf("%s %q, reader %d: %v, want an error that quotes the text", name, text, i, err)
				}
			}
		}
	}
	const markup, escaped = `<b title="x">`, "&lt;b title="
	for _, text := range []*string{&r.SetupHash, &r.name, &r.About.Series, &r.About.Start, &r.About.Pace, &r.Seats[0].Name, &r.Seats[0].Kind, &r.Seats[0].Verdict} {
		*text = markup
	}
	r.Seats[0].Rejections = map[string]int{markup: 1}
	r.Paired = []stats.Paired{{Seat: markup, Other: markup, Profit: r.Seats[0].Profit}}
	r.Between = []Between{{Seat: markup, Other: markup}}
	r.About.Commands = map[string]string{markup: markup}
	page, err := r.page(r.name)
	if err != nil || bytes.Contains(page, []byte("<b ")) {
		t.Errorf("%v, the page has markup of its texts:\n%s", err, page)
	}
	if n := bytes.Count(page, []byte(escaped)); n != 20 { // also the start of a name in the chart
		t.Errorf("%d escaped texts", n)
	}
}

// edit replaces a text in a file, which must have it.
func edit(path, before, after string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(before)) {
		return errors.New(path + " has no " + before)
	}
	return os.WriteFile(path, bytes.Replace(b, []byte(before), []byte(after), 1), 0o600)
}

// TestVerifyBundle tests that a bundle alone is compared with its manifest: every byte of its files, and what
// the manifest says of the setup; and that the seeds of a run have the same seats.
func TestVerifyBundle(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, testConfig(t, func(c *Config) { c.Rounds, c.Seeds, c.Seats = 1, "1..2", c.Seats[1:3] }, withAgent("advance")), Options{Dir: dir, Jobs: 2})
	bundle := filepath.Join(dir, "1")
	if n, err := VerifyBundles(bundle, nil); err != nil || n != 1 || !IsBundle(bundle) {
		t.Fatal(n, err)
	}
	m, err := readManifest(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for name := range m.Files {
		path := filepath.Join(bundle, name)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		is := append(bytes.Clone(was), 'x')
		if len(was) > 0 {
			is = bytes.Clone(was)
			is[len(is)/2] ^= 1
		}
		if err := os.WriteFile(path, is, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyBundles(bundle, nil); err == nil || !strings.Contains(err.Error(), filepath.Base(name)+" was changed") {
			t.Errorf("%s: a changed byte: %v", name, err)
		}
		if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range map[string]struct{ before, after, want string }{
		"an unknown name":     {`"seed": 1,`, `"seed": 1, "colour": 1,`, "unknown field"},
		"a name twice":        {`"seed": 1,`, `"seed": 1, "seed": 1,`, "is not written as"},
		"other letters":       {`"seed": 1,`, `"Seed": 1,`, "is not written as"},
		"a journal version":   {`"journal": `, `"journal": 9`, "setup_hash"},
		"a revision":          {`"revision": `, `"revision": 9`, "setup_hash"},
		"the state hash":      {`"state_hash": "`, `"state_hash": "0`, "the replay has"},
		"a fund":              {`"fund": 100`, `"fund": 101`, "setup_hash"},
		"the command of seat": {"DX_TEST_AGENT=advance", "DX_TEST_AGENT=careful", "has other seats than seed"},
		"a seat that holds":   {`"fund": 100` + "\n      }\n    ]", `"fund": 100,` + "\n        \"holds\": true\n      }\n    ]", "has other seats than seed"},
	} {
		changed := t.TempDir()
		if err := errors.Join(os.CopyFS(changed, os.DirFS(dir)), edit(filepath.Join(changed, "1", manifestName), x.before, x.after)); err != nil {
			t.Fatal(name, err)
		}
		_, err := VerifyBundles(filepath.Join(changed, "1"), nil)
		if strings.Contains(x.want, "other seats") { // one bundle alone cannot show it
			_, err = Verify(changed, nil)
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// TestAccountsOfABundle tests that a journal with another account, deposit or bound than the settings say is no
// bundle, however its manifest agrees with it.
func TestAccountsOfABundle(t *testing.T) {
	c := testConfig(t, func(c *Config) { c.Rounds, c.Seeds, c.Seats = 1, "1", c.Seats[2:3] })
	owned := accountCommands(c, []int{1})
	deposit := &core.Deposit{User: 4, DepositID: "more", Amount: 1, Audit: audit}
	for name, x := range map[string]struct {
		cmds []core.Command
		ok   bool
	}{
		"as the settings say":           {append(slices.Clone(owned), &core.Clock{}, &core.PlaceOrder{User: 4}), true},
		"a deposit more":                {append(slices.Clone(owned), deposit), false},
		"a deposit before the others":   {append([]core.Command{deposit}, owned...), false},
		"a transfer":                    {append(slices.Clone(owned), &core.Transfer{Owner: 3, From: 3, To: 4, Amount: 1}), false},
		"other bounds":                  {append(slices.Clone(owned), &core.SetMandate{Owner: 3, Agent: 4}), false},
		"other fees":                    {append(slices.Clone(owned), &core.SetFees{}), false},
		"the key for the maker":         {append(slices.Clone(owned), &core.CreateKey{User: makerUser, Key: seatKey(1), Audit: audit}), false},
		"without the key":               {owned[:len(owned)-1], false},
		"the accounts in another order": {append(slices.Clone(owned[2:]), owned[:2]...), false},
	} {
		check := accountCheck{accountCommands(c, []int{1})}
		var err error
		for _, cmd := range x.cmds {
			err = errors.Join(err, check.add(&replica.Applied{Command: cmd}))
		}
		if err = errors.Join(err, check.end()); (err == nil) != x.ok {
			t.Errorf("%s: %v, want valid: %t", name, err, x.ok)
		}
	}
}
