package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"duplex/lanes/gate"
)

// closure is why and how a connection ends.
type closure struct {
	code   int
	reason string
	drop   bool          // what is queued goes unsaid
	within time.Duration // for what is left to be written
}

// The closes of the contract (contract ws, Holding up), and those of RFC 6455.
var (
	keyRevoked    = closure{4401, "key revoked", true, 500 * time.Millisecond}
	slowConsumer  = closure{4408, "slow consumer", true, 10 * time.Second}
	restarting    = closure{1012, "restarting", false, 2 * time.Second}
	silent        = closure{1011, "no pong", true, time.Second}
	protocolError = closure{1002, "protocol error", true, 2 * time.Second}
	textOnly      = closure{1003, "text messages only", true, 2 * time.Second}
	badText       = closure{1007, "not UTF-8", true, 2 * time.Second}
)

const (
	messageMax = 64 << 10
	subsMax    = 64
	farewell   = 2 * time.Second // for the peer to answer a close
)

// conn is one reader of the stream.
type conn struct {
	lane    *Lane
	call    *gate.Call
	ws      *websocket.Conn
	net     net.Conn
	missed  atomic.Int32  // pings without a pong
	pinged  time.Time     // under the lane's lock
	subs    []*sub        // by sid; under the lane's lock
	sids    int           // the last given; under the lane's lock
	flushed chan struct{} // closed when nothing will be written any more

	attempt attempt // and under are the writer's
	under   int     // bytes of frames being written

	mu      sync.Mutex
	queue   []item
	spare   []item
	queued  int // bytes queued and being written
	thinAt  int
	stale   bool // a book waits for its snapshot
	writing bool
	ending  bool // the close frame is queued: nothing may follow it
	cut     bool // what is being written ends at the next whole frame
}

// end queues the close frame, once. The caller holds c.mu.
func (c *conn) end(why closure) {
	if c.ending {
		return
	}
	c.lane.Stats.closed(why.code)
	if why.drop {
		for i := range c.queue {
			c.queued -= c.queue[i].f.size()
		}
		clear(c.queue)
		c.queue, c.cut = c.queue[:0], true
	}
	c.finish(closing(why.code, why.reason), why.within)
}

// finish queues the last frame.
func (c *conn) finish(f *frame, within time.Duration) {
	c.ending = true
	c.queue = append(c.queue, item{f: f})
	c.queued += f.size()
	_ = c.net.SetWriteDeadline(time.Now().Add(within))
	c.wake()
}

// shut is end for those who do not hold the lock.
func (c *conn) shut(why closure) {
	c.mu.Lock()
	c.end(why)
	c.mu.Unlock()
}

func (c *conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// sound tells whether the connection's key still opens anything.
func (c *conn) sound() bool {
	now := c.lane.engine.Key(c.call.Key.ID)
	return now != nil && !now.Revoked
}

// serve reads commands until the connection ends, and then takes it down.
func (c *conn) serve() {
	defer c.lane.leave(c)
	for {
		typ, text, err := c.ws.Read(context.Background())
		switch {
		case err != nil:
			c.down(err)
			return
		case c.isEnding(): // what comes after our close frame is not read
		case !c.sound(): // its revocation was answered, and the pump has not come to it
			c.shut(keyRevoked)
		case typ != websocket.MessageText:
			c.shut(textOnly)
		case !utf8.Valid(text):
			c.shut(badText)
		default:
			c.command(text)
		}
	}
}

// down lets what is queued be written, a close frame among it, then closes.
func (c *conn) down(err error) {
	if gone(err) {
		c.vanish()
	} else if websocket.CloseStatus(err) == -1 { // else the library has answered the peer's close
		c.shut(protocolError)
	}
	<-c.flushed
	if !gone(err) {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.net, 1<<20)) // unread bytes would reset the stream under the close frame
	}
	_ = c.net.Close()
	_ = c.ws.CloseNow()
}

// vanish ends a connection whose peer has gone.
func (c *conn) vanish() {
	_ = c.net.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	if !c.writing { // nobody else would tell
		c.writing = true
		close(c.flushed)
	}
}

// gone tells an ended stream from one that is not spoken properly.
func gone(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}
