package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"duplex/internal/backoff"
	"duplex/schemas"
)

// StreamOptions configures a Stream. Run calls the functions on its own goroutine and
// waits for them.
type StreamOptions struct {
	Channels  []string          // of schemas.WSChannels
	MarketIDs []uint32          // none: all, including those that open later
	OnEvent   func(StreamEvent) // called for each message in order, after it was applied

	// CancelOnDisconnect names the groups whose orders the venue cancels when a connection of the stream ends, 0
	// for all orders of the account (docs/rules/orders.md#cancel-on-disconnect). A new connection binds them again;
	// what was canceled is placed by the program. It needs a key with the scope trade.
	CancelOnDisconnect []uint32

	// OnDisconnect is called when a connection ends or fails, before the next attempt. since is when the
	// stream was lost, or when Run began.
	OnDisconnect func(err error, since time.Time)

	// Silence is the time after which a connection on which nothing arrives is left, 0 for 10 s. The stream
	// asks at half of it.
	Silence time.Duration

	// Log gets a line when the stream is lost and one when it is back; nil: slog.Default().
	Log *slog.Logger

	// OnLate is called when a change of a book came later than MaxAge after its time. The book is then
	// unknown until the snapshot that the stream has requested. What a slow reader has in its own
	// buffers nobody else sees. On an arena, whose time is virtual, nothing is late. If the clock was not
	// measured just now, it is measured first: it stands still while a machine sleeps.
	OnLate func(market uint32, age time.Duration)
}

// MaxAge is how old the change of a book may be when the stream applies it.
const MaxAge = 2 * time.Second

// StreamEvent is one message of the stream, as the venue sent it.
type StreamEvent struct {
	Type string // orderbook_snapshot, orderbook_delta, trade, oracle, round, user_snapshot, user
	Seq  schemas.U64
	Msg  []byte // the msg member
	Raw  []byte // the whole message
}

// Stream follows the event lane and maintains books and the account across connections.
// It reconnects with jitter, resumes the account at its last event, and requests a
// snapshot when a book has a gap (docs/rules/events.md#resume). It delivers each event of
// the account once. With several nodes it goes on at the next one, from the same event, and no book or
// account is older there than what the client knows. A second user_snapshot means that the venue no longer had all events,
// and that some are missing. Its methods may be called while Run runs.
//
//	s := c.Stream(client.StreamOptions{Channels: []string{"orderbook_delta", "user"}})
//	go s.Run(ctx)
type Stream struct {
	client *Client
	opt    StreamOptions
	timing streamTiming

	mu          sync.Mutex // guards the fields below, which only Run's goroutine writes
	books       map[uint32]*localBook
	account     Account
	resume      resumePoint
	disconnects int
}

// streamTiming holds the bounds of the wait between two attempts to connect, which
// doubles, the silence timeout of a connection, how long the first connection is tried, and how long a
// measure of the clock holds.
type streamTiming struct{ minBackoff, maxBackoff, silence, first, measured time.Duration }

var defaultTiming = streamTiming{minBackoff: 200 * time.Millisecond, maxBackoff: maxBackoff, silence: 10 * time.Second, first: callTimeout, measured: measuredFor}

// Stream returns a stream; Run starts it.
func (c *Client) Stream(o StreamOptions) *Stream {
	s := &Stream{client: c, opt: o, timing: defaultTiming, books: map[uint32]*localBook{}}
	s.timing.silence = cmp.Or(o.Silence, s.timing.silence)
	s.opt.Log = cmp.Or(o.Log, slog.Default())
	return s
}

// Disconnects returns the number of connections that ended.
func (s *Stream) Disconnects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disconnects
}

