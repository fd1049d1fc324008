//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/schemas"
)

// startWith runs `dx dev` with its standard output and standard error at a file, through another command
// if there is one.
func startWith(t *testing.T, log *os.File, through ...string) *process {
	t.Helper()
	skipProcess(t)
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, file: filepath.Join(t.TempDir(), "dev.json"), done: make(chan error, 1)}
	args := append(through, path, "dev", "--log-level", "debug", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", t.TempDir(), "--dev-file", p.file, "--quiet-market")
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // fails if the process has ended
	go func() { p.done <- p.cmd.Wait() }()
	return p
}

// opened waits until the venue has written its dev file.
func (p *process) opened() {
	p.t.Helper()
	for {
		b, err := os.ReadFile(p.file)
		if err == nil {
			if err := json.Unmarshal(b, &p.dev); err != nil {
				p.t.Fatal(err)
			}
			return
		}
		select {
		case err := <-p.done:
			p.t.Fatalf("dx ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// actions gives the venue actions of an operator, each of which logs a line.
func (p *process) actions(n int) {
	p.t.Helper()
	for i := range n {
		r, err := http.NewRequest("POST", p.dev.Admin+"/admin/users", strings.NewReader(fmt.Sprintf(`{"name":"user-%d","reason":%q}`, i, strings.Repeat("x", 256))))
		if err != nil {
			p.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.dev.OperatorToken)
		var user schemas.NewUser
		if err := doJSON(r, &user); err != nil {
			p.t.Fatal(err)
		}
	}
}

// signaled stops the venue with a signal and requires the exit code 0.
func (p *process) signaled(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Errorf("%v: dx ended: %v", s, err)
		}
	case <-time.After(time.Minute): // the rule is 10 s (docs/rules/operation.md#stopping); the machine may be busy
		p.t.Errorf("%v: dx did not stop", s)
	}
}

// TestSignals stops a venue with each signal that asks for a stop.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		p := startWith(t, log)
		p.opened()
		p.signaled(s)
	}
}

// TestNohup sends SIGHUP to a venue that was started with it ignored, as nohup does: it runs on.
func TestNohup(t *testing.T) {
	skipProcess(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := startWith(t, log, "sh", "-c", `trap "" HUP; exec "$0" "$@"`)
	p.opened()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.actions(20)
	p.signaled(syscall.SIGTERM)
}

// TestLogReaders runs a venue whose log cannot be written: its reader is gone, reads nothing, or the disk is
// full. The venue answers, counts what it drops, and stops.
func TestLogReaders(t *testing.T) {
	for _, name := range []string{"gone", "reads nothing", "full disk", "closed"} {
		t.Run(name, func(t *testing.T) {
			var read, log *os.File
			var err error
			switch name {
			case "full disk":
				if log, err = os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
					t.Skip("no /dev/full here: ", err)
				}
			case "closed":
				if log, err = os.Open(os.DevNull); err != nil { // open for reading alone: each write fails with EBADF
					t.Fatal(err)
				}
			default:
				if read, log, err = os.Pipe(); err != nil {
					t.Fatal(err)
				}
				defer read.Close()
			}
			defer log.Close()
			p := startWith(t, log)
			if name == "gone" {
				read.Close()
				log.Close()
			}
			p.opened()
			for dropped := false; !dropped; {
				p.actions(50)
				r, err := http.NewRequest("GET", p.dev.Admin+"/metrics", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+p.dev.OperatorToken)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.Contains(string(text), "\nduplex_log_dropped_total ") {
					t.Fatalf("no metric, %v", err)
				}
				dropped = !strings.Contains(string(text), "\nduplex_log_dropped_total 0\n")
			}
			p.signaled(syscall.SIGTERM)
		})
	}
}
