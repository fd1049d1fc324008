package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"duplex/internal/rawhttp"
)

// rawConn is one kept-alive HTTP connection. It is not safe for concurrent use.
type rawConn struct {
	conn   net.Conn
	r      *bufio.Reader
	signer rawhttp.Signer
	buf    []byte
	body   []byte
}

func newRawConn(c net.Conn, host string, as *trader) *rawConn {
	return &rawConn{conn: c, r: bufio.NewReaderSize(c, 16<<10), signer: rawhttp.Signer{Key: as.key, Secret: as.secret, Host: host}}
}

// send signs and sends a request and reads the response. The body is valid until the next
// request.
func (w *rawConn) send(method, target string, body []byte) (status int, answer []byte, err error) {
	return w.sendWith("", method, target, body)
}

// sendWith is send with more header lines, each of which ends in CRLF.
func (w *rawConn) sendWith(headers, method, target string, body []byte) (status int, answer []byte, err error) {
	w.buf = w.signer.AppendRequest(w.buf[:0], method, target, headers, body)
	if _, err := w.conn.Write(w.buf); err != nil {
		return 0, nil, err
	}
	status, w.body, err = rawhttp.ReadResponse(w.r, w.body)
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
