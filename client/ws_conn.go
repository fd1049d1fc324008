package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/internal/backoff"
	"duplex/internal/timeouts"
	"duplex/schemas"
)

// streamConn is one connection of a stream. Only the goroutine of Run uses it, except for
// ws, silenceTimer and asked, which the goroutines in background use too.
type streamConn struct {
	*Stream
	node         *Node
	ws           *websocket.Conn
	silenceTimer *time.Timer // reset by everything that arrives
	asked        atomic.Bool // a ping was sent, and nothing has arrived since

	last              map[chain]schemas.U64 // seq of the previous message
	snapshotRequested map[uint32]bool       // markets with a snapshot on the way
	skipEvents        int                   // events to skip, delivered by an earlier connection
	clockKnown        bool                  // the client's clock was measured, and the venue's is no virtual one
	measuredAt        time.Time             // when that was tried

	id         int
	pending    map[int][]byte // commands without a response yet
	background sync.WaitGroup
}

// chain identifies one sequence of prev_seq: a sid, and for books a market.
type chain struct {
	sid    int
	market uint32
}

const streamPath = "/v1/ws"

// connect dials the nodes until one accepts.
func (s *Stream) connect(ctx context.Context) (*streamConn, error) {
	var failed NodesError
	var last error
	for _, n := range s.client.Nodes() {
		l, err := s.connectTo(ctx, n)
		if err == nil {
			n.Answered()
			return l, nil
		}
		last = err
		failed.Add(n, err)
		if !NodeFailed(err) || ctx.Err() != nil {
			break
		}
		n.Failed(err)
	}
	return nil, failed.Or(last)
}

// connectTo dials a node. After a 401 caused by a slow connection, a wrong clock or a replaced key it corrects
// that and dials again.
func (s *Stream) connectTo(ctx context.Context, n *Node) (*streamConn, error) {
	signed, before, by := time.Now(), s.client.clock.Load(), s.client.credentials.Load()
	l, err := s.dial(ctx, n)
	var r *handshakeError
	if errors.As(err, &r) && r.status == http.StatusUnauthorized && (s.client.correctClock(r.date) || s.client.clock.Load() != before || isLate(signed)) {
		by = s.client.credentials.Load()
		l, err = s.dial(ctx, n)
	}
	if errors.As(err, &r) && r.status == http.StatusUnauthorized && s.client.renew(by) {
		return s.dial(ctx, n)
	}
	return l, err
}

func (s *Stream) dial(ctx context.Context, n *Node) (*streamConn, error) {
	c := s.client
	ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
	h, by := http.Header{}, c.credentials.Load()
	h.Set(schemas.HeaderKey, by.key)
	h.Set(schemas.HeaderTimestamp, ts)
	h.Set(schemas.HeaderSignature, schemas.Sign(by.secret, ts, "GET", streamPath, nil))
	l := &streamConn{Stream: s, node: n, last: map[chain]schemas.U64{}, snapshotRequested: map[uint32]bool{}, pending: map[int][]byte{}}
	timeout := timeouts.Of(Timeout(attemptTimeout))
	if c.nodes.several() {
		timeout = timeouts.Of(nodeTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(n.base, "http")+streamPath, &websocket.DialOptions{
		HTTPClient: withStrictEOF(c.http), HTTPHeader: h,
		OnPingReceived: func(context.Context, []byte) bool { l.awaitNext(); return true }, OnPongReceived: func(context.Context, []byte) { l.awaitNext() },
	})
	if err != nil && resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, newHandshakeError(resp)
	}
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1) // a snapshot grows with the account
	l.ws = ws
	return l, nil
}

// run subscribes and handles messages until the connection ends. It calls opened after the first one.
func (l *streamConn) run(ctx context.Context, opened func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer func() { stop(); _ = l.ws.CloseNow(); l.background.Wait() }()
	l.silenceTimer = time.NewTimer(l.timing.silence / 2)
	l.background.Go(func() { l.watchSilence(ctx) })
	if slices.Contains(l.opt.Channels, "orderbook_delta") {
		l.clockKnown = l.measureClock(ctx)
	}
	for _, id := range l.opt.CancelOnDisconnect {
		if err := l.command(ctx, "cancel_on_disconnect", schemas.WSCancelOnDisconnect{Enabled: true, GroupID: schemas.Int(id)}); err != nil {
			return err
		}
	}
	if err := l.subscribe(ctx); err != nil {
		return err
	}
	for {
		m, err := l.readMessage(ctx)
		if err != nil {
			return err
		}
		if err := l.handle(ctx, m); err != nil {
			return err
		}
		opened()
		opened = func() {}
	}
}

// measureClock measures the clock, and reports whether the age of a message can be told. Without an answer to the
// first measure this connection judges no age.
func (l *streamConn) measureClock(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timeouts.Of(nodeTimeout))
	defer cancel()
	l.measuredAt = time.Now()
	_, virtual, err := l.client.syncClock(ctx)
	return err == nil && !virtual
}

