package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
)

// link is one connection of a stream. It is of Run's goroutine alone, but for what
// runs beside it until it ends.
type link struct {
	*Stream
	ws    *websocket.Conn
	quiet *time.Timer // runs while nothing comes

	last  map[chain]schemas.U64 // seq of the message before
	asked map[uint32]bool       // markets whose snapshot was asked for
	skip  int                   // events to come that an earlier connection brought

	id     int
	said   map[int][]byte // commands that no answer has come to
	beside sync.WaitGroup
}

// chain is one sequence of prev_seqs: a sid, of books with a market.
type chain struct {
	sid    int
	market uint32
}

const streamPath = "/v1/ws"

// connect shakes hands. A 401 from a wrong clock is mended once.
func (s *Stream) connect(ctx context.Context) (*link, error) {
	before := s.client.offset.Load()
	l, err := s.dial(ctx)
	var r *refusedDial
	if errors.As(err, &r) && r.status == http.StatusUnauthorized && (s.client.correct(r.date) || s.client.offset.Load() != before) {
		return s.dial(ctx)
	}
	return l, err
}

func (s *Stream) dial(ctx context.Context) (*link, error) {
	c := s.client
	ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
	h := http.Header{}
	h.Set(schemas.HeaderKey, c.key)
	h.Set(schemas.HeaderTimestamp, ts)
	h.Set(schemas.HeaderSignature, schemas.Sign(c.secret, ts, "GET", streamPath, nil))
	l := &link{Stream: s, last: map[chain]schemas.U64{}, asked: map[uint32]bool{}, said: map[int][]byte{}}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.base, "http")+streamPath, &websocket.DialOptions{
		HTTPClient: cutting(c.http), HTTPHeader: h, OnPingReceived: l.pinged,
	})
	if err != nil && resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, refusalOf(resp)
	}
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1) // a snapshot is as large as the account
	l.ws = ws
	return l, nil
}

// run subscribes, and reads to the end.
func (l *link) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer func() { stop(); _ = l.ws.CloseNow(); l.beside.Wait() }()
	l.quiet = time.NewTimer(l.waits.silence)
	l.beside.Go(func() { l.watch(ctx) })
	if err := l.subscribe(ctx); err != nil {
		return err
	}
	for {
		m, err := l.read(ctx)
		if err != nil {
			return err
		}
		if err := l.take(ctx, m); err != nil {
			return err
		}
	}
}

// subscribe takes all channels at once, and the account from where it was.
func (l *link) subscribe(ctx context.Context) error {
	p := schemas.WSSubscribe{Channels: l.opt.Channels}
	for _, m := range l.opt.MarketIDs {
		p.MarketIDs = append(p.MarketIDs, schemas.Int(m))
	}
	for _, name := range p.Channels {
		if name == "user" && l.mark.any {
			p.SinceSeq, l.skip = schemas.Of(l.mark.whole), l.mark.part
		}
	}
	return l.command(ctx, "subscribe", p)
}

func (l *link) command(ctx context.Context, cmd string, params any) error {
	raw, err := schemas.Append(nil, params)
	if err != nil {
		return err
	}
	l.id++
	text := append([]byte(`{"id":`+strconv.Itoa(l.id)+`,"cmd":"`+cmd+`","params":`), raw...)
	l.said[l.id] = append(text, '}')
	return l.ws.Write(ctx, websocket.MessageText, l.said[l.id])
}

// repeat sends a command again once the venue has tokens for it.
func (l *link) repeat(ctx context.Context, text []byte, wait time.Duration) {
	l.beside.Go(func() {
		if sleep(ctx, wait) && l.ws.Write(ctx, websocket.MessageText, text) != nil {
			_ = l.ws.CloseNow() // which ends the reading
		}
	})
}

// received is any message of the venue.
type received struct {
	ID      int            `json:"id"`
	Type    string         `json:"type"`
	Sid     int            `json:"sid"`
	Seq     schemas.U64    `json:"seq"`
	PrevSeq schemas.U64    `json:"prev_seq"`
	Msg     jsontext.Value `json:"msg"`

	raw []byte
}

// read takes the next message. Silence beyond the venue's pings is a connection that
// broke unseen.
func (l *link) read(ctx context.Context) (*received, error) {
	l.quiet.Reset(l.waits.silence)
	_, raw, err := l.ws.Read(ctx)
	l.quiet.Stop() // what is done with a message takes its own time
	if err != nil {
		return nil, err
	}
	m := &received{raw: raw}
	return m, decode(raw, m)
}

// watch ends a connection that is quiet for too long.
func (l *link) watch(ctx context.Context) {
	defer l.quiet.Stop()
	select {
	case <-l.quiet.C:
		_ = l.ws.CloseNow()
	case <-ctx.Done():
	}
}

// pinged is called while a message is waited for.
func (l *link) pinged(context.Context, []byte) bool {
	l.quiet.Reset(l.waits.silence)
	return true
}

// unreadable is a message that this client does not understand.
type unreadable struct{ error }

func (u *unreadable) Unwrap() error { return u.error }

func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return &unreadable{err}
	}
	return nil
}
