package hostile

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

const (
	socketPath = "/v1/ws"
	upgrade    = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)

// TestHandshakes checks that a bad handshake is answered with an HTTP error
// (docs/rules/events.md#handshake).
func TestHandshakes(t *testing.T) {
	d := newTestVenue(t)
	host := strings.TrimPrefix(d.URL, "http://")
	with := func(more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.get(k, socketPath, upgrade+more) }
	}
	instead := func(was, is string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return strings.Replace(d.get(k, socketPath, upgrade), was, is, 1) }
	}
	origin := func(host, origin string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			return strings.Replace(d.get(k, socketPath, upgrade+"Origin: "+origin+"\r\n"), "Host: x", "Host: "+host, 1)
		}
	}
	// offered returns a browser's handshake with a changed offer of subprotocols.
	offered := func(change func(auth string) string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			ts := d.millis(0)
			mac, _ := base64.StdEncoding.DecodeString(schemas.Sign(k.Secret, ts, "GET", socketPath, nil))
			auth := "dx.auth." + k.ID + "." + ts + "." + base64.RawURLEncoding.EncodeToString(mac)
			return "GET " + socketPath + " HTTP/1.1\r\nHost: x\r\n" + upgrade + "Sec-WebSocket-Protocol: " + change(auth) + "\r\n\r\n"
		}
	}
	const no, vague, foreign = "unauthorized", "schema_violation", "forbidden_origin"
	d.runCases(t, []attackCase{
		{"a valid handshake", with(""), 101, ""},
		{"with a signed query", func(k lanetest.Key) string { return d.get(k, socketPath+"?a=b", upgrade) }, 101, ""},
		{"with an unsigned query", instead(socketPath, socketPath+"?a=b"), 401, no},
		{"signed for another path", func(k lanetest.Key) string {
			return "GET " + socketPath + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "GET", "/v1/time", "") + upgrade + "\r\n"
		}, 401, no},
		{"signed as a post", func(k lanetest.Key) string {
			return "GET " + socketPath + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "POST", socketPath, "") + upgrade + "\r\n"
		}, 401, no},
		{"unsigned", func(lanetest.Key) string { return "GET " + socketPath + " HTTP/1.1\r\nHost: x\r\n" + upgrade + "\r\n" }, 401, no},
		{"as a post", func(k lanetest.Key) string { return d.post(k, "POST", socketPath, "", upgrade) }, 405, "method_not_allowed"},
		{"with a body", func(k lanetest.Key) string { return d.post(k, "GET", socketPath, "{}", upgrade) }, 400, "unexpected_body"},
		{"on HTTP/1.0", instead("HTTP/1.1", "HTTP/1.0"), 400, vague},
		{"on another path", func(k lanetest.Key) string { return d.get(k, "/v1/time", upgrade) }, 200, ""},
		{"on a path with a slash", func(k lanetest.Key) string { return d.get(k, socketPath+"/", upgrade) }, 404, "not_found"},
		{"no upgrade", instead("Upgrade: websocket\r\n", ""), 400, vague},
		{"no connection", instead("Connection: Upgrade\r\n", ""), 400, vague},
		{"another protocol", instead("Upgrade: websocket", "Upgrade: spdy/3.1"), 400, vague},
		{"no version", instead("Sec-WebSocket-Version: 13\r\n", ""), 400, vague},
		{"version 0", instead("Version: 13", "Version: 0"), 400, vague},
		{"version 013", instead("Version: 13", "Version: 013"), 400, vague},
		{"no nonce", instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""), 400, vague},
		{"a long nonce", instead("dGhlIHNhbXBsZSBub25jZQ==", strings.Repeat("QUJD", 100)), 400, vague},
		{"a nonce that is no base64", instead("dGhlIHNhbXBsZSBub25jZQ==", "................"), 400, vague},
		{"two nonces", with("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), 400, vague},
		{"an extension that would inflate", with("Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99\r\n"), 101, ""},
		{"protocols that are none of ours", with("Sec-WebSocket-Protocol: mqtt, graphql-ws\r\n"), 101, ""},

		{"its own origin", origin(host, "http://"+host), 101, ""},
		{"a foreign page's origin", origin(host, "https://evil.example"), 403, foreign},
		{"an origin that begins with the host", origin(host, "http://"+host+".evil.example"), 403, foreign},
		{"an origin with the host as its user", origin(host, "http://"+host+"@evil.example"), 403, foreign},
		{"an origin with the host as its path", origin(host, "http://evil.example/"+host), 403, foreign},
		{"a null origin", origin(host, "null"), 403, foreign},
		{"an empty origin", origin(host, ""), 403, foreign},
		{"two origins", origin(host, "http://"+host+"\r\nOrigin: https://evil.example"), 403, foreign},
		{"a rebound name as host and origin, signed", origin("evil.example", "http://evil.example"), 101, ""}, // a page has no key to sign with
		{"a rebound name as host and origin, unsigned", func(lanetest.Key) string {
			return "GET " + socketPath + " HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n" + upgrade + "\r\n"
		}, 401, no},

		{"a browser", offered(func(a string) string { return "dx.v1, " + a }), 101, ""},
		{"a browser without dx.v1", offered(func(a string) string { return a }), 401, no},
		{"a browser with padding", offered(func(a string) string { return "dx.v1, " + a + "=" }), 401, no},
		{"a browser with a dot more", offered(func(a string) string { return "dx.v1, " + a + "." }), 401, no},
		{"a browser without a signature", offered(func(a string) string { return "dx.v1, " + a[:strings.LastIndex(a, ".")] }), 401, no},
		{"a browser with an empty signature", offered(func(a string) string { return "dx.v1, " + a[:strings.LastIndex(a, ".")+1] }), 401, no},
		{"a browser with only a key", offered(func(a string) string { return "dx.v1, " + a[:strings.Index(a[8:], ".")+8] }), 401, no},
		{"a browser with a changed key", offered(func(a string) string {
			end := strings.Index(a[8:], ".") + 8
			return "dx.v1, " + a[:end-1] + "x" + a[end:]
		}), 401, no},
		{"a browser with nothing", offered(func(string) string { return "dx.v1, dx.auth..." }), 401, no},
		{"a browser twice", offered(func(a string) string { return "dx.v1, " + a + "\r\nSec-WebSocket-Protocol: " + a }), 401, no},
		{"a browser twice in one header", offered(func(a string) string { return "dx.v1, " + a + ", " + a }), 401, no},
		{"a browser beside a header", offered(func(a string) string { return "dx.v1, " + a + "\r\nDX-ACCESS-KEY: x" }), 401, no},
		{"a browser whose prefix is in capitals", offered(func(a string) string { return "dx.v1, DX.AUTH" + a[7:] }), 401, no},
		{"a browser on another path", func(k lanetest.Key) string {
			return strings.Replace(offered(func(a string) string { return "dx.v1, " + a })(k), socketPath, "/v1/time", 1)
		}, 401, no},
	})
}

