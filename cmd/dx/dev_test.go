package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"duplex/schemas"
)

// TestNoiseTrades checks that the noise traders of a dev venue trade by themselves, that neither
// their keys nor those of the house are in the dev file, and that the venue opens again without
// them.
func TestNoiseTrades(t *testing.T) {
	data := t.TempDir()
	p := start(t, data, "--quiet-market=false")
	p.marketFor(0, func(m schemas.Market) bool { return m.Volume > 0 })
	if n := len(p.dev.Accounts); n != 4 {
		t.Errorf("%d accounts in the dev file, want 4", n)
	}
	p.stop()
	p = start(t, data)
	p.stop()
	expectCommand(t, 0, "", "verify", data)
}

// The banner says who trades besides the user, and which flag leaves them out.
func TestBannerSaysWhoTrades(t *testing.T) {
	for _, c := range []struct {
		cmd      devCmd
		accounts int
		want     string
	}{
		{devCmd{}, 8, "3 noise traders place about 36 small random orders a minute"},
		{devCmd{QuietMarket: true}, 5, "A house maker quotes every market."},
		{devCmd{NoMaker: true}, 5, "Nobody else trades here."},
		{devCmd{NoMaker: true, QuietMarket: true}, 5, "Nobody else trades here."},
	} {
		var out bytes.Buffer
		c.cmd.printGreeting(&out, schemas.DevFile{Accounts: []schemas.DevAccount{{Name: "trader"}}}, "/p/trader.json")
		if !strings.Contains(out.String(), "\n"+c.want) && !strings.Contains(out.String(), " "+c.want) {
			t.Errorf("no %q in\n%s", c.want, &out)
		}
		if n := len(c.cmd.accounts()); n != c.accounts {
			t.Errorf("%+v has %d accounts, want %d", c.cmd, n, c.accounts)
		}
	}
}

// TestSecondVenue starts a second venue beside a running one with the same dev file. It is refused with the
// address of the first, whose files and keys stay; after the first has ended it starts.
func TestSecondVenue(t *testing.T) {
	first := start(t, t.TempDir())
	agent := filepath.Join(filepath.Dir(first.file), "agents", devAgent+".json")
	read := func() string {
		t.Helper()
		var all []byte
		for _, path := range []string{first.file, agent} {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		return string(all)
	}
	before := read()
	path := dxPath(t)
	out, err := exec.Command(path, "dev", "--ports", "0", "--dev-file", first.file).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "the venue that runs at "+first.dev.API) {
		t.Errorf("a second dx dev: %v\n%s, want exit 2 and the address of the first", err, out)
	}
	if read() != before {
		t.Error("the files of the first venue have changed")
	}
	first.stop()
	if err := devFileFree(t.Context(), first.file); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}
