package mcp

import (
	"net/http"
	"time"
)

const writeTime = 10 * time.Second // for one message to leave

// events is an answer as server-sent events: what is told on the way, then the
// answer itself. Only one goroutine writes at a time.
type events struct {
	out   http.ResponseWriter
	flush *http.ResponseController
	begun bool
}

// begin sends the head of the response, once.
func (e *events) begin() {
	if e.begun {
		return
	}
	e.begun, e.flush = true, http.NewResponseController(e.out)
	h := e.out.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	e.out.WriteHeader(http.StatusOK)
}

// notify sends a notification.
func (e *events) notify(method string, params any) bool {
	return e.message(encoded(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params}))
}

func (e *events) message(m []byte) bool {
	return e.send(append(append([]byte("event: message\ndata: "), m...), "\n\n"...))
}

// send writes at once; a reader who takes nothing loses the stream.
func (e *events) send(b []byte) bool {
	e.begin()
	_ = e.flush.SetWriteDeadline(time.Now().Add(writeTime)) // a writer without deadlines is bounded by its server
	if _, err := e.out.Write(b); err != nil {
		return false
	}
	return e.flush.Flush() == nil
}