// testSocket is a WebSocket connection of a test.
type testSocket struct {
	t  *testing.T
	ws *websocket.Conn
}

func (d *testVenue) dialSocket(t *testing.T, k lanetest.Key) *testSocket {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	r := d.SignedRequest(k, "GET", socketPath, nil)
	ws, _, err := websocket.Dial(ctx, d.URL+socketPath, &websocket.DialOptions{HTTPHeader: http.Header(r.Header), HTTPClient: &http.Client{Transport: d}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &testSocket{t, ws}
}

// command sends a message and returns its answer: the type, the name of the error, and the
// text.
func (x *testSocket) command(text string) (typ, name, got string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := x.ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		x.t.Fatal(err)
	}
	for {
		_, b, err := x.ws.Read(ctx)
		if err != nil {
			x.t.Fatal(err)
		}
		var m struct {
			Type string
			Msg  struct{ Name string }
		}
		if err := json.Unmarshal(b, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			x.t.Fatalf("not a message: %s: %v", b, err)
		}
		switch m.Type {
		case "error", "ok", "subscribed", "unsubscribed": // other types are no answers
			return m.Type, m.Msg.Name, string(b)
		}
	}
}

// TestCommands checks that a malformed command gets its wscode, leaves the connection open and
// leaves the subscriptions unchanged (docs/rules/events.md#wscodes).
func TestCommands(t *testing.T) {
	d := newTestVenue(t)
	k := d.NewKey(1, core.ScopeRead)
	x := d.dialSocket(t, k)
	const listed = `{"id":1,"cmd":"list_subscriptions"}`
	if typ, _, got := x.command(`{"id":1,"cmd":"subscribe","params":{"channels":["trades"],"market_ids":[1]}}`); typ != "subscribed" {
		t.Fatal(got)
	}
	_, _, subscriptions := x.command(listed)
	before := d.state()
	sub := func(params string) string { return `{"id":1,"cmd":"subscribe","params":` + params + `}` }
	type commandCase struct{ text, name string }
	const bad, params, market = "malformed_json", "bad_params", "unknown_market"
	table := []commandCase{
		{``, bad}, {` `, bad}, {`[]`, bad}, {`null`, bad}, {`"x"`, bad}, {`{}{}`, bad}, {`{}`, params}, {"{}\x00", bad}, {"\ufeff{}", bad},
		{`{"id":1,"id":2,"cmd":"list_subscriptions"}`, bad}, {`{"id":1,"cmd":"list_subscriptions","\u0063md":"x"}`, bad},
		{`{"id":1,"cmd":"list\ud800"}`, bad}, {strings.Repeat(`{"a":`, 10_500) + "1" + strings.Repeat("}", 10_500), bad},
		{`{"id":1,"cmd":"list_subscriptions","x":1}`, params}, {`{"id":1,"Cmd":"list_subscriptions"}`, params}, {`{"id":1,"cmd":"list_subscriptions","jsonrpc":"2.0"}`, params},
		{`{"id":1,"cmd":"LIST_SUBSCRIPTIONS"}`, "unknown_command"}, {`{"id":1,"cmd":"list_subscriptions\u0000"}`, "unknown_command"}, {`{"id":1,"cmd":"place_order","params":{}}`, "unknown_command"},
		{`{"id":1,"cmd":["subscribe"]}`, params}, {`{"id":1,"cmd":null}`, params}, {`{"id":1,"cmd":""}`, "unknown_command"}, {`{"id":1,"cmd":"subscribe","params":[]}`, params}, {`{"id":1,"cmd":"subscribe","params":null}`, params},
		{sub(`{}`), params}, {sub(`{"channels":"trades"}`), params}, {sub(`{"channels":[]}`), params}, {sub(`{"channels":[null]}`), "unknown_channel"},
		{sub(`{"channels":["ticker"]}`), "unknown_channel"}, {sub(`{"channels":["Trades"]}`), "unknown_channel"}, {sub(`{"channels":["user\u0000"]}`), "unknown_channel"}, {sub(`{"channels":["uѕer"]}`), "unknown_channel"},
		{sub(`{"channels":["trades"]}`), "already_subscribed"}, {sub(`{"channels":["rounds","rounds"]}`), "already_subscribed"}, {sub(`{"channels":["rounds","ticker"]}`), "unknown_channel"},
		{sub(`{"channels":["rounds","rounds","rounds","rounds","rounds","rounds","rounds"]}`), "already_subscribed"}, {sub(`{"channels":[` + strings.Repeat(`"rounds",`, 64) + `"rounds"]}`), params},
		{sub(`{"channels":["user"],"since_seq":1}`), params}, {sub(`{"channels":["user"],"since_seq":"-1"}`), params}, {sub(`{"channels":["user"],"since_seq":"18446744073709551616"}`), params},
		{sub(`{"channels":["rounds"],"since_seq":"1"}`), params}, {sub(`{"channels":["user"],"user_id":2}`), params}, {sub(`{"channels":["rounds"],"market_ids":[` + strings.Repeat("1,", 64) + `1]}`), params},
		{`{"id":1,"cmd":"unsubscribe","params":{"sids":[]}}`, params}, {`{"id":1,"cmd":"unsubscribe","params":{"sids":[2]}}`, "unknown_sid"}, {`{"id":1,"cmd":"unsubscribe","params":{"sids":[1,1]}}`, "unknown_sid"},
		{`{"id":1,"cmd":"unsubscribe","params":{"sids":[4294967297]}}`, "unknown_sid"}, {`{"id":1,"cmd":"unsubscribe","params":{"sids":[9223372036854775808]}}`, "unknown_sid"}, {`{"id":1,"cmd":"unsubscribe","params":{"sids":["1"]}}`, params},
		{`{"id":1,"cmd":"update_subscription","params":{"sid":4294967297,"action":"add_markets","market_ids":[2]}}`, "unknown_sid"},
		{`{"id":1,"cmd":"update_subscription","params":{"sid":1,"action":"burn"}}`, "unsupported_action"}, {`{"id":1,"cmd":"update_subscription","params":{"sid":1,"action":"add_markets"}}`, params},
		{`{"id":1,"cmd":"list_subscriptions","params":{"sid":1}}`, params},
	}
	for _, e := range edgeNumbers {
		name := market // no integer of the list is a market that has opened
		switch {
		case !e.json:
			name = bad
		case !e.whole:
			name = params
		}
		table = append(table, commandCase{sub(`{"channels":["rounds"],"market_ids":[` + e.text + `]}`), name})
		if name == market && !strings.HasPrefix(e.text, "2147483647") {
			name = params
		}
		if e.text != "2147483647" {
			table = append(table, commandCase{`{"id":` + e.text + `,"cmd":"list_subscriptions"}`, name})
		}
	}
	for _, c := range table {
		if c.text == sub(`{"channels":["rounds"],"market_ids":[]}`) {
			continue // valid: an empty list means all markets
		}
		if typ, name, got := x.command(c.text); typ != "error" || name != c.name {
			t.Errorf("%.80s: %s, want %s", c.text, got, c.name)
		}
		if _, _, got := x.command(listed); got != subscriptions {
			t.Errorf("after %.80s: %s", c.text, got)
		}
	}
	d.checkUnchanged(t, before)
}

// TestSocketsOfAccounts checks that a resume delivers no event of another account.
func TestSocketsOfAccounts(t *testing.T) {
	d := newTestVenue(t)
	d.placed(t, d.NewKey(1, everyone), "7")
	x := d.dialSocket(t, d.NewKey(2, core.ScopeRead))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := x.ws.Write(ctx, websocket.MessageText, []byte(`{"id":1,"cmd":"subscribe","params":{"channels":["user"],"since_seq":"0"}}`)); err != nil {
		t.Fatal(err)
	}
	if err := x.ws.Write(ctx, websocket.MessageText, []byte(`{"id":2,"cmd":"list_subscriptions"}`)); err != nil {
		t.Fatal(err)
	}
	for {
		_, b, err := x.ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `"order"`) || strings.Contains(string(b), `"client_order_id"`) {
			t.Errorf("an event of another account: %s", b)
		}
		if strings.Contains(string(b), `"subscriptions"`) {
			return
		}
	}
}
