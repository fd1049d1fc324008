//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// startWith starts a venue whose output goes to a file, through another command if there is one.
func startWith(t *testing.T, log *os.File, through ...string) *process {
	t.Helper()
	skipProcess(t)
	data := t.TempDir()
	p, err := launch(log, through, data, filepath.Join(t.TempDir(), "dev.json"), "--log-level", "debug")
	if err != nil {
		t.Fatal(err)
	}
	p.t, p.data = t, data
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // fails if the process has ended
	if err := p.opened(); err != nil {
		t.Fatal(err)
	}
	return p
}

// action gives the venue an action of an operator, which logs a line, and returns the id of the account that
// it made.
func (p *process) action() (core.UserID, error) {
	r, err := http.NewRequest("POST", p.dev.Admin+"/admin/users", strings.NewReader(fmt.Sprintf(`{"name":"user","reason":%q}`, strings.Repeat("x", 256))))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+p.dev.OperatorToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var user schemas.NewUser
	err = json.NewDecoder(resp.Body).Decode(&user)
	return core.UserID(user.UserID), err
}

func (p *process) actions(n int) {
	p.t.Helper()
	for range n {
		if _, err := p.action(); err != nil {
			p.t.Fatal(err)
		}
	}
}

// signaledUnderLoad stops the venue while operators act, and requires that every action that was answered is
// in its journal.
func (p *process) signaledUnderLoad(s syscall.Signal) {
	p.t.Helper()
	var load sync.WaitGroup
	var answered atomic.Uint32 // the highest account
	loaded := make(chan struct{}, 1)
	for range 8 {
		load.Go(func() {
			for {
				user, err := p.action()
				if err != nil || user == 0 { // draining, or gone
					return
				}
				for was := answered.Load(); was < uint32(user) && !answered.CompareAndSwap(was, uint32(user)); was = answered.Load() {
				}
				select {
				case loaded <- struct{}{}:
				default:
				}
			}
		})
	}
	<-loaded
	p.stopBy(s)
	load.Wait()
	again, err := startAt(p.data, filepath.Join(p.t.TempDir(), "dev.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	again.t = p.t
	defer again.stop()
	var user schemas.User
	with(p.t, again.dev.OperatorToken, "GET", fmt.Sprintf("%s/admin/users/%d", again.dev.Admin, answered.Load()), "", &user)
	if uint32(user.UserID) != answered.Load() {
		p.t.Errorf("account %d was answered before %v; now: %+v", answered.Load(), s, user)
	}
}

// TestSignals stops a venue under load with each signal that asks for a stop.
func TestSignals(t *testing.T) {
	t.Parallel()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // a venue would inherit that the tests run under nohup
	defer signal.Stop(caught)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		startWith(t, log).signaledUnderLoad(s)
	}
}

// TestSecondInterrupt interrupts a command that waits for a venue that never answers: the second time ends it.
func TestSecondInterrupt(t *testing.T) {
	skipProcess(t)
	silent, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cmd := exec.Command(dxPath(t), "bench", "--url", "http://"+silent.Addr().String(), "--key", "k", "--secret", strings.Repeat("0", 64))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	if err := silent.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for again := time.NewTicker(10 * time.Millisecond); ; <-again.C {
		select {
		case err := <-ended:
			if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
				t.Errorf("ended with %v", err)
			}
			return
		default:
			_ = cmd.Process.Signal(os.Interrupt) // fails if it has ended
		}
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
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.actions(20)
	p.stop()
}

// TestLogReaders runs a venue whose log cannot be written: its reader is gone, reads nothing, or the disk is
// full. The venue answers, counts what it drops, and stops under load.
func TestLogReaders(t *testing.T) {
	for _, name := range []string{"gone", "reads nothing", "full disk", "closed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
			if name == "gone" {
				read.Close()
			}
			p := startWith(t, log, "env", "DX_DIPSUTE=7s") // the first line is that nothing reads it
			for dropped := false; !dropped; {
				p.actions(50)
				_, text := ask(t, "GET", p.dev.Admin+"/metrics", "Authorization", "Bearer "+p.dev.OperatorToken)
				if !strings.Contains(text, "\nduplex_log_dropped_total ") {
					t.Fatal("no metric")
				}
				dropped = !strings.Contains(text, "\nduplex_log_dropped_total 0\n")
			}
			p.signaledUnderLoad(syscall.SIGTERM)
		})
	}
}
