package cli

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// Progress shows how far a command is: on a terminal one line that is drawn again, elsewhere
// a line every few seconds. The zero value shows nothing.
type Progress struct {
	To     io.Writer
	Redraw bool // To is a terminal
}

// Intervals of progress: RedrawEvery on a terminal, LineEvery elsewhere.
const (
	RedrawEvery = 100 * time.Millisecond
	LineEvery   = 5 * time.Second
)

// Phase starts a part of the command that takes duration. The caller counts in done what
// it has finished, in units of unit. stop ends the part; after it returns, nothing more is
// written.
func (p *Progress) Phase(name string, duration time.Duration, unit string) (done *atomic.Int64, stop func()) {
	done = new(atomic.Int64)
	if p.To == nil {
		return done, func() {}
	}
	every := LineEvery
	if p.Redraw {
		every = RedrawEvery
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	start := time.Now()
	p.write(name, 0, duration, 0, unit)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.write(name, time.Since(start), duration, done.Load(), unit)
			case <-ended:
				if p.Redraw {
					fmt.Fprint(p.To, ClearLine)
				}
				return
			}
		}
	}()
	return done, func() { close(ended); <-stopped }
}

func (p *Progress) write(name string, elapsed, duration time.Duration, n int64, unit string) {
	elapsed = min(elapsed, duration)
	if !p.Redraw {
		fmt.Fprintf(p.To, "%s: %s of %s, %s %s\n", name, elapsed.Round(time.Second), duration, Grouped(n), unit)
		return
	}
	fmt.Fprintf(p.To, ClearLine+"%s %s %s of %s, %s %s", name, Bar(int64(elapsed), int64(duration)), elapsed.Round(100*time.Millisecond), duration, Grouped(n), unit)
}

// ClearLine clears the current line of a terminal.
const ClearLine = "\r\x1b[K"

const barWidth = 40

// Bar draws a bar that is full when done has reached total.
func Bar(done, total int64) string {
	full := int(done * barWidth / max(total, 1))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "]"
}

// Counter shows how many of a known number of things are done, on one line of a terminal that is
// drawn again. It belongs to one goroutine.
type Counter struct {
	To   io.Writer // nil: nothing is shown
	Unit string    // what is counted, such as groups

	shown time.Time
}

// NewCounter returns a counter on w if that is a terminal, else one that shows nothing.
func NewCounter(w io.Writer, unit string) *Counter {
	c := &Counter{Unit: unit}
	if IsTerminal(w) {
		c.To = w
	}
	return c
}

// Update shows that done of total are done, but not more often than RedrawEvery before the end.
func (c *Counter) Update(done, total uint64) {
	if c.To == nil || done < total && time.Since(c.shown) < RedrawEvery {
		return
	}
	c.shown, done = time.Now(), min(done, total)
	fmt.Fprintf(c.To, "\r%s %3d %% of %s %s", Bar(int64(done), int64(total)), done*100/max(total, 1), Grouped(total), c.Unit)
}

// Clear clears the line.
func (c *Counter) Clear() {
	if c.To != nil {
		fmt.Fprint(c.To, ClearLine)
	}
}
