package ws

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"duplex/core"
	"duplex/internal/timeouts"
	"duplex/lanes/gate"
)

// closeReason is a close code with its text, and how to close the connection with it.
type closeReason struct {
	code    int
	reason  string
	discard bool          // drop queued frames before the close frame
	timeout time.Duration // for writing the remaining frames
}

// The close codes of the venue and of RFC 6455 (docs/rules/events.md#close-codes).
var (
	keyRevoked    = closeReason{4401, "key revoked", true, 500 * time.Millisecond}
	slowConsumer  = closeReason{4408, "slow consumer", true, 10 * time.Second}
	restarting    = closeReason{1012, "restarting", false, 2 * time.Second}
	noPong        = closeReason{1011, "no pong", true, time.Second}
	protocolError = closeReason{1002, "protocol error", true, 2 * time.Second}
	textOnly      = closeReason{1003, "text messages only", true, 2 * time.Second}
	invalidUTF8   = closeReason{1007, "not UTF-8", true, 2 * time.Second}
	tooBig        = closeReason{1009, "a message over 64 KiB", false, 2 * time.Second}
	pingFlood     = closeReason{1008, "more than 10 pings a second", true, 2 * time.Second}
)

const (
	maxMessageBytes  = 64 << 10
	maxSubscriptions = 64
	closeTimeout     = 2 * time.Second // for the peer to answer a close frame

	// A client may send controlRate pings a second in bursts of controlBurst, and the same
	// number of pongs that answer no ping (docs/rules/events.md#pings).
	controlRate  = 10
	controlBurst = 20
)

// conn is one WebSocket connection.
type conn struct {
	lane        *Lane
	call        *gate.Call
	ws          *websocket.Conn
	net         net.Conn
	missedPongs atomic.Int32  // pings sent since the last pong
	pings       *rate.Limiter // pings of the peer
	pongs       *rate.Limiter // pongs of the peer that answer no ping
	pinged      time.Time     // time of the last ping; guarded by lane.mu
	subs        []*sub        // by rising sid; guarded by lane.mu
	lastSid     int           // highest sid given out; guarded by lane.mu
	pingEvery   time.Duration // guarded by lane.mu
	binding     binding
	flushed     chan struct{} // closed after the last write

	// Used only by the goroutine that writes to this connection.
	nonblocking nonblockingWriter
	slow        bool // the socket was full and the queue has not been empty since, or the socket does not tell

	mu          sync.Mutex
	queue       []item
	spare       []item
	queuedBytes int         // size of the frames queued and being written
	conflateAt  int         // conflate the queue beyond this many queuedBytes
	conflatedAt int64       // lane.clock when the queue was last conflated for its age
	staleBooks  []staleBook // the books that need a fresh snapshot, in the order in which they became stale

	wroteSnapshot bool // the last batch was a snapshot of a stale book
	probe         probe
	scheduled     bool // a writer has this connection or will get it, or the connection is held
	ending        bool // the close frame is queued; nothing may follow it
}

// staleBook is a book of a subscription whose frames were dropped.
type staleBook struct {
	sub    *sub
	market core.MarketID
}

// closeLocked queues the close frame. Only the first call has an effect. The caller holds
// c.mu.
func (c *conn) closeLocked(why closeReason) {
	if c.ending {
		return
	}
	c.lane.Stats.countClose(why.code)
	c.endBinding()
	if why.discard {
		for i := range c.queue {
			c.queuedBytes -= c.queue[i].f.size()
		}
		clear(c.queue)
		c.queue = c.queue[:0]
	}
	c.enqueueLast(closeFrame(why.code, why.reason), why.timeout)
}

// enqueueLast queues the connection's last frame and bounds the time for writing the queue.
func (c *conn) enqueueLast(f *frame, timeout time.Duration) {
	c.ending = true
	c.queue = append(c.queue, item{f: f})
	c.queuedBytes += f.size()
	_ = c.net.SetWriteDeadline(time.Now().Add(timeouts.Of(timeout)))
	c.schedule()
	c.release()
}

// close is closeLocked for callers that do not hold c.mu.
func (c *conn) close(why closeReason) {
	c.mu.Lock()
	c.closeLocked(why)
	c.mu.Unlock()
}

func (c *conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// keyValid reports whether the connection's key exists and is not revoked.
func (c *conn) keyValid() bool {
	now := c.lane.engine.Key(c.call.Key.ID)
	return now != nil && !now.Revoked
}

func controlLimit() *rate.Limiter { return rate.NewLimiter(controlRate, controlBurst) }

// ping handles a ping of the peer and reports whether to answer it. A ping beyond the limit
// closes the connection.
func (c *conn) ping() bool {
	if c.pings.Allow() {
		return true
	}
	c.close(pingFlood)
	return false
}

// pong handles a pong of the peer. Pongs that answer no ping have their own limit; one beyond
// it closes the connection.
func (c *conn) pong(payload []byte) {
	answers := c.missedPongs.Swap(0) > 0
	if bytes.Equal(payload, probePayload) {
		answers = c.answered()
	}
	if !answers && !c.pongs.Allow() {
		c.close(pingFlood)
	}
}

// serve runs the client's commands until the connection ends, then unregisters it.
func (c *conn) serve() {
	defer c.lane.unregister(c)
	for {
		typ, text, err := c.ws.Read(context.Background())
		switch {
		case err != nil:
			c.endBinding()
			c.drain(err)
			return
		case c.isEnding(): // ignore messages after our close frame
		case !c.keyValid(): // revoked, but the pump has not published the revocation yet
			c.close(keyRevoked)
		case typ != websocket.MessageText:
			c.close(textOnly)
		case !utf8.Valid(text):
			c.close(invalidUTF8)
		default:
			c.handleCommand(text)
		}
	}
}

// drain waits until the queue, with its close frame, is written, then closes the connection.
func (c *conn) drain(err error) {
	if isDisconnect(err) {
		c.dropPeer()
	} else if websocket.CloseStatus(err) == -1 { // otherwise the library has answered the peer's close frame
		c.close(protocolError)
	}
	<-c.flushed
	if !isDisconnect(err) {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.net, 1<<20)) // closing with unread bytes would reset the stream and lose the close frame
	}
	_ = c.net.Close()
	_ = c.ws.CloseNow()
}

// dropPeer closes a connection whose peer disconnected.
func (c *conn) dropPeer() {
	_ = c.net.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	if !c.scheduled || c.probe.held { // no writer will close flushed
		c.scheduled, c.probe.held = true, false
		close(c.flushed)
	}
}

// isDisconnect reports whether a read failed because the stream ended, as opposed to a
// violation of the protocol.
func isDisconnect(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}
