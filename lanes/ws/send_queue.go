package ws

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// limits bounds what is sent to one connection and what is queued for it
// (docs/rules/events.md#falling-behind).
type limits struct {
	snapshotInterval  time.Duration // minimum time between two orderbook_snapshot messages of a market
	maxQueueBytes     int           // a longer queue closes the connection with 4408
	conflateBytes     int           // a longer queue is conflated
	conflateAge       time.Duration // a queue whose oldest message waits longer is conflated
	socketBufferBytes int           // the kernel's send buffer, so that a stuck reader does not cost megabytes there
	unsentBytes       int           // of which the kernel has not sent; what it holds can neither be conflated nor seen
}

var defaultLimits = limits{snapshotInterval: 100 * time.Millisecond, maxQueueBytes: 4 << 20, conflateBytes: 1 << 20, conflateAge: time.Second, socketBufferBytes: 256 << 10, unsentBytes: 16 << 10}

// Bytes of one write. What is being written cannot be conflated any more, so a reader whose socket
// is full gets little at a time.
const (
	writeChunk     = 16 << 10
	slowWriteChunk = 4 << 10
)

// push queues a frame for a subscription, unless it belongs to a stale book. The caller holds
// c.mu.
func (c *conn) push(s *sub, f *frame) {
	chain := s.chain(f)
	if c.ending || s.stale.has(chain) {
		return
	}
	x := item{f: f, sub: s, prev: s.lastSeq[chain]}
	s.lastSeq[chain] = f.seq // before enqueue, which may drop the item and restore lastSeq
	c.enqueue(x)
}

// enqueue queues an item and schedules a writer. The caller holds c.mu.
func (c *conn) enqueue(x item) {
	if c.ending {
		return
	}
	x.at = c.lane.clock.Load()
	c.queue = append(c.queue, x)
	c.conflateOld(x.at)
	if c.queuedBytes += x.f.size(); c.queuedBytes > c.conflateAt {
		c.conflate(&c.lane.Stats.ConflatedBytes)
		c.conflateAt = max(c.lane.limits.conflateBytes, c.queuedBytes+c.lane.limits.conflateBytes/2) // leave room, or each later frame would scan the queue again
	}
	if c.queuedBytes > c.lane.limits.maxQueueBytes {
		c.closeLocked(slowConsumer)
		return
	}
	c.schedule()
}

// send queues a whole frame.
func (c *conn) send(f *frame) {
	c.mu.Lock()
	c.enqueue(item{f: f})
	c.mu.Unlock()
}

// schedule gives the connection to the writer pool, unless a writer has it. The caller holds
// c.mu.
func (c *conn) schedule() {
	if !c.scheduled {
		c.scheduled = true
		c.lane.writers.add(c)
	}
}

// conflateOld conflates a queue whose oldest frame has waited too long. Trades may stay older than
// that, so a queue is conflated once in that time. The caller holds c.mu.
func (c *conn) conflateOld(now int64) {
	if len(c.queue) > 0 && now-max(c.queue[0].at, c.conflatedAt) > int64(c.lane.limits.conflateAge) {
		c.conflate(&c.lane.Stats.ConflatedAge)
		c.conflatedAt = now
	}
}

// conflate drops queued frames that a slow reader can do without, and counts it if there are any.
// Book frames are all dropped; a fresh snapshot of each such book follows once the queue is
// written. Of oracle and rounds only the latest frame per feed or market stays. Remaining frames
// keep their prev_seq, which shows the gap; books show none, because the snapshot's prev_seq is
// the seq of the last frame that was not dropped. The caller holds c.mu.
func (c *conn) conflate(count *atomic.Uint64) {
	newest := map[conflationKey]int{}
	for i, x := range c.queue {
		if x.sub != nil && (x.sub.channel == oracle || x.sub.channel == rounds) {
			newest[conflationKey{x.sub, x.f.conflationID}] = i
		}
	}
	kept := c.queue[:0]
	for i, x := range c.queue {
		switch {
		case x.sub == nil || x.sub.channel == trades || x.sub.channel == user:
		case x.sub.channel.book():
			c.dropBookFrame(x)
			continue
		case newest[conflationKey{x.sub, x.f.conflationID}] != i:
			c.queuedBytes -= x.f.size()
			continue
		}
		kept = append(kept, x)
	}
	if len(kept) == len(c.queue) {
		return
	}
	clear(c.queue[len(kept):])
	c.queue = kept
	count.Add(1)
}

type conflationKey struct {
	sub *sub
	id  uint8
}

// dropBookFrame removes a book frame from the count and marks its book stale.
func (c *conn) dropBookFrame(x item) {
	m := x.sub.chain(x.f)
	if !x.sub.stale.has(m) {
		x.sub.stale |= marketBit(m)
		x.sub.lastSeq[m] = x.prev
		c.staleBooks = append(c.staleBooks, staleBook{x.sub, m})
	}
	c.queuedBytes -= x.f.size()
}