// Run follows the stream until ctx ends, and then returns its error. It returns earlier if no first message comes
// within 30 s, and on an error that reconnecting does not fix: an *Error with the retry rule Never, a
// *CommandError, or a close with CloseRevoked (unless Reload has another key). A connection on which something else
// than a message arrives is left. All its goroutines have ended when it returns.
func (s *Stream) Run(ctx context.Context) error {
	pause := s.timing.minBackoff
	lost, logged := time.Now(), true // the first attempts end in an error or in a stream
	end := lost.Add(max(s.timing.first, Timeout(0)))
	for {
		start, by := time.Now(), s.client.credentials.Load()
		began := false
		conn, leave := context.WithCancelCause(ctx)
		stopTimer := func() bool { return true }
		if !end.IsZero() {
			stopTimer = time.AfterFunc(time.Until(end), func() { leave(errNoMessage) }).Stop
		}
		err := s.runConn(conn, func() {
			if end.IsZero() && logged {
				s.opt.Log.Info("the stream is back", "after", time.Since(lost).Round(time.Millisecond))
			}
			stopTimer()
			end, logged, began = time.Time{}, false, true
		})
		stopTimer()
		if cause := context.Cause(conn); errors.Is(cause, errNoMessage) {
			err = cause
		}
		leave(nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if isFatal(err) && !(websocket.CloseStatus(err) == CloseRevoked && s.client.renew(by)) {
			return err
		}
		if began {
			lost = time.Now()
		}
		if s.opt.OnDisconnect != nil {
			s.opt.OnDisconnect(err, lost)
		}
		if time.Since(start) > s.timing.maxBackoff {
			pause = s.timing.minBackoff
		}
		wait := max(backoff.Jitter(pause), serverRetryAfter(err))
		if !end.IsZero() && time.Now().Add(wait).After(end) {
			return fmt.Errorf("no stream for %v: %w", time.Since(lost).Round(time.Second), err)
		}
		if !logged {
			logged = true
			s.opt.Log.Warn("the stream is lost; connecting again", "err", err, "since", lost)
		}
		if !backoff.Sleep(ctx, wait) {
			return ctx.Err()
		}
		pause = min(2*pause, s.timing.maxBackoff)
	}
}

// CloseRevoked is the close code of connections whose key was revoked
// (docs/rules/events.md#close-codes).
const CloseRevoked = 4401

// ofNode are the errors of commands for which another node, or the same one later, does better: it has not applied
// what the subscription waits for, it stops, or it takes no commands.
var ofNode = []string{"sequencing_timeout", "shed", "read_only_node"}

// isFatal reports whether reconnecting cannot fix err.
func isFatal(err error) bool {
	var e *Error
	var refused *CommandError
	if errors.As(err, &refused) && slices.Contains(ofNode, refused.Name) {
		return false
	}
	return errors.As(err, &e) && e.Retry() == schemas.Never || errors.As(err, &refused) || websocket.CloseStatus(err) == CloseRevoked
}

// serverRetryAfter returns the wait that the venue's error names, or 0.
func serverRetryAfter(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.RetryAfter()
}

// errNoMessage is the error of a first connection that has brought no message in time.
var errNoMessage = errors.New("no message of the venue in time")

// runConn follows one connection until it ends, and calls opened at its first message: a connection that is accepted
// and then closed brings nothing.
func (s *Stream) runConn(ctx context.Context, opened func()) error {
	l, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.onDisconnect()
	err = l.run(ctx, opened)
	if ctx.Err() == nil && leavesNode(err) {
		l.node.Failed(err)
	}
	return err
}

// leavesNode reports whether a connection ended for a reason of its node: it broke, the node stops or does
// not know the state of the venue, or it did not apply the events before it in time.
func leavesNode(err error) bool {
	switch websocket.CloseStatus(err) {
	case -1:
		return !isFatal(err) && !errors.Is(err, errGap)
	case websocket.StatusGoingAway, websocket.StatusServiceRestart:
		return true
	}
	return false
}

// onDisconnect marks all books as unknown until their next snapshots.
func (s *Stream) onDisconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disconnects++
	for _, b := range s.books {
		b.complete = false
	}
}
