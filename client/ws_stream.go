package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coder/websocket"

	"duplex/schemas"
)

// StreamOptions choose what a Stream reads. The functions are called from Run's
// goroutine, and hold up the stream as long as they take.
type StreamOptions struct {
	Channels  []string          // of schemas.WSChannels
	MarketIDs []uint32          // none: all, also those that open later
	On        func(StreamEvent) // each message in order, once it is folded in
	Broke     func(error)       // why a connection ended or was not to be had; another is tried
}

// StreamEvent is one message of the stream, as the venue wrote it.
type StreamEvent struct {
	Type string // orderbook_snapshot, orderbook_delta, trade, oracle, round, user_snapshot, user
	Seq  schemas.U64
	Msg  []byte // the msg member
	Raw  []byte // all of it
}

// Stream reads the event lane and keeps books and the account, over connections that
// break: it comes back with jitter, resumes the account where it was, and asks for a
// snapshot where a book has a gap (contract ws). Each event of the account comes
// once. After a user_snapshot that is not the first, some are missing: the venue
// kept too few. Its methods may be called while Run runs.
//
//	s := c.Stream(client.StreamOptions{Channels: []string{"orderbook_delta", "user"}})
//	go s.Run(ctx)
type Stream struct {
	client *Client
	opt    StreamOptions
	waits  waits

	mu      sync.Mutex // Run's goroutine alone writes what follows
	books   map[uint32]*keptBook
	account Account
	mark    mark
	breaks  int
}

// waits are the times between two tries to connect, doubled from the first to the
// longest, and how long a connection may say nothing.
type waits struct{ first, longest, silence time.Duration }

var usualWaits = waits{first: 200 * time.Millisecond, longest: 10 * time.Second, silence: 75 * time.Second} // two pings of the venue and more

// Stream makes one; Run starts it.
func (c *Client) Stream(o StreamOptions) *Stream {
	return &Stream{client: c, opt: o, waits: usualWaits, books: map[uint32]*keptBook{}}
}

// Breaks counts the connections that ended.
func (s *Stream) Breaks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.breaks
}

// Run reads until ctx ends, whose error it gives, or what coming back would not mend:
// an *Error that is never to be retried, a *Refused, a close with 4401, a message
// that cannot be read. When it returns, nothing of it runs any more.
func (s *Stream) Run(ctx context.Context) error {
	pause := s.waits.first
	for {
		begun := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) {
			return err
		}
		if s.opt.Broke != nil {
			s.opt.Broke(err)
		}
		if time.Since(begun) > s.waits.longest {
			pause = s.waits.first
		}
		if !sleep(ctx, max(pause/2+rand.N(pause/2+1), asked(err))) {
			return ctx.Err()
		}
		pause = min(2*pause, s.waits.longest)
	}
}

// CloseRevoked closes the connections of a revoked key (contract ws, Holding up).
const CloseRevoked = 4401

// final tells what coming back would not mend.
func final(err error) bool {
	var e *Error
	var refused *Refused
	var foreign *unreadable
	return errors.As(err, &e) && e.Retry() == schemas.Never || errors.As(err, &refused) || errors.As(err, &foreign) || websocket.CloseStatus(err) == CloseRevoked
}

// asked is how long the venue wants to be left alone.
func asked(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.RetryAfter()
}

// once reads one connection to its end.
func (s *Stream) once(ctx context.Context) error {
	l, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.broke()
	return l.run(ctx)
}

// broke leaves the books unknown until their snapshots are here.
func (s *Stream) broke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks++
	for _, b := range s.books {
		b.whole = false
	}
}
