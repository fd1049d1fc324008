package mcp

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of in-memory connections.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestQuietStream checks that a stream stays open between two messages however long that is, over
// HTTP/2 too, where the deadline of a write ends the stream when it passes.
func TestQuietStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			e := eventStream{out: w}
			defer e.finish()
			for range 2 {
				if !e.message([]byte("{}")) {
					return
				}
				time.Sleep(10 * writeTimeout)
			}
		})
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Handler: handler, Protocols: protocols}
		accepted := make(pipes)
		go server.Serve(accepted)
		transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			accepted <- far
			return near, nil
		}}
		resp, err := transport.RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
		if err != nil {
			t.Fatal(err)
		}
		var messages int
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if lines.Text() == "data: {}" {
				messages++
			}
		}
		if lines.Err() != nil || messages != 2 || resp.ProtoMajor != 2 {
			t.Errorf("%d messages over %s: %v", messages, resp.Proto, lines.Err())
		}
		transport.CloseIdleConnections()
		server.Close()
	})
}
