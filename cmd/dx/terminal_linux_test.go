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

	"golang.org/x/sys/unix"
)

// onTerminal runs dx with output and errors on one terminal, and returns the text that is on
// the screen at the end, after carriage returns and erased lines.
func onTerminal(t *testing.T, args ...string) (screen, raw string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
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
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v", args, err)
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
	h := openTestServer(t, dir, nil)
	h.NewAccount("ann")
	h.Close()
	screen, raw := onTerminal(t, "verify", dir)
	if !strings.Contains(raw, " of ") || !regexp.MustCompile(`(?m)^whole: \d+ commands`).MatchString(screen) {
		t.Errorf("on the screen\n%s\nwritten\n%q", screen, raw)
	}
}
