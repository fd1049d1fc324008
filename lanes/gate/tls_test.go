package gate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"duplex/feeds/adapter/adaptertest"
)

// serveTLS starts a server with TLS on loopback. The pool trusts its certificate, that of package httptest.
func serveTLS(t *testing.T, h http.Handler, tune func(*Listener)) (l *Listener, pool *x509.CertPool) {
	t.Helper()
	return serveTLSOn(t, listen(t), h, tune)
}

func serveTLSOn(t *testing.T, raw net.Listener, h http.Handler, tune func(*Listener)) (l *Listener, pool *x509.CertPool) {
	t.Helper()
	other := httptest.NewTLSServer(nil)
	other.Close()
	pool = x509.NewCertPool()
	pool.AddCert(other.Certificate())
	l = WrapTLSListener(raw, &tls.Config{Certificates: other.TLS.Certificates, NextProtos: []string{"other"}, SessionTicketsDisabled: true}, Places{})
	if tune != nil {
		tune(l)
	}
	serveOn(t, Server(h, slog.New(slog.DiscardHandler)), l)
	return l, pool
}

// dialTLS opens a TLS connection with one protocol and a deadline of 20 s.
func dialTLS(t *testing.T, l *Listener, pool *x509.CertPool, protocol string) *tls.Conn {
	t.Helper()
	return handshake(t, dial(t, l.Addr().String()), pool, protocol)
}

func handshake(t *testing.T, raw net.Conn, pool *x509.CertPool, protocol string) *tls.Conn {
	t.Helper()
	c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: []string{protocol}})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := c.ConnectionState().NegotiatedProtocol; got != protocol {
		t.Fatalf("protocol %q instead of %q", got, protocol)
	}
	return c
}

// TestTLSProtocols sends requests over HTTP/1.1 and HTTP/2. A DELETE has a signed body, and
// the rules of the plain listener for ambiguous and malformed requests hold over TLS.
func TestTLSProtocols(t *testing.T) {
	g := bareGate()
	echo := g.Guard("portal", func(*http.Request, *Call) error { return nil }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.Method+" "+string(CallOf(r.Context()).Body)) // the client's read fails if this does
	}))
	l, pool := serveTLS(t, echo, nil)
	for _, h2 := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!h2)
		protocols.SetHTTP2(h2)
		c := &http.Client{Transport: &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: pool}}}
		body := strings.Repeat("b", MaxBodyBytes)
		for n, want := range map[int]int{MaxBodyBytes: 200, 3: 200, 0: 200} {
			req, err := http.NewRequest(http.MethodDelete, "https://"+l.Addr().String()+"/", strings.NewReader(body[:n]))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			text := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2] + " DELETE " + body[:n]
			if err != nil || resp.StatusCode != want || string(b) != text {
				t.Errorf("h2 %v, %d bytes: %s, %d bytes, %v", h2, n, resp.Status, len(b), err)
			}
		}
		req, _ := http.NewRequest(http.MethodPost, "https://"+l.Addr().String()+"/", strings.NewReader(body+"b"))
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 413 || !bytes.Contains(b, []byte(`"body_too_large"`)) {
			t.Errorf("h2 %v: %s %s", h2, resp.Status, b)
		}
		c.CloseIdleConnections()
	}
	for head, status := range map[string]string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": "400 ",
		"GET / HTTP/9.9\r\n\r\n": "505 ",
	} {
		c := dialTLS(t, l, pool, "http/1.1")
		_, _ = io.WriteString(c, head) // the response shows whether it arrived
		b, _ := io.ReadAll(c)          // to the end of the connection
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 "+status)) || !bytes.Contains(b, []byte(`"schema_violation"`)) {
			t.Errorf("%q over TLS: %s, want %sand schema_violation", head, b, status)
		}
	}
}

// TestPlainRequestToTLS checks that a request without TLS gets a response that says so, and that other bytes get none.
func TestPlainRequestToTLS(t *testing.T) {
	l, _ := serveTLS(t, http.NotFoundHandler(), nil)
	for head, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n": "HTTP/1.1 400 Bad Request\r\n", "POST /v1/time HTTP/1.1\r\n\r\n": "HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-x\r\n": "",
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, head) // the response shows whether it arrived
		b, _ := io.ReadAll(c)
		_ = c.Close()
		if want == "" && strings.HasPrefix(string(b), "HTTP") || !strings.HasPrefix(string(b), want) {
			t.Errorf("%q: %q, want %q", head, b, want)
		}
	}
}

