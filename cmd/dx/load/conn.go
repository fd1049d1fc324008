package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"duplex/schemas"
)

// rawConn is one kept-alive HTTP connection. It is written by hand because the processor
// time that net/http spends on a request would be missing at the venue beside it. It is
// not safe for concurrent use.
type rawConn struct {
	conn   net.Conn
	r      *bufio.Reader
	host   string
	key    string
	secret []byte
	buf    []byte
	body   []byte
}

func newRawConn(c net.Conn, host string, as *trader) *rawConn {
	return &rawConn{conn: c, r: bufio.NewReaderSize(c, 16<<10), host: host, key: as.key, secret: as.secret}
}

// send signs and sends a request and reads the response. The body is valid until the next
// request.
func (w *rawConn) send(method, target string, body []byte) (status int, answer []byte, err error) {
	return w.sendWith("", method, target, body)
}

// sendWith is send with more header lines, each of which ends in CRLF.
func (w *rawConn) sendWith(headers, method, target string, body []byte) (status int, answer []byte, err error) {
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	w.buf = fmt.Appendf(w.buf[:0], "%s %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n", method, target, w.host,
		schemas.HeaderKey, w.key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(w.secret, ts, method, target, body))
	if len(body) > 0 {
		w.buf = fmt.Appendf(w.buf, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.buf = append(append(append(w.buf, headers...), "\r\n"...), body...)
	if _, err := w.conn.Write(w.buf); err != nil {
		return 0, nil, err
	}
	return w.readResponse()
}

func (w *rawConn) readResponse() (status int, answer []byte, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		if first {
			if len(line) < 12 {
				return 0, nil, fmt.Errorf("not HTTP: %q", line)
			}
			status, err = strconv.Atoi(string(line[9:12]))
			if err != nil {
				return 0, nil, err
			}
			continue
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := strings.Cut(string(line), ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, nil, err
			}
		}
	}
	w.body = slices.Grow(w.body[:0], length)[:length]
	_, err = io.ReadFull(w.r, w.body)
	return status, w.body, err
}

// getJSON decodes the response to a GET. A status other than 200 is a *statusError.
func (w *rawConn) getJSON(target string, into any) error {
	status, body, err := w.send("GET", target, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return &statusError{target, status, string(body)}
	}
	return json.Unmarshal(body, into)
}

// statusError is a response without the expected status.
type statusError struct {
	target string
	status int
	body   string
}

func (r *statusError) Error() string {
	return fmt.Sprintf("GET %s: %d %s", r.target, r.status, r.body)
}
