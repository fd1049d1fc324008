package main

import (
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

	"duplex/internal/rawhttp"
)

// readerFarm reads many connections to one server on one goroutine, so that the readers cost
// little compared with the server.
type readerFarm struct {
	epoll     int
	files     []*os.File // keeps the files from being collected
	delivered atomic.Uint64
	progress  chan struct{}  // signals that delivered has grown
	tails     map[int][]byte // by file, the last bytes read, which a ping may begin with; of read alone
	delimiter byte           // occurs once in each frame that counts
	broken    atomic.Int64   // number of readers whose connection ended
	first     atomic.Int64   // time of the first delimiter since first was 0, in ns since start
	last      atomic.Int64   // time of the last delimiter, in ns since start
	start     time.Time
}

func newReaderFarm(delimiter byte) (*readerFarm, error) {
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		return nil, err
	}
	f := &readerFarm{epoll: ep, progress: make(chan struct{}, 1), tails: map[int][]byte{}, delimiter: delimiter, start: time.Now()}
	go f.read()
	return f, nil
}

// add adds a connection. If reads is false, the connection is never read.
func (f *readerFarm) add(c net.Conn, reads bool) error {
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

func (f *readerFarm) close() {
	for _, x := range f.files {
		_ = x.Close() // the server may have closed it
	}
	_ = unix.Close(f.epoll) // makes read return
}

func (f *readerFarm) read() {
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
				_ = unix.EpollCtl(f.epoll, unix.EPOLL_CTL_DEL, fd, nil) // fails if already removed
			}
			f.answerPings(fd, buf[:max(m, 0)])
			if k := bytes.Count(buf[:max(m, 0)], []byte{f.delimiter}); k > 0 {
				now := int64(time.Since(f.start))
				f.first.CompareAndSwap(0, now)
				f.last.Store(now)
				seen += k
			}
		}
		if seen > 0 {
			f.delivered.Add(uint64(seen))
			select {
			case f.progress <- struct{}{}:
			default:
			}
		}
	}
}

// The venue's ping and a client's answer. Without answers the venue would not send what it sends to
// a client (docs/rules/events.md#falling-behind), and the comparison would not have their cost.
var (
	pingFrame = []byte("\x89\x04read")
	pongFrame = rawhttp.ClientFrame(0x8a, []byte("read"))
)

// answerPings answers the pings in what was just read from a connection, also one that began in the read
// before.
func (f *readerFarm) answerPings(fd int, b []byte) {
	const keep = 5 // one less than a ping
	seam := append(f.tails[fd], b[:min(len(b), keep)]...)
	for range bytes.Count(seam, pingFrame) + bytes.Count(b, pingFrame) {
		_, _ = unix.Write(fd, pongFrame) // a missing answer shows as a missing delivery
	}
	if len(b) >= keep {
		seam = append(seam[:0], b[len(b)-keep:]...)
	}
	f.tails[fd] = append(seam[:0], seam[max(0, len(seam)-keep):]...)
}

