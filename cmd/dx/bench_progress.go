package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// progress shows how far a run of dx bench is: one line that is drawn anew on a
// terminal, a line every few seconds elsewhere. The zero progress shows nothing.
type progress struct {
	to     io.Writer
	redraw bool // to is a terminal
}

const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = 5 * time.Second
)

// phase begins a part of the run that takes so long. What the part has done is counted
// in the returned counter; stop ends the part and returns once nothing more is written.
func (p *progress) phase(name string, long time.Duration, unit string) (done *atomic.Int64, stop func()) {
	done = new(atomic.Int64)
	if p.to == nil {
		return done, func() {}
	}
	every := lineEvery
	if p.redraw {
		every = redrawEvery
	}
	ended, wrote := make(chan struct{}), make(chan struct{})
	begun := time.Now()
	p.write(name, 0, long, 0, unit)
	go func() {
		defer close(wrote)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.write(name, time.Since(begun), long, done.Load(), unit)
			case <-ended:
				if p.redraw {
					fmt.Fprint(p.to, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return done, func() { close(ended); <-wrote }
}

func (p *progress) write(name string, gone, long time.Duration, n int64, unit string) {
	gone = min(gone, long)
	if !p.redraw {
		fmt.Fprintf(p.to, "%s: %s of %s, %d %s\n", name, gone.Round(time.Second), long, n, unit)
		return
	}
	full := int(gone * barWidth / long)
	fmt.Fprintf(p.to, "\r\x1b[K%s [%s%s] %s of %s, %d %s", name, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), gone.Round(100*time.Millisecond), long, n, unit)
}
