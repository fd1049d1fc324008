package ws

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// libraryConn is the net.Conn that the WebSocket library uses. The library reads the peer's
// stream directly. It writes only control frames, and these go through the connection's send
// queue, so that one writer sends everything, many frames to a write.
type libraryConn struct {
	net.Conn
	conn    *conn
	in      io.Reader // the bytes that net/http has already read, then Conn
	headers headers
	over    bool // a message is too long; nothing from it on is read
}

// errEnding makes the library stop reading a connection that the lane is closing.
var errEnding = errors.New("ws: the connection is ending")

// Read reads the peer's stream until the lane closes the connection. It returns everything
// before a message that is too long, so that the commands before it are answered, and then
// closes the connection.
func (w *libraryConn) Read(p []byte) (int, error) {
	if w.conn.isEnding() {
		return 0, errEnding
	}
	if !w.over {
		n, err := w.in.Read(p)
		valid, ok := w.headers.scan(p[:n])
		if ok {
			return n, err
		}
		w.over = true
		if valid > 0 {
			return valid, nil
		}
	}
	w.conn.close(tooBig)
	return 0, errEnding
}

// Write queues one control frame. The library flushes each one separately.
func (w *libraryConn) Write(p []byte) (int, error) {
	c := w.conn
	f := &frame{body: append([]byte(nil), p...)}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ending:
	case p[0] == opClose:
		if len(p) > closeReasonStart && !utf8.Valid(p[closeReasonStart:]) { // the library echoes the peer's close reason without checking it
			c.closeLocked(invalidUTF8)
			return len(p), nil
		}
		c.lane.Stats.countClose(closeCode(p))
		c.enqueueLast(f, closeTimeout)
	default:
		c.enqueue(item{f: f})
	}
	return len(p), nil
}

// closeReasonStart is the offset of the reason in a close frame: two bytes of header and two
// of code come first.
const closeReasonStart = 4

// closeCode returns the code of a close frame, or 1005 if it has none.
func closeCode(p []byte) int {
	if len(p) < 4 {
		return int(websocket.StatusNoStatusRcvd)
	}
	return int(p[2])<<8 | int(p[3])
}

// Close does nothing. The connection is closed once its last frame is written.
func (w *libraryConn) Close() error { return nil }

// maxControlFrame is the size of the largest control frame. A write buffer of this size
// makes each control frame one call of Write.
const maxControlFrame = 2 + 125

// upgradeWriter is the ResponseWriter that the library upgrades. It gives the library a
// libraryConn, and it drops the library's own error body, because a rejected handshake is
// answered with the venue's (docs/rules/events.md#handshake).
type upgradeWriter struct {
	http.ResponseWriter
	conn     *conn
	rejected bool
}

func (u *upgradeWriter) WriteHeader(status int) {
	if u.rejected = status != http.StatusSwitchingProtocols; !u.rejected {
		u.ResponseWriter.WriteHeader(status)
	}
}

func (u *upgradeWriter) Write(p []byte) (int, error) {
	if u.rejected {
		return len(p), nil
	}
	return u.ResponseWriter.Write(p)
}

func (u *upgradeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	n, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.conn.net = n
	if t, ok := tcpConn(n); ok {
		_ = t.SetWriteBuffer(u.conn.lane.limits.socketBufferBytes)
		if raw, err := t.SyscallConn(); err == nil {
			limitUnsent(raw, u.conn.lane.limits.unsentBytes-slowWriteChunk) // the kernel accepts a whole write below the limit
			if !encrypted(n) {
				u.conn.nonblocking.bind(raw)
			}
		}
		u.conn.slow = !u.conn.nonblocking.bound()
	}
	ahead, _ := rw.Reader.Peek(rw.Reader.Buffered()) // cannot fail: the bytes are buffered
	w := &libraryConn{Conn: n, conn: u.conn, in: n}
	if len(ahead) > 0 {
		w.in = io.MultiReader(bytes.NewReader(bytes.Clone(ahead)), n)
		_, _ = rw.Reader.Discard(len(ahead)) // otherwise the library would read them without libraryConn
	}
	return w, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(w, maxControlFrame)), nil
}