// waitQuiet waits until no data arrives for a while: the first snapshots have been read.
func (f *readerFarm) waitQuiet(ctx context.Context) error {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		t.Reset(500 * time.Millisecond)
		select {
		case <-f.progress:
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// broadcast keeps window broadcasts in flight for d and returns the deliveries per second.
func (f *readerFarm) broadcast(ctx context.Context, readers, window int, d time.Duration, publish chan<- struct{}) (perSecond float64, err error) {
	if err := f.waitQuiet(ctx); err != nil {
		return 0, err
	}
	from, start, sent := f.delivered.Load(), time.Now(), uint64(0)
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		arrived := f.delivered.Load() - from
		for sent < arrived/uint64(readers)+uint64(window) {
			select {
			case publish <- struct{}{}:
				sent++
			case <-end.C:
				return float64(f.delivered.Load()-from) / time.Since(start).Seconds(), f.checkAllConnected()
			}
		}
		select {
		case <-f.progress:
		case <-end.C:
			return float64(f.delivered.Load()-from) / time.Since(start).Seconds(), f.checkAllConnected()
		}
	}
}

// broadcastSpans sends one broadcast at a time and returns, for each, the time from its first
// delivery to its last.
func (f *readerFarm) broadcastSpans(ctx context.Context, readers int, d time.Duration, publish chan<- struct{}) (latencies []time.Duration, err error) {
	if err := f.waitQuiet(ctx); err != nil {
		return nil, err
	}
	end := time.NewTimer(d)
	defer end.Stop()
	for from := f.delivered.Load(); ; from += uint64(readers) {
		f.first.Store(0)
		select {
		case publish <- struct{}{}:
		case <-end.C:
			return latencies, f.checkAllConnected()
		}
		for f.delivered.Load() < from+uint64(readers) {
			select {
			case <-f.progress:
			case <-end.C:
				return latencies, f.checkAllConnected()
			}
		}
		latencies = append(latencies, time.Duration(f.last.Load()-f.first.Load()))
	}
}

func (f *readerFarm) checkAllConnected() error {
	if n := f.broken.Load(); n > 0 {
		return fmt.Errorf("%d reader connections ended", n)
	}
	return nil
}

// dialWebSocket opens a WebSocket without a library and sends the frames. The server must not send a
// frame before them.
func dialWebSocket(s rawhttp.Signer, target string, frames ...string) (net.Conn, error) {
	c, err := rawhttp.Dial(s)
	if err != nil {
		return nil, err
	}
	status, b, err := c.Do("GET", target, rawhttp.Upgrade, nil)
	if err != nil || status != 101 || c.R.Buffered() > 0 {
		return nil, errors.Join(err, fmt.Errorf("handshake: %d %s, then %d bytes", status, b, c.R.Buffered()))
	}
	for _, s := range frames {
		if _, err := c.Write(rawhttp.ClientFrame(0x81, []byte(s))); err != nil {
			return nil, err
		}
	}
	return c.Conn, nil
}

const connsAKey = 20 // docs/rules/limits.md#sockets

// subscribe opens n connections to the venue that subscribe to the book of r.market.
func (r *harness) subscribe(ctx context.Context, f *readerFarm, n int) error {
	if err := r.createAccounts(ctx, (n+connsAKey-1)/connsAKey); err != nil {
		return err
	}
	for i := range n {
		c, err := dialWebSocket(r.keys[i/connsAKey], "/v1/ws", r.subscribeDeltas())
		if err != nil {
			return err
		}
		if err := f.add(c, true); err != nil {
			return err
		}
	}
	return nil
}

// publish starts publishers on lanes connections. For each value sent to the channel one of
// them places or cancels an order, which causes one frame for every reader. The returned
// function stops them.
func (r *harness) publish(ctx context.Context, lanes int) (chan<- struct{}, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	todo, failed := make(chan struct{}), make(chan error, lanes)
	r.runID++
	runID := r.runID
	for i := range lanes {
		go func() { failed <- r.publisher(ctx, todo, runID, i) }()
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

func (r *harness) publisher(ctx context.Context, todo <-chan struct{}, runID, i int) error {
	var c *rawhttp.Conn
	var id string
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-todo:
		}
		if c == nil { // not before: the venue closes a connection that is idle while the readers subscribe
			var err error
			if c, err = rawhttp.Dial(r.keys[i]); err != nil {
				return err
			}
			defer c.Close()
		}
		method, target, body, want := "POST", "/v1/portfolio/orders", r.body(runID, i, n), 201
		if id != "" {
			method, target, body, want = "DELETE", target+"/"+id, nil, 200
		}
		status, b, err := c.Do(method, target, "", body)
		if err != nil || status != want {
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

// subscribeDeltas returns the command that subscribes to the book of r.market.
func (r *harness) subscribeDeltas() string {
	return fmt.Sprintf(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta"],"market_ids":[%d]}}`, r.market)
}

// throughputComparison compares deliveries per second to n readers, with 16 broadcasts in
// flight.
func throughputComparison(n int) comparison {
	return readerComparison(comparison{Name: fmt.Sprintf("ws-%d", n)}, n, 16, func(ctx context.Context, r *harness, f *readerFarm, publish chan<- struct{}) (result, error) {
		rate, err := f.broadcast(ctx, n, 16, r.duration, publish)
		return result{PerSecond: rate}, err
	})
}

// latencyComparison compares the time from the first delivery of a broadcast to its last, with
// n readers and one broadcast at a time.
func latencyComparison(n int) comparison {
	return readerComparison(comparison{Name: fmt.Sprintf("ws-%d-single", n), compareP99: true}, n, 1, func(ctx context.Context, r *harness, f *readerFarm, publish chan<- struct{}) (result, error) {
		latencies, err := f.broadcastSpans(ctx, n, r.duration, publish)
		if err != nil || len(latencies) == 0 {
			return result{}, errors.Join(err, fmt.Errorf("%d broadcasts", len(latencies)))
		}
		slices.Sort(latencies)
		return result{PerSecond: float64(n*len(latencies)) / r.duration.Seconds(), P50: quantile(latencies, .5), P99: quantile(latencies, .99)}, nil
	})
}

// readerComparison returns a comparison in which both sides publish to n readers; the venue
// receives its commands on lanes connections.
func readerComparison(c comparison, n, lanes int, do func(context.Context, *harness, *readerFarm, chan<- struct{}) (result, error)) comparison {
	measure := func(ctx context.Context, r *harness, mark byte, open func(*readerFarm) error, publish chan<- struct{}, pid int) (x result, err error) {
		f, err := newReaderFarm(mark)
		if err != nil {
			return x, err
		}
		defer f.close()
		if err := open(f); err != nil {
			return x, err
		}
		if err := f.waitQuiet(ctx); err != nil {
			return x, err
		}
		before, err := cpuTime(pid)
		if err != nil {
			return x, err
		}
		start := time.Now()
		if x, err = do(ctx, r, f, publish); err != nil {
			return x, err
		}
		after, err := cpuTime(pid)
		x.CPU = time.Duration(float64(after-before) / (x.PerSecond * time.Since(start).Seconds()))
		return x, err
	}
	c.Peer = "shared-batch"
	c.peer = func(ctx context.Context, r *harness) (result, error) {
		ctl, err := net.Dial("tcp", r.peers["shared-batch"])
		if err != nil {
			return result{}, err
		}
		defer ctl.Close()
		if _, err := io.WriteString(ctl, "GET /publish HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return result{}, err
		}
		todo := make(chan struct{})
		defer close(todo)
		go func() {
			for range todo {
				_, _ = ctl.Write([]byte{'.'}) // a failed write shows as a missing delivery
			}
		}()
		return measure(ctx, r, '^', func(f *readerFarm) error {
			for range n {
				c, err := dialWebSocket(rawhttp.Signer{Host: r.peers["shared-batch"]}, "/read")
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
	c.venue = func(ctx context.Context, r *harness) (x result, err error) {
		todo, stop := r.publish(ctx, lanes)
		defer func() { err = errors.Join(err, stop()) }()
		return measure(ctx, r, '[', func(f *readerFarm) error { return r.subscribe(ctx, f, n) }, todo, r.pids[venue])
	}
	return c
}

// createAccounts creates accounts until there are n keys.
func (r *harness) createAccounts(ctx context.Context, n int) error {
	for i := len(r.keys); i < n; i++ {
		if err := r.createAccount(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
