package ws

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/tools"
)

const (
	path           = "/v1/ws"
	subprotocol    = "dx.v1"
	authPrefix     = "dx.auth."
	maxConnsPerKey = 20
)

var operation = tools.Spec{Name: "ws", Title: "Event stream", Method: "GET", Path: path, Scope: core.ScopeRead}

// IsHandshake reports whether a request asks for an event stream: an upgrade to WebSocket on the path of
// this lane. Any other request with an Upgrade header is an ordinary one.
func IsHandshake(r *http.Request) bool {
	return r.Method == operation.Method && r.URL.Path == path && hasToken(r.Header, "Connection", "upgrade") && hasToken(r.Header, "Upgrade", "websocket")
}

// hasToken reports whether a header has a token in its list.
func hasToken(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for x := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(x), token) {
				return true
			}
		}
	}
	return false
}

// browserCredentials returns the credentials that a browser sends in a subprotocol, because
// it cannot set headers (docs/rules/events.md#handshake).
func browserCredentials(r *http.Request) (c gate.Credentials, ok bool) {
	if r.URL.Path != path {
		return c, false
	}
	var names []string
	for _, h := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(h, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	var auth []string
	for _, n := range names {
		if rest, is := strings.CutPrefix(n, authPrefix); is {
			auth = append(auth, rest)
		}
	}
	if len(auth) != 1 || !slices.Contains(names, subprotocol) {
		return c, false
	}
	parts := strings.Split(auth[0], ".")
	if len(parts) != 3 {
		return c, false
	}
	mac, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	return gate.Credentials{Key: parts[0], Timestamp: parts[1], Signature: base64.StdEncoding.EncodeToString(mac)}, err == nil
}

// ServeHTTP answers a handshake. The connection outlives the call, so the time budget of a
// request does not bound it.
func (l *Lane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := gate.CallOf(r.Context())
	call.Lane, call.Op = "ws", operation.Name
	if err := l.authorize(r, call); err != nil {
		l.gate.WriteError(w, err)
		return
	}
	c := &conn{
		lane: l, call: call, flushed: make(chan struct{}), conflateAt: l.limits.conflateBytes,
		pings: controlLimit(), pongs: controlLimit(), pingEvery: pingEvery,
	}
	c.binding.line = l.engine.Line(l.numbered.Add(1))
	if err := l.reserveConn(c); err != nil {
		l.gate.WriteError(w, err)
		return
	}
	if !l.accept(w, r, c) {
		l.unregister(c)
		return
	}
	go c.serve()
}

func (l *Lane) authorize(r *http.Request, call *gate.Call) error {
	if !l.gate.OriginAllowed(r) {
		return tools.NewError("forbidden_origin")
	}
	if err := l.gate.Authorize(call, &operation); err != nil {
		return err
	}
	if len(call.Body) > 0 {
		return tools.NewError("unexpected_body")
	}
	return nil
}

// accept upgrades the request and registers the connection. It reports whether it succeeded;
// if not, the request is answered.
func (l *Lane) accept(w http.ResponseWriter, r *http.Request, c *conn) bool {
	u := &upgradeWriter{ResponseWriter: w, conn: c}
	ws, err := websocket.Accept(u, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol}, InsecureSkipVerify: true, // authorize has checked the Origin
		OnPingReceived: func(context.Context, []byte) bool { return c.ping() },
		OnPongReceived: func(_ context.Context, payload []byte) { c.pong(payload) },
	})
	if err != nil {
		for _, h := range []string{"Upgrade", "Connection", "X-Content-Type-Options"} {
			w.Header().Del(h)
		}
		if u.rejected {
			l.gate.WriteError(w, tools.NewError("schema_violation"))
		}
		return false
	}
	ws.SetReadLimit(maxMessageBytes)
	c.ws = ws
	l.register(c)
	return true
}
