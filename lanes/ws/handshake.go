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
	path        = "/v1/ws"
	subprotocol = "dx.v1"
	authPrefix  = "dx.auth."
	perKey      = 20 // connections
)

var facts = tools.Facts{Name: "ws", Title: "Event stream", Method: "GET", Path: path, Scope: core.ScopeRead}

// offered gives the credentials that a browser's handshake brings in a subprotocol,
// since it cannot set headers (contract ws).
func offered(r *http.Request) (c gate.Credentials, ok bool) {
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

// ServeHTTP answers a handshake. The connection goes on after it has returned, so
// the time budget of a request does not bound it.
func (l *Lane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := gate.CallOf(r.Context())
	call.Lane, call.Op = "ws", facts.Name
	if err := l.admit(r, call); err != nil {
		l.gate.Fail(w, err)
		return
	}
	c := &conn{lane: l, call: call, flushed: make(chan struct{}), thinAt: l.bounds.thin}
	if err := l.seat(c); err != nil {
		l.gate.Fail(w, err)
		return
	}
	if !l.accept(w, r, c) {
		l.leave(c)
		return
	}
	go c.serve()
}

func (l *Lane) admit(r *http.Request, call *gate.Call) error {
	if !l.gate.OriginAllowed(r) {
		return tools.Refuse("forbidden_origin")
	}
	if err := l.gate.Admit(call, &facts); err != nil {
		return err
	}
	if len(call.Body) > 0 {
		return tools.Refuse("unexpected_body")
	}
	return nil
}

// accept upgrades the request; false when it was refused.
func (l *Lane) accept(w http.ResponseWriter, r *http.Request, c *conn) bool {
	u := &upgrade{ResponseWriter: w, conn: c}
	ws, err := websocket.Accept(u, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol}, InsecureSkipVerify: true, // the Origin was checked in admit
		OnPongReceived: func(context.Context, []byte) { c.missed.Store(0) },
	})
	if err != nil {
		for _, h := range []string{"Upgrade", "Connection", "X-Content-Type-Options"} {
			w.Header().Del(h)
		}
		if u.refused {
			l.gate.Fail(w, tools.Refuse("schema_violation"))
		}
		return false
	}
	ws.SetReadLimit(messageMax)
	c.ws = ws
	l.enter(c)
	return true
}
