package ws

import (
	"bytes"
	"net"
	"time"
)

// Bounds of what is sent to one connection, and of what waits for it (contract ws,
// Data and Holding up).
type bounds struct {
	every time.Duration // between orderbook_snapshots of a market
	queue int           // bytes; beyond: 4408
	thin  int           // bytes; beyond: books, oracle and rounds are thinned
	room  int           // bytes of the socket's buffer in the kernel: a stuck reader must not cost megabytes there
}

var defaultBounds = bounds{every: 100 * time.Millisecond, queue: 4 << 20, thin: 1 << 20, room: 256 << 10}

const chunk = 32 << 10 // bytes of one write

// push queues a frame of the stream for a subscription. The caller holds c.mu.
func (c *conn) push(s *sub, f *frame) {
	at := s.chain(f)
	if c.ending || s.stale.has(at) {
		return
	}
	x := item{f: f, sub: s, prev: s.last[at]}
	s.last[at] = f.seq // before add, which may drop it again
	c.add(x)
}

// add queues an item and sees to it that somebody writes. The caller holds c.mu.
func (c *conn) add(x item) {
	if c.ending {
		return
	}
	c.queue = append(c.queue, x)
	if c.queued += x.f.size(); c.queued > c.thinAt {
		c.thin()
	}
	if c.queued > c.lane.bounds.queue {
		c.end(slowConsumer)
		return
	}
	c.wake()
}

// send queues a frame that is for this reader alone.
func (c *conn) send(f *frame) {
	c.mu.Lock()
	c.add(item{f: f})
	c.mu.Unlock()
}

func (c *conn) wake() {
	if !c.writing {
		c.writing = true
		c.lane.crew.put(c)
	}
}

// thin drops what a reader that is behind can do without: all of its books, which
// get a fresh snapshot once the rest is written, and of oracle and rounds all but
// the latest. What stays keeps its prev_seq, so that the hole shows. A book has no
// hole: the snapshot follows the last frame that was not dropped.
func (c *conn) thin() {
	newest := map[latest]int{}
	for i, x := range c.queue {
		if x.sub != nil && (x.sub.channel == oracle || x.sub.channel == rounds) {
			newest[latest{x.sub, x.f.latest}] = i
		}
	}
	kept := c.queue[:0]
	for i, x := range c.queue {
		switch {
		case x.sub == nil || x.sub.channel == trades || x.sub.channel == user:
		case x.sub.channel.book():
			c.drop(x)
			continue
		case newest[latest{x.sub, x.f.latest}] != i:
			c.queued -= x.f.size()
			continue
		}
		kept = append(kept, x)
	}
	clear(c.queue[len(kept):])
	c.queue = kept
	c.thinAt = max(c.lane.bounds.thin, c.queued+c.lane.bounds.thin/2) // or each frame after would walk the queue again
	c.lane.Stats.Thinned.Add(1)
}

type latest struct {
	sub *sub
	of  uint8
}

func (c *conn) drop(x item) {
	m := x.sub.chain(x.f)
	if !x.sub.stale.has(m) {
		x.sub.stale |= bit(m)
		x.sub.last[m] = x.prev
		c.stale = true
	}
	c.queued -= x.f.size()
}

// turn writes what is queued now, as much as the socket takes; false when the crew has
// done with the connection for now.
func (c *conn) turn(room *[]byte) (more bool) {
	batch, more := c.take()
	if !more {
		return false
	}
	next, rest, err := c.out(batch, 0, room, c.attempt.write)
	switch {
	case err != nil:
		c.lost()
		return false
	case rest != nil:
		go c.patient(batch, next, bytes.Clone(rest))
		return false
	}
	c.giveBack(batch)
	return true
}

// patient waits for a socket that is full, in the crew's stead, and finishes the batch.
func (c *conn) patient(batch []item, next int, rest []byte) {
	_, err := c.net.Write(rest)
	if err == nil && !c.wrote() {
		var room []byte
		_, _, err = c.out(batch, next, &room, c.net.Write)
	}
	if err != nil {
		c.lost()
		return
	}
	c.giveBack(batch)
	c.lane.crew.put(c)
}

// out writes a batch from an item on. Where a write is short it gives what is left of
// that write, and the item to go on from.
func (c *conn) out(batch []item, from int, room *[]byte, write func([]byte) (int, error)) (next int, rest []byte, err error) {
	buf := (*room)[:0]
	for i := from; i < len(batch); i++ {
		buf = batch[i].append(buf)
		*room = buf
		c.under += batch[i].f.size()
		if len(buf) < chunk && i < len(batch)-1 {
			continue
		}
		n, err := write(buf)
		if err != nil {
			return i + 1, nil, err
		}
		if n < len(buf) {
			return i + 1, buf[n:], nil
		}
		if c.wrote() {
			break
		}
		buf = buf[:0]
	}
	return len(batch), nil, nil
}

// wrote takes what was written off the queue; true where what follows goes unsaid.
func (c *conn) wrote() (cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued -= c.under
	c.under = 0
	return c.cut
}

// hand gives the queue away. The caller holds c.mu.
func (c *conn) hand() (batch []item) {
	batch, c.queue, c.spare = c.queue, c.spare, nil
	return batch
}

// take gives the whole queue to the writer. Where books wait for a snapshot and the
// rest is written, it is given those.
func (c *conn) take() (batch []item, more bool) {
	for {
		c.mu.Lock()
		switch {
		case len(c.queue) > 0:
			batch = c.hand()
			c.mu.Unlock()
			return batch, true
		case c.ending:
			c.mu.Unlock()
			c.said()
			return nil, false
		case c.stale:
			c.mu.Unlock()
			if batch = c.lane.refresh(c); len(batch) > 0 {
				return batch, true
			}
		default:
			c.thinAt = c.lane.bounds.thin
			c.writing = false
			c.mu.Unlock()
			return nil, false
		}
	}
}

// giveBack keeps a batch's room for the next, unless it was a rare large one.
func (c *conn) giveBack(batch []item) {
	clear(batch)
	if cap(batch) > 1024 {
		return
	}
	c.mu.Lock()
	c.spare = batch[:0]
	c.mu.Unlock()
}

// said ends our side of the stream and leaves the peer's open for its answer, so
// that the close frame is not lost to a reset.
func (c *conn) said() {
	if t, ok := tcpOf(c.net); ok {
		_ = t.CloseWrite()
	}
	_ = c.net.SetReadDeadline(time.Now().Add(farewell))
	close(c.flushed)
}

// lost is a connection that cannot be written to any more.
func (c *conn) lost() {
	c.mu.Lock()
	c.ending = true
	c.queue = nil
	c.mu.Unlock()
	_ = c.net.Close()
	close(c.flushed)
}

// tcpOf finds the socket below.
func tcpOf(n net.Conn) (*net.TCPConn, bool) {
	for {
		if t, ok := n.(*net.TCPConn); ok {
			return t, true
		}
		u, ok := n.(interface{ NetConn() net.Conn })
		if !ok {
			return nil, false
		}
		n = u.NetConn()
	}
}
