package logwriter

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func notice(n uint64) string { return fmt.Sprintf("%d dropped\n", n) }

// output is an output that a test can break and block.
type output struct {
	mu    sync.Mutex
	text  strings.Builder
	err   error
	block chan struct{} // if not nil, a write waits until it is closed
	begun chan struct{} // receives when a write begins, if not nil
}

func (o *output) set(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

func (o *output) Write(p []byte) (int, error) {
	if o.begun != nil {
		o.begun <- struct{}{}
	}
	if o.block != nil {
		<-o.block
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	return o.text.Write(p)
}

// TestBrokenOutput writes to an output that is gone, and works again later.
func TestBrokenOutput(t *testing.T) {
	o := &output{}
	w := New(o, 100, notice)
	fmt.Fprintln(w, "one")
	w.Flush(time.Minute)
	o.set(errors.New("broken pipe"))
	for range 3 {
		fmt.Fprintln(w, "lost")
		w.Flush(time.Minute)
	}
	if n := w.Dropped(); n != 3 {
		t.Errorf("%d dropped, want 3", n)
	}
	o.set(nil)
	fmt.Fprintln(w, "two")
	w.Close(time.Minute)
	if got, want := o.text.String(), "one\n3 dropped\ntwo\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if fmt.Fprintln(w, "late"); w.Dropped() != 4 {
		t.Errorf("%d dropped, want the line after Close too", w.Dropped())
	}
}

// TestBlockedOutput writes more than the limit to an output that reads nothing: no write waits.
func TestBlockedOutput(t *testing.T) {
	o := &output{block: make(chan struct{}), begun: make(chan struct{}, 10)}
	w := New(o, 10, notice)
	fmt.Fprintln(w, "123456789") // is being written
	<-o.begun
	fmt.Fprintln(w, "abcdefghi") // fills the buffer
	for range 5 {
		fmt.Fprintln(w, "x")
	}
	w.Close(0) // does not wait for the output
	if n := w.Dropped(); n != 5 {
		t.Errorf("%d dropped, want 5", n)
	}
	close(o.block)
	w.Flush(time.Minute)
	if got, want := o.text.String(), "123456789\n5 dropped\nabcdefghi\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFlush writes a line that is on the output when Flush returns, and does not wait for an output that
// reads nothing.
func TestFlush(t *testing.T) {
	o := &output{}
	w := New(o, 100, notice)
	fmt.Fprintln(w, "one")
	w.Flush(time.Minute)
	if got := o.text.String(); got != "one\n" {
		t.Errorf("%q", got)
	}
	o.block, o.begun = make(chan struct{}), make(chan struct{}, 1)
	fmt.Fprintln(w, "two")
	<-o.begun
	w.Flush(0)
	close(o.block)
	fmt.Fprintln(w, "three") // it is not closed
	<-o.begun
	w.Close(time.Minute)
	if got := o.text.String(); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
}
