package ws

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/schemas"
)

// sendHandshake sends a handshake with the given headers and returns the response's status
// and body.
func (s *testLane) sendHandshake(h http.Header) (int, string) {
	s.T.Helper()
	r, err := http.NewRequest("GET", s.URL+path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	r.Header = h
	for name, value := range map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		if _, given := h[http.CanonicalHeaderKey(name)]; !given {
			h.Set(name, value)
		}
	}
	status, header, body := s.Send(r)
	if status != 101 && header.Get("Content-Type") != "application/json" {
		s.T.Errorf("%d: content type %q", status, header.Get("Content-Type"))
	}
	return status, body
}

// TestHandshakesRefused checks that each kind of bad handshake is answered with its error
// (docs/rules/events.md#handshake).
func TestHandshakesRefused(t *testing.T) {
	s := newTestLane(t)
	s.FreezeClock() // no request is too old
	k := s.NewKey(1, core.ScopeRead)
	with := func(pairs ...string) http.Header {
		h := s.handshake(k)
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, c := range []struct {
		name   string
		h      http.Header
		status int
		code   string
	}{
		{"no key", http.Header{}, 401, "unauthorized"},
		{"a wrong signature", with(schemas.HeaderSignature, "x"), 401, "unauthorized"},
		{"a foreign origin", with("Origin", "https://evil.example"), 403, "forbidden_origin"},
		{"no read scope", s.handshake(s.NewKey(1, core.ScopeTrade)), 403, "missing_scope"},
		{"another version", with("Sec-WebSocket-Version", "8"), 400, "schema_violation"},
		{"no websocket", with("Upgrade", "h2c"), 400, "schema_violation"},
		{"a short nonce", with("Sec-WebSocket-Key", "c2hvcnQ="), 400, "schema_violation"},
	} {
		if status, body := s.sendHandshake(c.h); status != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, body, c.status, c.code)
		}
	}
	if n, _, _ := s.lane.Usage(); n != 0 || len(s.lane.connsByKey) != 0 {
		t.Error("a rejected handshake still counts as a connection")
	}
}

// TestBrowser checks credentials in a subprotocol, and that the server selects only dx.v1.
func TestBrowser(t *testing.T) {
	s := newTestLane(t)
	s.FreezeClock() // the signature does not grow old
	h := s.handshake(s.NewKey(1, core.ScopeRead))
	mac, _ := base64.StdEncoding.DecodeString(h.Get(schemas.HeaderSignature))
	auth := "dx.auth." + h.Get(schemas.HeaderKey) + "." + h.Get(schemas.HeaderTimestamp) + "." + base64.RawURLEncoding.EncodeToString(mac)
	ws, _, err := websocket.Dial(context.Background(), s.URL+path, &websocket.DialOptions{
		Subprotocols: []string{"dx.v1", auth}, HTTPHeader: http.Header{"Origin": {s.URL}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	if ws.Subprotocol() != "dx.v1" {
		t.Errorf("selected the subprotocol %q, want dx.v1", ws.Subprotocol())
	}
	r := &testReader{t: t, ws: ws}
	r.ask("list_subscriptions", "{}")
}

// TestConnectionsPerKey checks the limit of connections per key, and that a closed connection
// no longer counts (docs/rules/limits.md#sockets).
func TestConnectionsPerKey(t *testing.T) {
	s := newTestLane(t)
	k := s.NewKey(1, core.ScopeRead)
	var all []*testReader
	for range maxConnsPerKey {
		all = append(all, s.dial(k))
	}
	if status, body := s.sendHandshake(s.handshake(k)); status != 429 || !strings.Contains(body, "too_many_connections") {
		t.Errorf("one connection too many: %d %s, want 429 too_many_connections", status, body)
	}
	s.dial(s.NewKey(1, core.ScopeRead)) // another key of the same account
	_ = all[0].ws.Close(websocket.StatusNormalClosure, "")
	// A handshake is answered before its connection is registered, so the number of
	// connections may fall short for a moment; the count by key never does.
	s.eventually(func() bool {
		s.lane.mu.Lock()
		defer s.lane.mu.Unlock()
		return s.lane.connsByKey[k.ID] == maxConnsPerKey-1
	})
	s.dial(k)
}

// TestDraining checks that Close publishes pending events before it closes connections with
// 1012, and that later handshakes are rejected.
func TestDraining(t *testing.T) {
	s := newTestLane(t)
	k := s.NewKey(1, core.ScopeRead)
	r := s.dial(k)
	r.ask("subscribe", `{"channels":["user"]}`)
	s.place(1, 1, 1, "buy yes 10 @ 4700")
	done := make(chan error)
	go func() { done <- s.lane.Close(context.Background()) }()
	r.until("user")
	if code := r.waitClose(); code != 1012 {
		t.Errorf("closed with %d", code)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if status, body := s.sendHandshake(s.handshake(k)); status != 503 || !strings.Contains(body, "draining") {
		t.Errorf("a handshake after Close: %d %s, want 503 draining", status, body)
	}
}
