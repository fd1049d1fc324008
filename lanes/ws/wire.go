package ws

import (
	"bufio"
	"net"
	"net/http"

	"github.com/coder/websocket"
)

// wire is the stream as the library sees it: it reads what the peer sends, and what
// it writes, which are control frames alone, goes through the outbox. So one writer
// drains all of a connection, many frames to a write.
type wire struct {
	net.Conn
	conn *conn
}

// Write takes one control frame: the library flushes each by itself.
func (w *wire) Write(p []byte) (int, error) {
	c := w.conn
	f := &frame{body: append([]byte(nil), p...)}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ending:
	case p[0] == opClose:
		c.lane.Stats.closed(codeOf(p))
		c.finish(f, farewell)
	default:
		c.add(item{f: f})
	}
	return len(p), nil
}

// codeOf is the code a close frame gives; 1005 when it gives none.
func codeOf(p []byte) int {
	if len(p) < 4 {
		return int(websocket.StatusNoStatusRcvd)
	}
	return int(p[2])<<8 | int(p[3])
}

// Close does nothing: the connection goes down when its last frame is written.
func (w *wire) Close() error { return nil }

// controlMax holds the largest control frame, so that it is flushed as one.
const controlMax = 2 + 125

// upgrade is a ResponseWriter that gives the library a wire, and swallows its words
// when it refuses: a refused handshake has the venue's error body (contract ws).
type upgrade struct {
	http.ResponseWriter
	conn    *conn
	refused bool
}

func (u *upgrade) WriteHeader(status int) {
	if u.refused = status != http.StatusSwitchingProtocols; !u.refused {
		u.ResponseWriter.WriteHeader(status)
	}
}

func (u *upgrade) Write(p []byte) (int, error) {
	if u.refused {
		return len(p), nil
	}
	return u.ResponseWriter.Write(p)
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	n, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.conn.net = n
	if t, ok := tcpOf(n); ok {
		_ = t.SetWriteBuffer(u.conn.lane.bounds.room)
		if raw, err := t.SyscallConn(); err == nil {
			u.conn.attempt.over(raw)
		}
	}
	w := &wire{Conn: n, conn: u.conn}
	return w, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(w, controlMax)), nil
}
