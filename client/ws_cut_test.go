package client

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// accepted is the answer to a handshake with key (RFC 6455, 4.2.2).
func accepted(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n"
}

// TestCutWithinAMessage: a connection that ends at any byte of a message broke, and
// nothing was said: also where it ends between a frame's head and its payload, or
// between two fragments.
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
			sayAndLeave(t, conn, rw, append([]byte(accepted(r.Header.Get("Sec-WebSocket-Key"))), whole[:cut]...))
		}))
		err := New(s.URL, "k", make([]byte, 32)).Stream(StreamOptions{Channels: []string{"trades"}}).once(t.Context())
		if err == nil || final(err) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		s.Close()
	}
}

// sayAndLeave writes, reads the command that the peer sends, and ends the stream in
// order, so that all of it arrives.
func sayAndLeave(t *testing.T, conn net.Conn, rw *bufio.ReadWriter, text []byte) {
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
