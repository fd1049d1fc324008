package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"duplex/client"
	"duplex/internal/logbuffer"
	"duplex/schemas"
)

// TestDevMembers starts a dev venue of three members, kills one, trades on, stops it, and finds the
// account as it was at the next start.
func TestDevMembers(t *testing.T) {
	skipUnlessLong(t)
	if err := secondLoopback(); err != nil {
		t.Skip("addresses of 127.0.0.0/8 besides 127.0.0.1 are not available: ", err)
	}
	path := dxPath(t)
	dir := t.TempDir()
	devFile, host := filepath.Join(dir, "dev.json"), fmt.Sprintf("127.%d.%d.1", 192+rand.N(60), rand.N(250))
	run := func(stop func(pid int) error, use func(*exec.Cmd, *logbuffer.Buffer, *client.Client)) {
		t.Helper()
		if err := os.Remove(devFile); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		out := &logbuffer.Buffer{}
		cmd := exec.Command(path, "dev", "--members", "3", "--api", host+":8080", "--portal="+host+":8081", "--admin", host+":8082", "--data", filepath.Join(dir, "data"), "--dev-file", devFile, "--quiet-market")
		cmd.Stdout, cmd.Stderr = out, out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		var dev schemas.DevFile
		if !within(3*time.Minute, func() bool {
			text, err := os.ReadFile(devFile)
			return err == nil && json.Unmarshal(text, &dev) == nil
		}) {
			_ = cmd.Process.Kill()
			t.Fatalf("no dev file\n%s", out)
		}
		secret, _ := schemas.ParseSecret(dev.Accounts[0].Secret)
		use(cmd, out, client.Must(client.New(dev.API, dev.Accounts[0].APIKey, secret)))
		if err := stop(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("dx dev after a stop: %v\n%s", err, out)
			}
		case <-time.After(3 * time.Minute):
			_ = cmd.Process.Kill()
			t.Fatalf("it does not stop\n%s", out)
		}
	}
	var armed schemas.Armed
	var balance schemas.Balance
	supervisor := func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
	run(supervisor, func(_ *exec.Cmd, out *logbuffer.Buffer, c *client.Client) {
		m := regexp.MustCompile(`Member c: .* process (\d+)`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("no process of member c in\n%s", out)
		}
		pid, err := strconv.Atoi(m[1])
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		if armed, err = c.ArmDeadman(t.Context(), 60_000); err != nil {
			t.Fatal(err)
		}
		if balance, err = c.Balance(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	all := func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) } // Ctrl-C in a terminal
	run(all, func(_ *exec.Cmd, _ *logbuffer.Buffer, c *client.Client) {
		again, err := c.Balance(t.Context())
		if err != nil || again.Cash != balance.Cash || again.AsOfSeq < balance.AsOfSeq {
			t.Errorf("%+v, before the restart %+v: %v", again, balance, err)
		}
	})
	if armed == (schemas.Armed{}) {
		t.Error("nothing was answered without member c")
	}
	for args, want := range map[string]string{"2": "three or five", "4": "three or five", "0": "three or five"} {
		expectCommand(t, 2, want, "dev", "--members", args, "--dev-file", devFile)
	}
	expectCommand(t, 2, "--node", "dev", "--node", "a")
}