// measuredFor is how long a measure of the clock is enough to call a change late.
const measuredFor = 10 * time.Second

// age returns how old a change is. If it is late, or of the future, by a clock that was not measured just now, the
// clock is measured first: it stands still while a machine sleeps, and a wrong clock would make every change late.
func (l *streamConn) age(ctx context.Context, ts schemas.U64) time.Duration {
	if !l.clockKnown {
		return 0
	}
	at := time.Unix(0, ts.Int64())
	if l.client.Now().Sub(at).Abs() > MaxAge && time.Since(l.measuredAt) > l.timing.measured {
		_ = l.measureClock(ctx) // without an answer the last one holds
	}
	return l.client.Now().Sub(at)
}

// subscribe subscribes to all channels and resumes the account.
func (l *streamConn) subscribe(ctx context.Context) error {
	p := schemas.WSSubscribe{Channels: l.opt.Channels, MinSeq: l.client.nodes.minSeq(l.node)}
	for _, m := range l.opt.MarketIDs {
		p.MarketIDs = append(p.MarketIDs, schemas.Int(m))
	}
	for _, name := range p.Channels {
		if name == "user" && l.resume.known {
			p.SinceSeq, l.skipEvents = schemas.Ptr(l.resume.complete), l.resume.seenOfLast
		}
	}
	return l.command(ctx, "subscribe", p)
}

func (l *streamConn) command(ctx context.Context, cmd string, params any) error {
	raw, err := schemas.Append(nil, params)
	if err != nil {
		return err
	}
	l.id++
	text := append([]byte(`{"id":`+strconv.Itoa(l.id)+`,"cmd":"`+cmd+`","params":`), raw...)
	l.pending[l.id] = append(text, '}')
	return l.ws.Write(ctx, websocket.MessageText, l.pending[l.id])
}

// resendAfter resends a rate-limited command after wait.
func (l *streamConn) resendAfter(ctx context.Context, text []byte, wait time.Duration) {
	l.background.Go(func() {
		if backoff.Sleep(ctx, wait) && l.ws.Write(ctx, websocket.MessageText, text) != nil {
			_ = l.ws.CloseNow() // ends readMessage
		}
	})
}

// serverMessage is any message of the venue.
type serverMessage struct {
	ID      int            `json:"id"`
	Type    string         `json:"type"`
	Sid     int            `json:"sid"`
	Seq     schemas.U64    `json:"seq"`
	PrevSeq schemas.U64    `json:"prev_seq"`
	Msg     jsontext.Value `json:"msg"`

	raw []byte
}

// readMessage returns the next message. It fails if nothing arrives within the silence timeout, not even a response to
// a ping, since the connection is then dead.
func (l *streamConn) readMessage(ctx context.Context) (*serverMessage, error) {
	l.awaitNext()
	_, raw, err := l.ws.Read(ctx)
	l.silenceTimer.Stop() // the time to handle a message does not count
	if err != nil {
		return nil, err
	}
	m := &serverMessage{raw: raw}
	if err := decode(raw, m); err != nil {
		return nil, err
	}
	if m.Type == "" || m.Msg.Kind() != '{' {
		return nil, errNoVenue
	}
	return m, nil
}

// watchSilence sends a ping when nothing has arrived for half of the silence timeout, and closes the connection if
// nothing arrives in the other half either.
func (l *streamConn) watchSilence(ctx context.Context) {
	defer l.silenceTimer.Stop()
	for {
		select {
		case <-l.silenceTimer.C:
		case <-ctx.Done():
			return
		}
		if l.asked.Swap(true) {
			_ = l.ws.CloseNow()
			return
		}
		l.silenceTimer.Reset(l.timing.silence / 2)
		l.background.Go(func() { _ = l.ws.Ping(ctx) }) // awaitNext hears of the pong
	}
}

// awaitNext begins the silence timeout anew. Pings and pongs arrive while readMessage waits.
func (l *streamConn) awaitNext() {
	l.asked.Store(false)
	l.silenceTimer.Reset(l.timing.silence / 2)
}

// errNoVenue is the error of what is no message of the venue.
var errNoVenue = errors.New("what arrived is no message of the venue")

func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%w: %w", errNoVenue, err)
	}
	return nil
}

// handshakeError is a handshake that got an HTTP error, with its Date header.
type handshakeError struct {
	error
	status int
	date   string
}

func (r *handshakeError) Unwrap() error { return r.error }

func newHandshakeError(resp *http.Response) error {
	body, _ := io.ReadAll(resp.Body) // the library keeps the first 1024 bytes and closes the body
	return &handshakeError{responseError(resp.StatusCode, resp.Header, body), resp.StatusCode, resp.Header.Get("Date")}
}
