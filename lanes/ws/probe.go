package ws

import "time"

// probe tells how far a reader has read. What the venue has sent and the reader has not read stands in
// the reader's receive buffer, and in proxies on the way: more than 100 KB, which is half a minute
// for a reader of 18 messages a second, and nothing there can be conflated. So the lane sends a ping
// after some bytes, which a client answers when it reads it, and does not write on while the answer
// is late or much has been written since. It holds a client that has never answered one for two seconds
// at most, and once: it may be one that answers none.
//
// How much is a window that doubles with each answer in time, as a fixed one would limit what is on its
// way to a distant reader, and begins anew after a late one.
type probe struct {
	written int   // bytes written since the last ping
	window  int   // of which so many while it has no answer
	waiting bool  // the last ping has no answer
	at      int64 // lane.clock when the last ping was written
	answers bool  // the client has answered one
	mute    bool  // the client has not answered the first one in time
	held    bool  // nothing is written until the answer; no writer has the connection
}

const (
	firstProbe = 4 << 10                // bytes written before the first ping; also the smallest window
	probeEvery = 16 << 10               // bytes before a later one, or the window if that is less
	maxWindow  = 1 << 20                // more than a socket takes
	probeWait  = 250 * time.Millisecond // for the answer, with the way there and back
	firstWait  = 2 * time.Second        // for the first answer, while the client is held
)

// probePayload tells the answer to a probe from others.
var probePayload = []byte("read")

var probePing = &frame{body: append(appendHeader(nil, opPing, len(probePayload)), probePayload...)}

// addProbe appends a ping to a batch of size bytes if it is time for one. Nothing may follow a close
// frame. The caller holds c.mu.
func (c *conn) addProbe(batch []item, size int, now int64) []item {
	p := &c.probe
	every := min(max(p.window, firstProbe), probeEvery)
	if p.written += size; p.waiting || c.ending || p.written < every {
		return batch
	}
	p.written, p.waiting, p.at = 0, true, now
	c.queuedBytes += probePing.size()
	return append(batch, item{f: probePing})
}

// late reports whether the answer to a ping is late, or much has been written since, so that nothing
// may be written. The caller holds c.mu.
func (c *conn) late(now int64) bool {
	p := &c.probe
	switch {
	case !p.waiting || p.mute || c.ending:
		return false
	case !p.answers:
		return p.written > probeEvery
	}
	return p.written > p.window || now-p.at > int64(probeWait)
}

// hold holds the connection until the answer comes. The caller holds c.mu.
func (c *conn) hold() {
	c.probe.held = true
	if !c.probe.answers {
		time.AfterFunc(firstWait, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.probe.answers {
				c.probe.mute = true
				c.release()
			}
		})
	}
}

// answered takes the answer to a ping and reports whether there was one to answer.
func (c *conn) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.probe
	if !p.waiting {
		return false
	}
	p.waiting, p.answers, p.mute = false, true, false
	if p.window = min(2*max(p.window, firstProbe), maxWindow); c.lane.clock.Load()-p.at > int64(probeWait) {
		p.window = firstProbe
	}
	c.release()
	return true
}

// release gives a connection that was held back to the writers. The caller holds c.mu.
func (c *conn) release() {
	if c.probe.held {
		c.probe.held = false
		c.lane.writers.add(c)
	}
}
