package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// request is a line to a driver, a program that uses one client.
type request struct {
	Do string `json:"do"` // open, place, balance, stream, state, slow, clock

	URL     string `json:"url,omitempty"`
	Key     string `json:"key,omitempty"`
	Secret  string `json:"secret,omitempty"`
	ClockMs int64  `json:"clock_ms,omitempty"` // of open and clock: the driver's clock is ahead by so much

	Order map[string]any `json:"order,omitempty"`

	Channels  []string `json:"channels,omitempty"`
	MarketIDs []uint32 `json:"market_ids,omitempty"`
	SilenceMs int      `json:"silence_ms,omitempty"`

	PauseMs int `json:"pause_ms,omitempty"` // after each message; 0: none
}

// reply is the line that a driver answers.
type reply struct {
	Result string `json:"result"` // ok, a code, unknown, refused, lost, "status N" or url

	// Of state.
	Messages    int      `json:"messages"`
	Fills       []string `json:"fills"` // the order_id of each fill event
	Book        *book    `json:"book"`  // of the first market; null: unknown
	Disconnects int      `json:"disconnects"`
	Late        int      `json:"late"`
	OldestMs    int64    `json:"oldest_ms"` // the greatest age of a change of a book that was delivered
	Ended       string   `json:"ended"`     // the error with which the stream ended
}

type book struct {
	Seq string     `json:"seq"`
	Yes [][2]int64 `json:"yes"`
	No  [][2]int64 `json:"no"`
}

// driver is a running driver.
type driver struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func startDriver(name string, command []string) (*driver, error) {
	d := &driver{name: name, cmd: exec.Command(command[0], command[1:]...)}
	d.cmd.Stderr = os.Stderr
	if os.Getenv("DX_CONFORMANCE_LOG") == "" {
		d.cmd.Stderr = nil // the lines of lost streams
	}
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReader(out)
	return d, d.cmd.Start()
}

// ask sends a request and returns the reply.
func (d *driver) ask(r request) (reply, error) {
	var out reply
	b, err := json.Marshal(r)
	if err != nil {
		return out, err
	}
	if _, err := d.in.Write(append(b, '\n')); err != nil {
		return out, fmt.Errorf("%s: %s: %w", d.name, r.Do, err)
	}
	line, err := d.out.ReadBytes('\n')
	if err != nil {
		return out, fmt.Errorf("%s: %s: the driver ended: %w", d.name, r.Do, err)
	}
	return out, json.Unmarshal(line, &out)
}

func (d *driver) stop() {
	_ = d.in.Close()
	done := make(chan struct{})
	go func() { _ = d.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = d.cmd.Process.Kill()
		<-done
	}
}
