package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"duplex/cmd/dx/cli"
	"duplex/internal/logbuffer"
)

// TestReplacedKey checks that the bridge and dx watch, which run when a key is revoked, go on with the one that
// has replaced it in their profile, and that without one they say what to do.
func TestReplacedKey(t *testing.T) {
	p := start(t, t.TempDir())
	p.devFile()
	dx := dxPath(t)
	run := func(line string) {
		t.Helper()
		if code, out, errs := runCommand(strings.Fields(line)...); code != 0 {
			t.Fatalf("dx %s: exit %d\n%s%s", line, code, out, errs)
		}
	}
	run("agent create bot --fund 5")
	profile := filepath.Join(filepath.Dir(p.file), "agents", "bot.json")
	var errs logbuffer.Buffer
	running := func(args ...string) (io.Writer, *bufio.Scanner, *exec.Cmd) {
		c := exec.Command(dx, append(args, "--profile", profile)...)
		c.Stderr = &errs
		in, out := startPiped(t, c)
		return in, out, c
	}
	revoke := func(file string) {
		t.Helper()
		of, err := cli.ReadProfile(file)
		if err != nil {
			t.Fatal(err)
		}
		run(fmt.Sprintf("admin revoke-key %d %s", of.UserID, of.APIKey))
	}
	in, answers, _ := running("mcp")
	call := func(id int, want string) {
		t.Helper()
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_balance","arguments":{}}}`+"\n", id)
		if !answers.Scan() || !strings.Contains(answers.Text(), want) {
			t.Errorf("%d: no %s in %s\n%s", id, want, answers.Text(), &errs)
		}
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if !answers.Scan() {
		t.Fatalf("the bridge says nothing: %s", &errs)
	}
	call(2, `"cash":"50000"`)
	_, watched, watch := running("watch", "user")
	account := func() {
		t.Helper()
		if !watched.Scan() || !strings.Contains(watched.Text(), "account: $5.00 free") {
			t.Fatalf("dx watch prints %q, want the account with $5.00 free\n%s", watched.Text(), &errs)
		}
	}
	account()

	spare := profile + ".old"
	if err := os.Rename(profile, spare); err != nil {
		t.Fatal(err)
	}
	run("agent key bot")
	revoke(spare)
	call(3, `"cash":"50000"`)
	run("agent fund bot 1") // an event for the account, on the connection with the new key
	if !watched.Scan() {
		t.Fatalf("dx watch ended: %s", &errs)
	}

	revoke(profile)
	call(4, "dx agent key NAME --dev-file "+p.file+" makes another one")
	for watched.Scan() { // Wait requires that all output has been read
	}
	if err := watch.Wait(); err == nil || !strings.Contains(errs.String(), "dx agent key") {
		t.Errorf("dx watch ended with %v: %s", err, &errs)
	}
}
