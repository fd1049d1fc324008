package gate

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// net/http sets and lifts a connection's deadlines eight times a request, and one in
// a million is met. Each costs the runtime a timer, so the connection is told of a
// deadline only where it must wake earlier than it would; what it wakes for too
// early goes on waiting.

// deadline is one direction's.
type deadline struct {
	mu   sync.Mutex
	want time.Time // asked for; zero: none
	set  time.Time // what the connection has; never behind want, but for zero
	now  bool      // the connection has what is asked for, always
}

// ask notes a deadline and tells the connection if it must know.
func (d *deadline) ask(t time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.want = t
	if !d.now && (t.IsZero() && d.set.IsZero() || !d.set.IsZero() && (t.IsZero() || !t.Before(d.set))) {
		return nil
	}
	d.set = t
	return tell(t)
}

// early tells whether a deadline was met that nobody asked for, and then sets the
// one that was.
func (d *deadline) early(err error, tell func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.want.IsZero() && !time.Now().Before(d.want) {
		return false
	}
	d.set = d.want
	return tell(d.want) == nil
}

// settle ends the patience: the connection has from now on what is asked for.
func (d *deadline) settle(tell func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = true
	if d.set != d.want {
		d.set = d.want
		_ = tell(d.want) // a connection that is gone says so to whoever uses it
	}
}

// patient is a connection with such deadlines.
type patient struct {
	net.Conn
	reads, writes deadline
}

func (p *patient) Read(b []byte) (int, error) {
	for {
		n, err := p.Conn.Read(b)
		if n > 0 || err == nil || !p.reads.early(err, p.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

func (p *patient) Write(b []byte) (n int, err error) {
	for {
		m, err := p.Conn.Write(b[n:])
		n += m
		if err == nil || !p.writes.early(err, p.Conn.SetWriteDeadline) {
			return n, err
		}
	}
}

func (p *patient) SetReadDeadline(t time.Time) error {
	return p.reads.ask(t, p.Conn.SetReadDeadline)
}

func (p *patient) SetWriteDeadline(t time.Time) error {
	return p.writes.ask(t, p.Conn.SetWriteDeadline)
}

func (p *patient) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// settle is for who takes the connection over, perhaps past this type.
func (p *patient) settle() {
	p.reads.settle(p.Conn.SetReadDeadline)
	p.writes.settle(p.Conn.SetWriteDeadline)
}

// allowance is the context of a request that has the door's time budget. That the
// caller goes away does not end it: what was asked for is on its way.
type allowance struct {
	context.Context // for its values
	call            *Call
	end             time.Time
	ends            *ends

	mu   sync.Mutex
	done <-chan struct{}
}

func (a *allowance) Deadline() (time.Time, bool) { return a.end, true }

func (a *allowance) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done == nil {
		a.done = a.ends.behind(a.end)
	}
	return a.done
}

func (a *allowance) Err() error {
	if time.Now().Before(a.end) {
		return nil
	}
	return context.DeadlineExceeded
}

// AfterFunc lets package context derive from an allowance without a goroutine.
func (a *allowance) AfterFunc(f func()) (stop func() bool) {
	return time.AfterFunc(time.Until(a.end), f).Stop
}

func (a *allowance) Value(key any) any {
	if key == (callKey{}) {
		return a.call
	}
	return a.Context.Value(key)
}

// ends are channels that close when time has come. Thousands of requests a second have
// the same budget and hardly one uses it up, so those that end within endStep of each
// other share a channel and its timer.
type ends struct {
	mu   sync.Mutex
	from time.Time
	at   map[time.Duration]chan struct{} // behind from
}

const endStep = 10 * time.Millisecond

// behind gives a channel that closes when t has come, or up to endStep later.
func (e *ends) behind(t time.Time) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == nil {
		e.from, e.at = time.Now(), map[time.Duration]chan struct{}{}
	}
	at := t.Sub(e.from).Truncate(endStep) + endStep
	done := e.at[at]
	if done == nil {
		done = make(chan struct{})
		e.at[at] = done
		time.AfterFunc(time.Until(e.from.Add(at)), func() {
			e.mu.Lock()
			delete(e.at, at)
			e.mu.Unlock()
			close(done)
		})
	}
	return done
}
