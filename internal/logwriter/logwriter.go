// Package logwriter has a writer that never keeps its callers waiting, for the log of a program that must
// go on whatever happens to the reader of its log.
//
// Invariants:
//
//  1. Write neither blocks on the output nor returns an error.
//  2. At most the limit of bytes waits. A line that would exceed it is dropped as a whole and counted.
//  3. Lines arrive in the order of their writes. After lines that were dropped, a notice says how many,
//     once writing works.
package logwriter

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Writer writes to an output from a goroutine of its own. It is safe for concurrent use.
type Writer struct {
	out    io.Writer
	limit  int // bytes
	notice func(dropped uint64) string

	mu      sync.Mutex
	changed sync.Cond // signals that waiting, busy or closed has changed
	waiting []byte    // what is to be written next
	busy    bool      // the goroutine is writing
	closed  bool
	dropped uint64 // lines, in total
	noticed uint64 // of them, those that a notice has counted
}

// New returns a writer to out in which at most limit bytes wait. notice returns the line that says how many
// lines were dropped, with its line feed.
func New(out io.Writer, limit int, notice func(dropped uint64) string) *Writer {
	w := &Writer{out: out, limit: limit, notice: notice}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// Write takes p, which ends with a line feed, without waiting for the output. After Close it drops p.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.waiting)+len(p) > w.limit {
		w.dropped += lines(p)
		return len(p), nil
	}
	w.waiting = append(w.waiting, p...)
	w.changed.Broadcast()
	return len(p), nil
}

// Dropped returns the number of lines that were not written.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Close ends the writer. It waits at most so long until everything is written.
func (w *Writer) Close(most time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	w.Flush(most)
}

// Flush waits at most so long until everything is written.
func (w *Writer) Flush(most time.Duration) {
	expired := false
	timer := time.AfterFunc(most, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		expired = true
		w.changed.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !expired && (w.busy || len(w.waiting) > 0) {
		w.changed.Wait()
	}
}

// run writes what waits until the writer is closed.
func (w *Writer) run() {
	var batch []byte
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.waiting) == 0 {
			if w.closed {
				return
			}
			w.changed.Wait()
		}
		batch, w.waiting, w.busy = w.waiting, batch[:0], true
		missing := w.dropped - w.noticed
		w.mu.Unlock()
		lost, ok := w.write(batch, missing)
		w.mu.Lock()
		if w.dropped += lost; ok {
			w.noticed += missing
		}
		w.busy = false
		w.changed.Broadcast()
	}
}

// write writes a batch, and first the notice of lines that are missing before it. It returns how many lines
// of the batch were lost, and whether the notice, if there was one, was written.
func (w *Writer) write(batch []byte, missing uint64) (lost uint64, noticed bool) {
	if missing > 0 {
		if _, err := io.WriteString(w.out, w.notice(missing)); err != nil {
			return lines(batch), false
		}
	}
	n, err := w.out.Write(batch)
	if err != nil {
		return lines(batch[n:]), true
	}
	return 0, true
}

// lines counts the lines of p, a part of one included.
func lines(p []byte) uint64 {
	n := bytes.Count(p, []byte{'\n'})
	if len(p) > 0 && p[len(p)-1] != '\n' {
		n++
	}
	return uint64(n)
}
