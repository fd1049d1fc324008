package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"duplex/core/journal"
	"duplex/server/servertest"
)

// Every section that advice points to exists in the runbook.
func TestAdvice(t *testing.T) {
	runbook, err := os.ReadFile(filepath.Join(operations, "recovery.md"))
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.Lines(string(runbook)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			headings[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-")] = true
		}
	}
	for want, err := range map[string]error{
		"a-full-disk":        &os.PathError{Op: "write", Path: "MARK.tmp", Err: syscall.ENOSPC},
		"a-lost-mark":        &journal.Damage{File: "journal/MARK", Err: journal.ErrNoMark},
		"a-damaged-snapshot": &journal.Damage{File: "journal/snapshots/1.snapshot", Err: errors.New("checksum")},
		"a-damaged-journal":  &journal.Damage{File: "journal/log/1.wal", Err: errors.New("checksum")},
	} {
		if got := advice(err); got != "what to do: docs/operations/recovery.md#"+want || !headings[want] {
			t.Errorf("%v: %q, of %v", err, got, headings)
		}
	}
	if got := advice(errors.New("no such market")); got != "" {
		t.Errorf("advice for anything: %q", got)
	}
}

// withoutLog returns the lines of standard error that are not of the log.
func withoutLog(errs string) string {
	var b strings.Builder
	for line := range strings.Lines(errs) {
		if !strings.HasPrefix(line, "{") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// dx verify and dx serve reject a journal without its MARK with a pointer to the runbook, and
// accept it after --new-mark has written a new one.
func TestVerifyJudgesLikeServe(t *testing.T) {
	dir, k := servertest.DataWithDeposits(t)
	servertest.RemoveFile(t, filepath.Join(dir, "journal", "MARK"))
	serve := []string{"serve", "--data", dir, "--oracle", "manual", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0"}
	var messages []string
	for _, args := range [][]string{serve, {"verify", dir}} {
		code, out, errs := runCommand(args...)
		lines := strings.Split(strings.TrimSpace(withoutLog(errs)), "\n")
		if code != 1 || out != "" {
			t.Errorf("dx %s: exit %d, prints %q, want 1 and no output", args[0], code, out)
		}
		if len(lines) != 2 || !strings.Contains(lines[0], "the mark is missing") || lines[1] != "dx: what to do: docs/operations/recovery.md#a-lost-mark" {
			t.Errorf("dx %s: %q, want that the mark is missing, and what to do", args[0], lines)
		}
		_, what, _ := strings.Cut(lines[0], "journal: damaged")
		messages = append(messages, what)
	}
	if messages[0] != messages[1] {
		t.Errorf("serve says %q, verify %q", messages[0], messages[1])
	}
	code, out, errs := runCommand("verify", "--new-mark", dir)
	if code != 0 || !strings.Contains(out, "a new MARK: group ") || !strings.Contains(out, "whole: ") {
		t.Errorf("dx verify --new-mark: exit %d %s%s, want 0, a new MARK and a whole journal", code, out, errs)
	}
	expectCommand(t, 1, "not lost", "verify", "--new-mark", dir)
	h := servertest.OpenLive(t, dir, nil)
	servertest.CheckKey(t, h, k)
	h.Close()
}
