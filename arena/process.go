package arena

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"duplex/core"
	"duplex/internal/backoff"
)

// commandExists reports whether a seat's command can be found.
func commandExists(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("command %q is not there: %w", name, err)
	}
	return nil
}

// process is the running agent of a seat.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	once sync.Once
	log  *os.File
}

// stopWait is the time that a process has to end by itself.
const stopWait = 2 * time.Second

// startProcess starts the command of a seat with its output in a file. ended is called when it has
// ended by itself.
func startProcess(argv, environment []string, output string, ended func()) (*process, error) {
	log, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{}), log: log}
	for _, x := range os.Environ() {
		if !strings.HasPrefix(x, "DX_") { // a profile or a key of the user leads to another venue
			p.cmd.Env = append(p.cmd.Env, x)
		}
	}
	p.cmd.Env = append(p.cmd.Env, environment...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.WaitDelay = stopWait
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		_ = p.cmd.Wait() // the state has the exit status
		close(p.done)
		ended()
	}()
	return p, nil
}

// stop ends the process: politely at first.
func (p *process) stop() {
	p.once.Do(func() {
		interrupt(p.cmd)
		select {
		case <-p.done:
		case <-time.After(stopWait):
			kill(p.cmd)
			<-p.done
		}
		_ = p.log.Close() // what an agent prints is no part of the bundle
	})
}

// exited reports whether the process has ended, with its exit status: -1 after a signal.
func (p *process) exited() (status int, ended bool) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), true
	default:
		return 0, false
	}
}

// callTimeout is the time in seconds that agents give a call, a day: it waits while other seats think, each for
// as long as a stall, and while venue time passes.
const callTimeout = "86400"

// startProcesses starts the agents that are processes.
func (s *seedRun) startProcesses() error {
	for _, x := range s.seats {
		if x.Kind != "" {
			s.turns.leaveSeat(x.waits) // a baseline sends no requests
			continue
		}
		if s.o.Hand {
			continue
		}
		env := []string{"DX_URL=" + s.venue.APIURL(), "DX_KEY=" + x.key, "DX_SECRET=" + hex.EncodeToString(x.secret), "DX_TIMEOUT=" + callTimeout}
		if x.MCP {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			// The signal that asks a host to end reaches its bridge too, which must outlive its last calls.
			env = append(env, "DX_MCP="+quoteCommand(self)+" mcp", "DX_UNTIL_EOF=true")
		}
		var err error
		if x.process, err = startProcess(x.argv, env, filepath.Join(s.work, x.Name+".log"), func() { s.turns.leaveSeat(x.waits) }); err != nil {
			return badConfig("seat %q: %w", x.Name, err)
		}
	}
	return nil
}

// In the end of a certification, an agent has closeWait of the machine's time and closeRounds rounds of
// venue time to end: contracts are paid when their round is final, and a signal takes time to arrive. So
// venue time is at most closePace times as fast as the machine's.
const (
	closeWait   = 20 * time.Second
	closeRounds = 3
	closePace   = 100
)

// letSeatsEnd asks the processes to end, and gives them turns until they have.
func (s *seedRun) letSeatsEnd(ctx context.Context) error {
	for _, x := range s.seats {
		if x.process == nil {
			continue
		}
		if status, ended := x.process.exited(); ended {
			x.exit = &status
			continue
		}
		now := s.now()
		x.log.add(&callRow{Ts: now, Done: now, Fault: askedToEnd})
		x.mu.Lock()
		x.faults.stop()
		x.mu.Unlock()
		interrupt(x.process.cmd)
		x.asked = true
	}
	defer s.turns.forgiveStalls(closeWait)()
	begun, from := time.Now(), s.now()
	until := from + closeRounds*int64(s.c.series.Cadence)*60*core.NsPerSec
	for s.anyRuns() && ctx.Err() == nil && (time.Since(begun) < closeWait || s.now() < until) {
		if err := s.sequenceDue(); err != nil {
			return err
		}
		acted := s.giveTurns()
		if s.observe(nil) || acted && s.due() <= s.now() {
			continue
		}
		if ahead := time.Duration((s.now()-from)/closePace) - time.Since(begun); ahead > 0 {
			backoff.Sleep(ctx, min(ahead, 10*time.Millisecond)) // a seat that the signal has woken gets a turn meanwhile
			continue
		}
		if err := s.wait(ctx, s.due()); err != nil {
			return err
		}
	}
	return nil
}

// anyRuns reports whether a process has not ended.
func (s *seedRun) anyRuns() bool {
	for _, x := range s.seats {
		if x.process != nil {
			if _, ended := x.process.exited(); !ended {
				return true
			}
		}
	}
	return false
}

// errorLine is a line that says what went wrong; the last one of a program often only says which program it was.
var errorLine = regexp.MustCompile(`(?i)error|exception|panic|fatal`)

// lastOutput returns the last line that a process printed about an error, or its last line, for a message about a seat
// that died.
func (s *seedRun) lastOutput(x *seat) string {
	const most, longest = 4000, 400 // bytes
	f, err := os.Open(filepath.Join(s.work, x.Name+".log"))
	if err != nil {
		return ""
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, end-most), io.SeekStart)
	}
	b, _ := io.ReadAll(f)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	line := lines[len(lines)-1]
	for _, l := range slices.Backward(lines) {
		if errorLine.MatchString(l) {
			line = strings.TrimSpace(l)
			break
		}
	}
	return string(x.log.hide([]byte(line[max(0, len(line)-longest):])))
}
