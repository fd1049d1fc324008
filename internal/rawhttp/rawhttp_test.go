package rawhttp

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"duplex/schemas"
)

// TestConn sends two requests over one connection to net/http, which checks the signatures.
func TestConn(t *testing.T) {
	s, from := Signer{Key: "k", Secret: []byte("secret")}, ""
	v := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		ts := r.Header.Get(schemas.HeaderTimestamp)
		if from = cmp.Or(from, r.RemoteAddr); err != nil || r.RemoteAddr != from || r.Host != s.Host || r.Header.Get("A") != "b" || r.Header.Get(schemas.HeaderKey) != "k" ||
			r.Header.Get(schemas.HeaderSignature) != schemas.Sign(s.Secret, ts, "POST", "/v1/x?y=1", body) {
			t.Errorf("%+v %q, %v", r, body, err)
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(body) // the client fails if it does not arrive
	}))
	defer v.Close()
	s.Host = v.Listener.Addr().String()
	c, err := Dial(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"long":1}`, "{}"} {
		if status, answer, err := c.Do("POST", "/v1/x?y=1", "A: b\r\n", []byte(body)); status != http.StatusTeapot || string(answer) != body || err != nil {
			t.Errorf("%d %q, %v", status, answer, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Do("GET", "/", "", nil); err == nil {
		t.Error("a closed connection sends a request")
	}
}

// TestResponses reads two responses from one connection, a handshake, and what is none.
func TestResponses(t *testing.T) {
	r := bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\nHTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"))
	for _, want := range []struct {
		status int
		body   string
	}{{200, "{}"}, {404, ""}, {101, ""}} {
		if status, body, err := ReadResponse(r, nil); status != want.status || string(body) != want.body || err != nil {
			t.Errorf("%d %q, %v; want %+v", status, body, err, want)
		}
	}
	if _, _, err := ReadResponse(r, nil); err == nil {
		t.Error("a response without a length is read")
	}
	if _, _, err := ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.1\n")), nil); err == nil {
		t.Error("what is not HTTP is read")
	}
}

// TestClientFrame checks the two forms of a length.
func TestClientFrame(t *testing.T) {
	if got := ClientFrame(0x81, []byte("ab")); string(got) != "\x81\x82\x00\x00\x00\x00ab" {
		t.Errorf("%q", got)
	}
	if got := ClientFrame(0x81, make([]byte, 300)); string(got[:8]) != "\x81\xfe\x01\x2c\x00\x00\x00\x00" || len(got) != 308 {
		t.Errorf("%q", got[:8])
	}
}
