package gate

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"duplex/tools"
)

// preallocatedBody is the largest Content-Length for which the buffer is allocated before
// the body has arrived.
const preallocatedBody = 1 << 10

var bodyBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readBody reads the whole body within MaxBodyBytes and the given time
// (docs/rules/limits.md#request-size). An incomplete body cannot have a valid signature,
// so it is unauthorized.
//
// A rejected body ends its connection. net/http reads up to 256 KiB more of it before it
// closes the connection, so the deadline is set before any check and stays in force.
func readBody(w http.ResponseWriter, r *http.Request, within time.Duration) ([]byte, error) {
	if r.ContentLength == 0 && len(r.TransferEncoding) == 0 {
		return nil, nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a writer without deadlines has its server's ReadTimeout
	if r.ContentLength > MaxBodyBytes {
		return nil, rejectBody(w, "body_too_large")
	}
	body, err := readAll(r)
	switch {
	case err != nil:
		return nil, rejectBody(w, "unauthorized")
	case len(body) > MaxBodyBytes:
		return nil, rejectBody(w, "body_too_large")
	}
	return body, nil
}

func rejectBody(w http.ResponseWriter, code string) error {
	w.Header().Set("Connection", "close")
	return tools.NewError(code)
}

// readAll reads a body to its end, or until it is longer than MaxBodyBytes.
func readAll(r *http.Request) ([]byte, error) {
	if n := r.ContentLength; 0 < n && n <= preallocatedBody {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	buf := bodyBuffers.Get().(*bytes.Buffer)
	defer bodyBuffers.Put(buf)
	buf.Reset()
	_, err := io.Copy(buf, io.LimitReader(r.Body, MaxBodyBytes+1))
	return bytes.Clone(buf.Bytes()), err
}
