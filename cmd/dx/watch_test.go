package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"duplex/internal/logbuffer"
	"duplex/schemas"
)

func TestWatch(t *testing.T) {
	p := plainVenue.of(t)
	p.devFile()
	m := p.market(func(m schemas.Market) bool { return m.YesBid > 100 })
	name := p.series(m)
	for _, c := range []struct {
		name, args string
		code       int
		want       []string // part of each line of output, or of the last line of errors
	}{
		{"account", "watch user --count 1", 0, []string{"-     account: $10,000.00 free, $0.00 reserved, 0 orders, 0 positions"}},
		{"prices", "watch oracle --count 2", 0, []string{" source", " source"}},
		{"JSON", "watch oracle --count 2 --json", 0, []string{`{"type":"oracle","sid":1,"seq":"`, `{"type":"oracle","sid":1,"seq":"`}},
		{"a book", fmt.Sprintf("watch orderbook_delta --market %d --count 2", m.MarketID), 0, []string{"book of round ", " @ "}},
		{"a series", "watch rounds orderbook_delta --series SERIES --count 1", 0, []string{"book of round "}},
		{"no such series", "watch trades --series btc-1h", 2, []string{"unknown series \"btc-1h\"; the series are btc-60s, btc-5m"}},
		{"two channels", fmt.Sprintf("watch user orderbook_snapshot --market-id %d --count 2 --as reader", m.MarketID), 0, []string{"account: ", "book of round "}},
		{"no such channel", "watch ticker", 2, []string{"ticker"}},
		{"no channel", "watch", 2, []string{"<channels>"}},
		{"no such market", "watch trades --market 33", 1, []string{"unknown_market: A market never opened"}},
		{"fewer than none", "watch user --count=-1", 2, []string{"--count"}},
	} {
		code, out, errs := runCommand(strings.Fields(strings.Replace(c.args, "SERIES", name, 1))...)
		if code != c.code {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out, errs)
			continue
		}
		if code != 0 {
			out = errs[strings.LastIndex(strings.TrimSpace(errs), "\n")+1:]
		}
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%s: %d lines\n%s", c.name, len(lines), out)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: %q in %q", c.name, want, lines[i])
			}
		}
	}
	interrupted(t)
	expectCommand(t, 1, "refused", "watch", "user", "--url", nobody)
}

// nobody is a URL without a listener.
const nobody = "http://127.0.0.1:1"

// interrupted checks that an interrupt ends dx watch with exit code 0 and no error.
func interrupted(t *testing.T) {
	t.Helper()
	path := dxPath(t)
	cmd := exec.Command(path, "watch", "user")
	var errs logbuffer.Buffer
	cmd.Stderr = &errs
	_, lines := startPiped(t, cmd)
	if !lines.Scan() {
		t.Fatalf("dx watch printed nothing: %s", &errs)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // Wait requires that all output has been read
	}
	if err := cmd.Wait(); err != nil || errs.String() != "" {
		t.Errorf("dx watch ended with %v: %s", err, &errs)
	}
}
