package mcp

import (
	"net/http"
	"time"
)

const writeTimeout = 10 * time.Second // for one message

// eventStream is a response as server-sent events: notifications, then the response
// itself. It is not safe for concurrent use.
type eventStream struct {
	out     http.ResponseWriter
	flush   *http.ResponseController
	started bool
}

// writeHead sends the head of the response, once.
func (e *eventStream) writeHead() {
	if e.started {
		return
	}
	e.started, e.flush = true, http.NewResponseController(e.out)
	h := e.out.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	e.out.WriteHeader(http.StatusOK)
}

// notify sends a notification.
func (e *eventStream) notify(method string, params any) bool {
	return e.message(mustEncode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params}))
}

func (e *eventStream) message(m []byte) bool {
	return e.send(append(append([]byte("event: message\ndata: "), m...), "\n\n"...))
}

// send writes and flushes b. A reader that does not read within writeTimeout loses the
// stream.
func (e *eventStream) send(b []byte) bool {
	e.writeHead()
	e.expires(time.Now().Add(writeTimeout))
	if _, err := e.out.Write(b); err != nil || e.flush.Flush() != nil {
		return false
	}
	e.expires(time.Time{}) // over HTTP/2 a stream ends when its deadline passes, also while nothing is written
	return true
}

// finish bounds what the server writes after the last message: the end of the response.
func (e *eventStream) finish() {
	if e.started {
		e.expires(time.Now().Add(writeTimeout))
	}
}

func (e *eventStream) expires(at time.Time) {
	_ = e.flush.SetWriteDeadline(at) // a writer without deadlines is bounded by its server's
}
