package client

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// accepted is the response to a handshake with key (RFC 6455, 4.2.2).
func accepted(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n"
}

// TestCutWithinAMessage tests that a connection that ends at any byte of a message, also
// between a frame's head and its payload or between two fragments, delivers nothing and
// is not fatal.
func TestCutWithinAMessage(t *testing.T) {
	whole := []byte("\x01\x0a{\"id\":1,\"t\x80\x0bype\":\"err\"}")
	for cut := range whole {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			sendAndClose(t, conn, rw, append([]byte(accepted(r.Header.Get("Sec-WebSocket-Key"))), whole[:cut]...))
		}))
		err := Must(New(s.URL, "k", make([]byte, 32))).Stream(StreamOptions{Channels: []string{"trades"}}).runConn(t.Context(), func() {})
		if err == nil || errors.Is(err, errNoVenue) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		s.Close()
	}
}

// sendAndClose writes text, reads the peer's command and closes the writing side, so that
// all of text arrives.
func sendAndClose(t *testing.T, conn net.Conn, rw *bufio.ReadWriter, text []byte) {
	if _, err := conn.Write(text); err != nil {
		t.Error(err)
	}
	if _, err := rw.ReadByte(); err != nil {
		t.Error(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	for {
		if _, err := rw.ReadByte(); err != nil {
			return
		}
	}
}
