package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"duplex/schemas"
	"duplex/server/servertest"
)

// onTerminal runs dx with output and errors on one terminal, and returns the text that is on
// the screen at the end, after carriage returns and erased lines.
func onTerminal(t *testing.T, args ...string) (screen, raw string) {
	t.Helper()
	path := dxPath(t)
	screenEnd, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals, which the test runs dx on: %v", err)
	}
	defer screenEnd.Close()
	fd := int(screenEnd.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = program, program
	err = cmd.Start()
	program.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(screenEnd)
	if err != nil && !errors.Is(err, syscall.EIO) { // EIO: the program has closed its end
		t.Fatal(err)
	}
	err = cmd.Wait()
	if missedTrade(args, string(b)) {
		return onTerminal(t, args...)
	}
	if err != nil {
		t.Errorf("dx %s failed: %v", args, err)
	}
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n") {
		shown := ""
		for part := range strings.SplitSeq(line, "\r") {
			if rest, erased := strings.CutPrefix(part, "\x1b[K"); erased {
				shown = rest
				continue
			}
			if len(part) < len(shown) {
				part += shown[len(part):]
			}
			shown = part
		}
		lines = append(lines, shown)
	}
	return strings.Join(lines, "\n"), string(b)
}

// dx verify clears its progress bar before it prints the result.
func TestVerifyOnATerminal(t *testing.T) {
	dir := t.TempDir()
	h := servertest.OpenLive(t, dir, nil)
	h.NewAccount("ann")
	h.Close()
	screen, raw := onTerminal(t, "verify", dir)
	if !strings.Contains(raw, " of ") || !regexp.MustCompile(`(?m)^whole: [\d,]+ commands`).MatchString(screen) {
		t.Errorf("on the screen\n%s\nwritten\n%q", screen, raw)
	}
}

// On a terminal dx admin prints lines and tables with dollars, and JSON with --json.
func TestAdminOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	p := plainVenue.of(t)
	p.devFile()
	user := fmt.Sprint(p.account("reader").UserID)
	for _, c := range []struct{ args, want string }{
		{"admin user " + user, `(?m)^name +reader\n(.*\n)*^cash +\$10,000\.00\n(.*\n)*^keys\nAPI KEY +`},
		{"admin user " + user + " --json", `^\{"user_id":` + user + `,.*"cash":"100000000"`},
		{"admin withdrawals --status rejected", `^none\n`},
		{"admin audit --action deposit --limit 1", `^ *SEQ +TIME \(UTC\) +WHO +ACTION +ON +DETAIL.*\n *\d+ +[0-9-]+ [0-9:]+ +dx dev +deposit +account \d+ +amount \$[0-9,]+\.00, deposit id `},
		{"admin audit --action deposit --limit 1 --json", `^\{"actions":\[\{"seq":.*"detail":\{"amount":"\d+"`},
		{"admin users --limit 1", `^USER ID +NAME +SUSPENDED +CREATED \(UTC\)\n +1 .*\nThere are more: --cursor `},
	} {
		if screen, _ := onTerminal(t, strings.Fields(c.args)...); !regexp.MustCompile(c.want).MatchString(screen) {
			t.Errorf("%s printed\n%s", c.args, screen)
		}
	}
}

// On a terminal dx order, dx replace and dx cancel print a sentence, and JSON with --json. Colors stay away
// under NO_COLOR.
func TestOrderOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	p := plainVenue.of(t)
	p.devFile()
	t.Setenv("DX_AS", "treasurer") // other tests expect that trader has not traded
	m := p.marketFor(2*time.Minute, func(m schemas.Market) bool { return m.YesBid > 200 && m.YesAsk > 0 && m.YesAsk < 9800 })
	series := "--series=" + p.series(m)
	for _, c := range []struct{ args, want string }{
		{"order buy yes 1 " + series, `(?m)^Bought 1 YES in [a-z0-9-]+ at [0-9.]+¢ for \$[0-9.]+, plus a fee of \$[0-9.]+\. Highest price: [0-9.]+¢\. Order \d+\.$`},
		{"order buy yes 2 @1 " + series, `(?m)^Your order waits to buy 2 YES at 1¢\. Order \d+\.$`},
		{"order buy yes 2 @1 --preview " + series, `(?m)^An order to buy 2 YES at 1¢ would rest\. Worst loss \$0\.02`},
		{"order buy yes 2 @1 --preview --json " + series, `(?m)^  "status": "resting",$`},
		{"cancel --all " + series, `(?m)^Canceled all resting orders in [a-z0-9-]+\.$`},
	} {
		if screen, _ := onTerminal(t, strings.Fields(c.args)...); !regexp.MustCompile(c.want).MatchString(screen) {
			t.Errorf("%s printed\n%s", c.args, screen)
		}
	}
	screen, _ := onTerminal(t, "order", "buy", "yes", "2", "@1", series)
	old := regexp.MustCompile(`Order (\d+)\.`).FindStringSubmatch(screen)
	if old == nil {
		t.Fatalf("no order in %s", screen)
	}
	screen, _ = onTerminal(t, "replace", old[1], "3", "@1.1")
	now := regexp.MustCompile(`(?m)^Canceled order ` + old[1] + `: 2 contracts\. Your order waits to buy 3 YES at 1\.1¢\. Order (\d+)\.$`).FindStringSubmatch(screen)
	if now == nil {
		t.Fatalf("dx replace printed\n%s", screen)
	}
	if screen, _ = onTerminal(t, "orders", series); !regexp.MustCompile(`(?m)AHEAD +TIF +STATUS$`).MatchString(screen) || !regexp.MustCompile(`(?m)^`+now[1]+` .* 3 +0 +3 +0 +gtc +resting$`).MatchString(screen) {
		t.Errorf("dx orders printed\n%s", screen)
	}
	if screen, _ = onTerminal(t, "replace", now[1], "4", "@1.2", "--json"); !strings.Contains(screen, `"canceled_qty": 3`) {
		t.Errorf("dx replace --json printed\n%s", screen)
	}
	onTerminal(t, "cancel", "--all", series)
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	if _, raw := onTerminal(t, "ledger"); !strings.Contains(raw, "\x1b[31m-$") {
		t.Errorf("no color in %q", raw)
	}
	t.Setenv("NO_COLOR", "1")
	if _, raw := onTerminal(t, "ledger"); strings.Contains(raw, "\x1b[") {
		t.Errorf("colors in %q", raw)
	}
}
