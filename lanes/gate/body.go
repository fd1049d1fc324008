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

// unwantedBody is how long a connection reads on after a request was refused before its body, so that a
// client which is sending still gets the answer.
const unwantedBody = time.Second

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
	var pending *pendingBody                                   // nil: the caller is known
	var body []byte
	var err error
	if !c.identified() && !connOf(r).bodyArrived() { // most bodies come with their head, and take no place
		from, limit := g.sourceOf(r)
		pending, err = g.unauthenticated.begin(from, limit, func() { _ = control.SetReadDeadline(time.Now()) }) // fails only with the connection
	}
	if err == nil {
		body, err = readAll(r.Body, r.ContentLength, pending)
	}
	switch {
	case pending != nil && pending.end():
		err = tools.NewError("shed")
	case err != nil:
		c.cutBody = true
		err = tools.NewError("unauthorized")
	case len(body) > MaxBodyBytes:
		err = tools.NewError("body_too_large")
	default:
		return body, nil
	}
	w.Header().Set("Connection", "close")
	return nil, err
}

// largeBodies pools the buffers of large bodies. One byte more than allowed shows that a body is too long.
var largeBodies = sync.Pool{New: func() any { return new([MaxBodyBytes + 1]byte) }}

// readAll reads a body to its end, or until it is longer than MaxBodyBytes. length is its
// Content-Length, or -1. Only what has arrived makes a body a large one, which takes its place among those
// of pending, if that is not nil: a client cannot reserve memory with a header.
func readAll(from io.Reader, length int64, pending *pendingBody) ([]byte, error) {
	small := smallBodyBytes
	if 0 < length && length < smallBodyBytes {
		small = int(length)
	}
	body := make([]byte, small)
	n, ended, err := fill(body, from)
	if ended || err != nil || int64(n) == length {
		return body[:n], err
	}
	if pending != nil {
		if err := pending.grow(); err != nil {
			return nil, err
		}
	}
	large := largeBodies.Get().(*[MaxBodyBytes + 1]byte)
	defer largeBodies.Put(large)
	copy(large[:], body)
	more, _, err := fill(large[n:], from)
	return bytes.Clone(large[:n+more]), err
}

// fill reads until b is full or the body has ended. io.ReadFull reports the end within b by the error with
// which net/http reports a body that was cut off.
func fill(b []byte, from io.Reader) (n int, ended bool, err error) {
	for n < len(b) {
		more, err := from.Read(b[n:])
		n += more
		if err == io.EOF {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}
