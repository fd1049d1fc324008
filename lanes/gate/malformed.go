package gate

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"duplex/schemas"
)

// net/http rejects some requests itself: a malformed or oversized head, an unknown version,
// transfer coding or expectation. It writes plain text to the connection and closes it.
// framingConn replaces that text by the venue's error body (docs/rules/rest.md#framing).

// Write passes on the bytes of handlers unchanged and replaces error responses of
// net/http: whatever is written while no handler owns the connection is one.
func (c *framingConn) Write(b []byte) (int, error) {
	if c.handling.Load() || c.log == nil {
		return c.Conn.Write(b)
	}
	status, ok := errorStatus(b)
	if !ok {
		return c.Conn.Write(b)
	}
	id := requestID()
	_, reason, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	c.log.Debug("malformed request", "request_id", id, "status", status, "reason", string(reason))
	if _, err := c.Conn.Write(malformed(status, id)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// errorStatus parses the status line at the start of b. ok is false unless it is an HTTP/1
// status of 400 or above.
func errorStatus(b []byte) (status int, ok bool) {
	if len(b) < len("HTTP/1.1 400") || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return 0, false
	}
	status, err := strconv.Atoi(string(b[9:12]))
	return status, err == nil && status >= http.StatusBadRequest
}

// malformed returns the whole response to a malformed request. The status tells the cause;
// the code is schema_violation for all of them.
func malformed(status int, id string) []byte {
	body, err := appendJSON(nil, schemas.ErrorBody{Error: schemas.ErrorOf("schema_violation")})
	if err != nil { // the venue's own types always encode
		panic(err)
	}
	b := make([]byte, 0, 256+len(body))
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(append(b, ' '), http.StatusText(status)...)
	b = append(b, "\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\nDate: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	b = append(append(b, "\r\nX-Request-Id: "...), id...)
	return append(append(b, "\r\n\r\n"...), body...)
}
