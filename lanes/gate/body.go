package gate

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"duplex/internal/timeouts"
	"duplex/tools"
)

// preallocatedBody is the largest Content-Length for which the buffer is allocated before
// the body has arrived.
const preallocatedBody = 1 << 10

// unwantedBody is how long a connection reads on after a request was refused before its body, so that a
// client which is sending still gets the answer.
const unwantedBody = time.Second

var bodyBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func hasBody(r *http.Request) bool { return r.ContentLength != 0 || len(r.TransferEncoding) > 0 }

// checkBodyLength returns body_too_large if a request announces a body beyond MaxBodyBytes.
func checkBodyLength(r *http.Request) error {
	if r.ContentLength > MaxBodyBytes {
		return tools.NewError("body_too_large")
	}
	return nil
}

// refuseBody prepares the end of a connection whose request is answered before its body was read.
// net/http reads up to 256 KiB of it before it closes the connection, so this has a deadline.
func refuseBody(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeouts.Of(unwantedBody))) // a writer without deadlines has its server's ReadTimeout
	}
}

// readBody reads the whole body within MaxBodyBytes and BodyTimeout
// (docs/rules/limits.md#request-size). An incomplete body cannot have a valid signature,
// so it is unauthorized. Until the caller is identified the body counts for the budget of such bodies,
// which may end it with shed.
//
// A rejected body ends its connection. net/http reads up to 256 KiB more of it before it
// closes the connection, so the deadline stays in force.
func (g *Gate) readBody(w http.ResponseWriter, r *http.Request, c *Call) ([]byte, error) {
	if !hasBody(r) {
		return nil, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(g.BodyTimeout)) // a writer without deadlines has its server's ReadTimeout
	from, shed := io.Reader(r.Body), func() bool { return false }
	if !c.identified() {
		network, most := g.sourceOf(r)
		body := g.unauthenticated.begin(network, most, func() { _ = control.SetReadDeadline(time.Now()) }) // fails only with the connection
		from, shed = body.reader(r.Body), body.end
	}
	body, err := readAll(from, r.ContentLength)
	switch {
	case shed():
		err = tools.NewError("shed")
	case err != nil:
		err = tools.NewError("unauthorized")
	case len(body) > MaxBodyBytes:
		err = tools.NewError("body_too_large")
	default:
		return body, nil
	}
	w.Header().Set("Connection", "close")
	return nil, err
}

// readAll reads a body to its end, or until it is longer than MaxBodyBytes. length is its
// Content-Length, or -1.
func readAll(from io.Reader, length int64) ([]byte, error) {
	if 0 < length && length <= preallocatedBody {
		body := make([]byte, length)
		_, err := io.ReadFull(from, body)
		return body, err
	}
	buf := bodyBuffers.Get().(*bytes.Buffer)
	defer bodyBuffers.Put(buf)
	buf.Reset()
	_, err := io.Copy(buf, io.LimitReader(from, MaxBodyBytes+1))
	return bytes.Clone(buf.Bytes()), err
}