// writeQueued writes the queue without blocking. It reports whether the connection must be
// scheduled again; false means that the queue is empty, the connection has ended, or a
// goroutine of its own has taken over because the socket is full.
func (c *conn) writeQueued(scratch *[]byte) (more bool) {
	batch, more := c.nextBatch()
	if !more {
		return false
	}
	rest, err := c.writeBatch(batch, scratch, c.nonblocking.write)
	switch {
	case err != nil:
		c.abort()
		return false
	case rest != nil:
		c.slow = true
		go c.writeBlocking(batch, bytes.Clone(rest))
		return false
	}
	c.written(batch)
	return true
}

// writeBlocking finishes a batch on a full socket, outside the writer pool, then returns the
// connection to the pool.
func (c *conn) writeBlocking(batch []item, rest []byte) {
	if _, err := c.net.Write(rest); err != nil {
		c.abort()
		return
	}
	c.written(batch)
	c.lane.writers.add(c)
}

// writeBatch writes a batch. If the write is short, it returns the unwritten bytes.
func (c *conn) writeBatch(batch []item, scratch *[]byte, write func([]byte) (int, error)) (rest []byte, err error) {
	buf := (*scratch)[:0]
	for i := range batch {
		buf = batch[i].append(buf)
	}
	*scratch = buf
	n, err := write(buf)
	if err != nil || n == len(buf) {
		return nil, err
	}
	return buf[n:], nil
}

// written subtracts a written batch from queuedBytes, and reuses its slice for a later queue unless
// it is unusually large.
func (c *conn) written(batch []item) {
	size := 0
	for i := range batch {
		size += batch[i].f.size()
	}
	clear(batch)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queuedBytes -= size
	if cap(batch) <= 1024 {
		c.spare = batch[:0]
	}
}

// detachQueue takes the oldest frames of the queue, up to the bytes of one write, but at least one, and
// returns their size too. The caller holds c.mu.
func (c *conn) detachQueue() (batch []item, size int) {
	limit := writeChunk
	if c.slow || !c.probe.answers {
		limit = slowWriteChunk
	}
	if c.queuedBytes <= limit {
		batch, c.queue, c.spare = c.queue, c.spare, nil
		return batch, c.queuedBytes
	}
	n := 0
	for ; n < len(c.queue) && (n == 0 || size+c.queue[n].f.size() <= limit); n++ {
		size += c.queue[n].f.size()
	}
	batch, c.queue = c.queue[:n:n], c.queue[n:]
	return batch, size
}

// snapshotDue reports whether a stale book comes before the queue: after each batch one, but not before the
// answer to its subscription. The caller holds c.mu and the queue is not empty.
func (c *conn) snapshotDue() bool {
	return len(c.staleBooks) > 0 && !c.wroteSnapshot && !c.ending && c.queue[0].at > c.staleBooks[0].sub.answeredAt
}

// nextBatch returns the start of the queue for writing, and between two of them a snapshot of the
// book that has been stale for longest: a queue of trades, which are never dropped, may never be
// empty. It returns false if nothing is left to write, when the connection is no longer scheduled, or
// the connection is held.
func (c *conn) nextBatch() (batch []item, more bool) {
	for {
		c.mu.Lock()
		now := c.lane.clock.Load()
		c.conflateOld(now)
		switch {
		case len(c.queue)+len(c.staleBooks) > 0 && c.late(now):
			c.hold()
			c.mu.Unlock()
			return nil, false
		case len(c.queue) > 0 && !c.snapshotDue():
			c.wroteSnapshot = false
			batch, size := c.detachQueue()
			batch = c.addProbe(batch, size, now)
			c.mu.Unlock()
			return batch, true
		case c.ending:
			c.mu.Unlock()
			c.closeWrite()
			return nil, false
		case len(c.staleBooks) > 0:
			c.wroteSnapshot = true
			c.mu.Unlock()
			if batch = c.lane.staleSnapshot(c); len(batch) > 0 {
				return batch, true
			}
		default:
			c.conflateAt = c.lane.limits.conflateBytes
			c.scheduled, c.slow = false, !c.nonblocking.bound()
			c.mu.Unlock()
			return nil, false
		}
	}
}

// closeWrite closes the sending side of the stream and leaves the receiving side open for
// the peer's close frame. A full close could reset the stream and lose our close frame.
func (c *conn) closeWrite() {
	if t, ok := c.net.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
	}
	_ = c.net.SetReadDeadline(time.Now().Add(closeTimeout))
	close(c.flushed)
}

// abort drops a connection after a failed write.
func (c *conn) abort() {
	c.mu.Lock()
	c.ending = true
	c.queue = nil
	c.mu.Unlock()
	_ = c.net.Close()
	close(c.flushed)
}

// tcpConn unwraps n to its TCP connection, if it has one.
func tcpConn(n net.Conn) (*net.TCPConn, bool) {
	for ; n != nil; n = unwrap(n) {
		if t, ok := n.(*net.TCPConn); ok {
			return t, true
		}
	}
	return nil, false
}

// encrypted reports whether n speaks TLS, so that nothing may be written to its TCP
// connection directly.
func encrypted(n net.Conn) bool {
	for ; n != nil; n = unwrap(n) {
		if _, ok := n.(*tls.Conn); ok {
			return true
		}
	}
	return false
}

// unwrap returns the connection inside n, or nil.
func unwrap(n net.Conn) net.Conn {
	if u, ok := n.(interface{ NetConn() net.Conn }); ok {
		return u.NetConn()
	}
	return nil
}