// TestHandshakes checks that connections without a handshake end, free their places and
// delay nobody.
func TestHandshakes(t *testing.T) {
	const within = 3 * time.Second
	l, pool := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}), func(l *Listener) { l.tls.within = within })
	var silent []net.Conn
	for range 20 {
		silent = append(silent, dial(t, l.Addr().String()))
	}
	plain := dial(t, l.Addr().String())
	_, _ = io.WriteString(plain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	all, failed := append(silent, plain), uint64(21)
	for _, protocol := range []string{"other", "http/1.1"} {
		for {
			begun := time.Now()
			raw := dial(t, l.Addr().String())
			all = append(all, raw)
			// In TLS 1.2 the client's handshake ends after the listener's.
			c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: []string{protocol}, MaxVersion: tls.VersionTLS12})
			err := c.Handshake()
			if err == nil && protocol != "other" {
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				var b []byte
				if b, err = io.ReadAll(c); err == nil && !bytes.HasPrefix(b, []byte("HTTP/1.1 200")) {
					t.Errorf("the response over %s: %s, want 200", protocol, b)
				}
			}
			if err != nil && time.Since(begun) >= within { // the machine was held up
				failed++
				continue
			}
			if err != nil {
				t.Errorf("a connection over %s: %v", protocol, err)
			}
			break
		}
	}
	for _, c := range all { // a place is free before its client sees the end
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection is open still: %v", err)
		}
	}
	// A handshake that takes too long is counted after its client has seen the end.
	for end := time.Now().Add(3 * time.Minute); l.FailedHandshakes() < failed && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if l.Conns() != 0 || l.FailedHandshakes() != failed {
		t.Errorf("%d connections, %d failed handshakes", l.Conns(), l.FailedHandshakes())
	}
}

// h2Client speaks HTTP/2 by hand, to send what no client library sends.
type h2Client struct {
	*http2.Framer
	conn   net.Conn
	header bytes.Buffer
	stream uint32
}

func newH2Client(t *testing.T, raw net.Conn, pool *x509.CertPool) *h2Client {
	t.Helper()
	c := &h2Client{conn: handshake(t, raw, pool, "h2")}
	c.Framer = http2.NewFramer(c.conn, c.conn)
	e := hpack.NewEncoder(&c.header)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "x"}, {Name: ":path", Value: "/"}} {
		if err := e.WriteField(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(c.conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	c.stream = 1
	return c
}

// request opens the next stream.
func (c *h2Client) request() (uint32, error) {
	id := c.stream
	c.stream += 2
	return id, c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.header.Bytes(), EndStream: true, EndHeaders: true})
}

// status reads up to the next answer and returns its status.
func (c *h2Client) status(t *testing.T) string {
	t.Helper()
	if c.ReadMetaHeaders == nil {
		c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	}
	for {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatalf("no further answer: %v", err)
		}
		if answer, ok := f.(*http2.MetaHeadersFrame); ok {
			return answer.PseudoValue("status")
		}
	}
}

// TestStreamFloods sends the floods that HTTP/2 is known for. The connection that sends one
// must end, it must never run more than MaxStreams handlers, and another one must still be
// served (docs/rules/limits.md#connections).
func TestStreamFloods(t *testing.T) {
	floods := map[string]func(c *h2Client) error{
		"rapid reset": func(c *h2Client) error {
			id, err := c.request()
			if err != nil {
				return err
			}
			return c.WriteRSTStream(id, http2.ErrCodeCancel)
		},
		"continuation": func(c *h2Client) error {
			if c.stream == 1 {
				c.stream += 2
				return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.header.Bytes(), EndStream: true})
			}
			return c.WriteContinuation(1, false, bytes.Repeat([]byte("\x00\x01a\x01b"), 1000))
		},
		"streams": func(c *h2Client) error { _, err := c.request(); return err },
		"pings":   func(c *h2Client) error { return c.WritePing(false, [8]byte{}) },
	}
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			var running, most atomic.Int64
			release := make(chan struct{})
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/good" {
					return
				}
				for n := running.Add(1); ; {
					m := most.Load()
					if n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				<-release // also after the client has reset its stream, as a placement does
				running.Add(-1)
			})
			raw, dialTo := listen(t), new(net.Dialer).DialContext
			// A frame of these two has an answer, and the connection ends at 10,000 of them that nobody reads. The
			// kernel takes those to 400,000 frames, and then may refuse the acknowledgments that come with them,
			// so that the flood itself stands still. In memory nothing takes them.
			if name == "streams" || name == "pings" {
				wire := adaptertest.NewWire()
				raw, dialTo = wire, wire.Dial
			}
			l, pool := serveTLSOn(t, raw, h, nil)
			defer close(release)
			toServer := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialTo(ctx, "tcp", l.Addr().String()) }
			conn, err := toServer(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			c := newH2Client(t, conn, pool)
			sent := 0
			for ; err == nil && sent < 1_000_000; sent++ { // without reading: the server must not wait for that
				err = flood(c)
			}
			if err == nil {
				t.Errorf("after %d the connection is open", sent)
			}
			if n := most.Load(); n > MaxStreams {
				t.Errorf("%d handlers at once", n)
			}
			t.Logf("ended after %d, %d handlers at once", sent, most.Load())
			good := &http.Client{Transport: &http.Transport{DialContext: toServer, TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
			defer good.CloseIdleConnections()
			resp, err := good.Get("https://127.0.0.1/good")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
				t.Error(resp.Status, resp.Proto)
			}
		})
	}
}
