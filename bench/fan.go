package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// fan is many readers of one server, all on one goroutine: what they cost is little
// beside what the server does for them.
type fan struct {
	epoll  int
	files  []*os.File // not to be collected
	marks  atomic.Uint64
	moved  chan struct{} // marks have grown
	mark   byte          // stands once in each frame that counts
	broken atomic.Int64  // readers whose connection ended
	first  atomic.Int64  // when the first mark came since this was 0, ns since born
	last   atomic.Int64  // when the last did
	born   time.Time
}

func newFan(mark byte) (*fan, error) {
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		return nil, err
	}
	f := &fan{epoll: ep, moved: make(chan struct{}, 1), mark: mark, born: time.Now()}
	go f.read()
	return f, nil
}

// add hands a connection over. One that is not read is a stuck reader.
func (f *fan) add(c net.Conn, reads bool) error {
	file, err := c.(*net.TCPConn).File()
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	f.files = append(f.files, file)
	if !reads {
		return nil
	}
	fd := int(file.Fd())
	return errors.Join(unix.SetNonblock(fd, true),
		unix.EpollCtl(f.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
}

func (f *fan) close() {
	for _, x := range f.files {
		_ = x.Close() // the server may have
	}
	_ = unix.Close(f.epoll) // read ends by it
}

func (f *fan) read() {
	buf, events := make([]byte, 1<<18), make([]unix.EpollEvent, 512)
	for {
		n, err := unix.EpollWait(f.epoll, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		seen := 0
		for i := range max(n, 0) {
			fd := int(events[i].Fd)
			m, err := unix.Read(fd, buf)
			if m <= 0 && !errors.Is(err, unix.EAGAIN) {
				f.broken.Add(1)
				_ = unix.EpollCtl(f.epoll, unix.EPOLL_CTL_DEL, fd, nil) // it is gone already
			}
			if k := bytes.Count(buf[:max(m, 0)], []byte{f.mark}); k > 0 {
				now := int64(time.Since(f.born))
				f.first.CompareAndSwap(0, now)
				f.last.Store(now)
				seen += k
			}
		}
		if seen > 0 {
			f.marks.Add(uint64(seen))
			select {
			case f.moved <- struct{}{}:
			default:
			}
		}
	}
}

// quiet waits until nothing has come for a while: what subscribing brings is in.
func (f *fan) quiet(ctx context.Context) error {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		t.Reset(500 * time.Millisecond)
		select {
		case <-f.moved:
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// broadcast keeps `window` broadcasts under way for d and counts what arrives.
func (f *fan) broadcast(ctx context.Context, readers, window int, d time.Duration, publish chan<- struct{}) (perSecond float64, err error) {
	if err := f.quiet(ctx); err != nil {
		return 0, err
	}
	from, begun, sent := f.marks.Load(), time.Now(), uint64(0)
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		arrived := f.marks.Load() - from
		for sent < arrived/uint64(readers)+uint64(window) {
			select {
			case publish <- struct{}{}:
				sent++
			case <-end.C:
				return float64(f.marks.Load()-from) / time.Since(begun).Seconds(), f.whole()
			}
		}
		select {
		case <-f.moved:
		case <-end.C:
			return float64(f.marks.Load()-from) / time.Since(begun).Seconds(), f.whole()
		}
	}
}

// spreads sends one broadcast at a time and gives how long after its first reader its
// last has it.
func (f *fan) spreads(ctx context.Context, readers int, d time.Duration, publish chan<- struct{}) (took []time.Duration, err error) {
	if err := f.quiet(ctx); err != nil {
		return nil, err
	}
	end := time.NewTimer(d)
	defer end.Stop()
	for from := f.marks.Load(); ; from += uint64(readers) {
		f.first.Store(0)
		select {
		case publish <- struct{}{}:
		case <-end.C:
			return took, f.whole()
		}
		for f.marks.Load() < from+uint64(readers) {
			select {
			case <-f.moved:
			case <-end.C:
				return took, f.whole()
			}
		}
		took = append(took, time.Duration(f.last.Load()-f.first.Load()))
	}
}

func (f *fan) whole() error {
	if n := f.broken.Load(); n > 0 {
		return fmt.Errorf("%d readers lost their connection", n)
	}
	return nil
}

// shake opens a WebSocket by hand and sends what subscribes.
func shake(addr, head string, frames ...string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "%sUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", head); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(oneByte{c}, 16) // nothing beyond the head may be taken
	first, err := r.ReadString('\n')
	for line := first; err == nil && strings.TrimSpace(line) != ""; {
		line, err = r.ReadString('\n')
	}
	if err != nil || !strings.Contains(first, " 101 ") {
		return nil, errors.Join(err, fmt.Errorf("handshake: %s", strings.TrimSpace(first)))
	}
	for _, s := range frames {
		if _, err := c.Write(masked(s)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type oneByte struct{ io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.Reader.Read(b[:1]) }

// masked makes a text frame of a client, under the key 0.
func masked(s string) []byte {
	b := []byte{0x81, 0x80 | byte(len(s))}
	if len(s) > 125 {
		b = []byte{0x81, 0x80 | 126, byte(len(s) >> 8), byte(len(s))}
	}
	return append(append(b, 0, 0, 0, 0), s...)
}

const connsAKey = 20 // contract ws, Holding up

// subscribe opens n connections to the venue, each with one command.
func (r *rig) subscribe(ctx context.Context, f *fan, n int, command string, reads func(i int) bool) error {
	if err := r.fund(ctx, (n+connsAKey-1)/connsAKey); err != nil {
		return err
	}
	for i := range n {
		k := r.keys[i/connsAKey]
		head := strings.TrimSuffix(string(k.wire("GET", "/v1/ws", "", nil)), "\r\n")
		c, err := shake(r.host, head, command)
		if err != nil {
			return err
		}
		if err := f.add(c, reads(i)); err != nil {
			return err
		}
	}
	return nil
}

func all(int) bool { return true }

// publish places and cancels in turn, over so many connections: each command is one
// frame for every reader.
func (r *rig) publish(ctx context.Context, lanes int) (chan<- struct{}, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	todo, failed := make(chan struct{}), make(chan error, lanes)
	r.turn++
	turn := r.turn
	for i := range lanes {
		go func() { failed <- r.publisher(ctx, todo, turn, i) }()
	}
	return todo, func() error {
		cancel()
		var errs []error
		for range lanes {
			errs = append(errs, <-failed)
		}
		return errors.Join(errs...)
	}
}

func (r *rig) publisher(ctx context.Context, todo <-chan struct{}, turn, i int) error {
	c, err := net.Dial("tcp", r.host)
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 16<<10)
	var body []byte
	var id string
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-todo:
		}
		q := request{bytes: r.keys[i].wire("POST", "/v1/portfolio/orders", "", r.body(turn, i, n)), want: 201}
		if id != "" {
			q = request{bytes: r.keys[i].wire("DELETE", "/v1/portfolio/orders/"+id, "", nil), want: 200}
		}
		if _, err := c.Write(q.bytes); err != nil {
			return err
		}
		status, b, err := answer(in, body)
		if body = b; err != nil || status != q.want {
			return errors.Join(err, fmt.Errorf("answered %d: %s", status, b))
		}
		if id != "" {
			id = ""
			continue
		}
		_, rest, _ := strings.Cut(string(b), `"order_id":"`)
		id, _, _ = strings.Cut(rest, `"`)
	}
}

// deltas subscribes to the book of the market that is traded in.
func (r *rig) deltas() string {
	return fmt.Sprintf(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta"],"market_ids":[%d]}}`, r.market)
}

// fanOut measures deliveries a second to n readers with 16 broadcasts outstanding.
func fanOut(n int) comparison {
	return overFan(comparison{Name: fmt.Sprintf("ws-%d", n)}, n, 16, func(ctx context.Context, r *rig, f *fan, publish chan<- struct{}) (figures, error) {
		rate, err := f.broadcast(ctx, n, 16, r.duration, publish)
		return figures{PerSecond: rate}, err
	})
}

// single measures how long one broadcast takes from its first of n readers to its last,
// with nothing else under way.
func single(n int) comparison {
	return overFan(comparison{Name: fmt.Sprintf("ws-%d-single", n), byP99: true}, n, 1, func(ctx context.Context, r *rig, f *fan, publish chan<- struct{}) (figures, error) {
		took, err := f.spreads(ctx, n, r.duration, publish)
		if err != nil || len(took) == 0 {
			return figures{}, errors.Join(err, fmt.Errorf("%d broadcasts", len(took)))
		}
		slices.Sort(took)
		at := func(q float64) time.Duration {
			return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond)
		}
		return figures{PerSecond: float64(n*len(took)) / r.duration.Seconds(), P50: at(.5), P99: at(.99)}, nil
	})
}

// overFan lets both sides publish to n readers, the venue over so many connections.
func overFan(c comparison, n, lanes int, do func(context.Context, *rig, *fan, chan<- struct{}) (figures, error)) comparison {
	measure := func(ctx context.Context, r *rig, mark byte, open func(*fan) error, publish chan<- struct{}, pid int) (x figures, err error) {
		f, err := newFan(mark)
		if err != nil {
			return x, err
		}
		defer f.close()
		if err := open(f); err != nil {
			return x, err
		}
		if err := f.quiet(ctx); err != nil {
			return x, err
		}
		before, err := cpu(pid)
		if err != nil {
			return x, err
		}
		begun := time.Now()
		if x, err = do(ctx, r, f, publish); err != nil {
			return x, err
		}
		after, err := cpu(pid)
		x.CPU = time.Duration(float64(after-before) / (x.PerSecond * time.Since(begun).Seconds()))
		return x, err
	}
	c.Peer = "shared-batch"
	c.peer = func(ctx context.Context, r *rig) (figures, error) {
		ctl, err := net.Dial("tcp", r.peers["shared-batch"])
		if err != nil {
			return figures{}, err
		}
		defer ctl.Close()
		if _, err := io.WriteString(ctl, "GET /publish HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return figures{}, err
		}
		todo := make(chan struct{})
		defer close(todo)
		go func() {
			for range todo {
				_, _ = ctl.Write([]byte{'.'}) // what is not published does not arrive
			}
		}()
		return measure(ctx, r, '^', func(f *fan) error {
			for range n {
				c, err := shake(r.peers["shared-batch"], "GET /read HTTP/1.1\r\nHost: x\r\n")
				if err == nil {
					err = f.add(c, true)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, todo, r.pids["shared-batch"])
	}
	c.venue = func(ctx context.Context, r *rig) (x figures, err error) {
		todo, stop := r.publish(ctx, lanes)
		defer func() { err = errors.Join(err, stop()) }()
		return measure(ctx, r, '[', func(f *fan) error { return r.subscribe(ctx, f, n, r.deltas(), all) }, todo, r.pids[venue])
	}
	return c
}

// fund makes sure that there are n keys.
func (r *rig) fund(ctx context.Context, n int) error {
	for i := len(r.keys); i < n; i++ {
		if err := r.account(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
