// Package rawhttp writes signed requests and reads responses by hand, for programs that load a venue:
// the processor time that net/http and a WebSocket library spend would be missing at the venue beside
// them.
package rawhttp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"duplex/schemas"
)

// Upgrade are the header lines of a WebSocket handshake, beside those of the signature.
const Upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// Signer signs requests with one key.
type Signer struct {
	Key    string
	Secret []byte
	Host   string // of the request, host:port
}

// AppendRequest appends a request that is signed now. Each line of headers ends in CRLF.
func (s *Signer) AppendRequest(b []byte, method, target, headers string, body []byte) []byte {
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	b = fmt.Appendf(b, "%s %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n%s", method, target, s.Host,
		schemas.HeaderKey, s.Key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(s.Secret, ts, method, target, body), headers)
	if len(body) > 0 {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(b, "\r\n"...), body...)
}

// Conn is a kept-alive connection that signs its requests with one key. It is not safe for concurrent
// use. After an error of Do or RoundTrip it can only be closed.
type Conn struct {
	net.Conn               // must not be read: R may have its next bytes
	R        *bufio.Reader // reads what follows a response, such as the frames of a WebSocket
	signer   Signer
	request  []byte
	body     []byte
}

// Dial connects to s.Host.
func Dial(s Signer) (*Conn, error) {
	c, err := net.Dial("tcp", s.Host)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, R: bufio.NewReaderSize(c, 16<<10), signer: s}, nil
}

// Do signs and sends a request, as AppendRequest does, and reads the response, as ReadResponse does.
// The response's body is valid until the next request. A status is not an error.
func (c *Conn) Do(method, target, headers string, body []byte) (status int, answer []byte, err error) {
	c.request = c.signer.AppendRequest(c.request[:0], method, target, headers, body)
	return c.RoundTrip(c.request)
}

// RoundTrip is Do with the bytes of a request.
func (c *Conn) RoundTrip(request []byte) (status int, answer []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	status, c.body, err = ReadResponse(c.R, c.body)
	return status, c.body, err
}

// ReadResponse reads one response. It returns the body in b, grown if necessary; it has no body if the
// status is 101, and must have a Content-Length otherwise.
func ReadResponse(r *bufio.Reader, b []byte) (status int, body []byte, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, b, err
	}
	if len(line) < 12 {
		return 0, b, fmt.Errorf("not HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, b, err
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, b, err
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := strings.Cut(string(line), ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, b, err
			}
		}
	}
	switch {
	case status == 101:
		length = 0
	case length < 0:
		return 0, b, errors.New("a response without Content-Length")
	}
	body = slices.Grow(b[:0], length)[:length]
	_, err = io.ReadFull(r, body)
	return status, body, err
}

// ClientFrame returns a client's WebSocket frame of up to 65,535 bytes, with a mask of zero. op is the
// first byte of the frame, such as 0x81 for a text.
func ClientFrame(op byte, text []byte) []byte {
	b := []byte{op, 0x80 | byte(len(text))}
	if len(text) > 125 {
		b = binary.BigEndian.AppendUint16([]byte{op, 0x80 | 126}, uint16(len(text)))
	}
	return append(append(b, 0, 0, 0, 0), text...)
}
