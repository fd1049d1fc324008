package hostile

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

const balance = "/v1/portfolio/balance"

// TestSigning checks that every kind of wrong signature gets the same 401, and that both ends
// of the time window are exact (docs/rules/accounts.md#signing).
func TestSigning(t *testing.T) {
	d := newTestVenue(t)
	at := func(k lanetest.Key, ts string) string {
		return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + lines(k.ID, ts, schemas.Sign(k.Secret, ts, "GET", balance, nil)) + "\r\n"
	}
	off := func(ms int) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return at(k, d.millis(time.Duration(ms)*time.Millisecond)) }
	}
	stamped := func(change func(ts string) string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return at(k, change(d.millis(0))) }
	}
	signed := func(change func(sig string) string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			ts := d.millis(0)
			return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + lines(k.ID, ts, change(schemas.Sign(k.Secret, ts, "GET", balance, nil))) + "\r\n"
		}
	}
	keyed := func(change func(id string) string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			ts := d.millis(0)
			return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + lines(change(k.ID), ts, schemas.Sign(k.Secret, ts, "GET", balance, nil)) + "\r\n"
		}
	}
	// over returns a read of the balance with the signature of another request.
	over := func(method, target, body string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, method, target, body) + "\r\n"
		}
	}
	with := func(more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.get(k, balance, more) }
	}
	again := func(name string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			for line := range strings.Lines(d.signatureHeaders(k, "GET", balance, "")) {
				if strings.HasPrefix(line, name) {
					return d.get(k, balance, line)
				}
			}
			return ""
		}
	}
	mac := func(sig string) []byte { b, _ := base64.StdEncoding.DecodeString(sig); return b }
	const no = "unauthorized"
	d.runCases(t, []attackCase{
		{"a valid signature", with(""), 200, ""},
		{"at the old edge", off(-5000), 200, ""},
		{"past the old edge", off(-5001), 401, no},
		{"at the new edge", off(5000), 200, ""},
		{"past the new edge", off(5001), 401, no},
		{"an hour ahead", off(3_600_000), 401, no},
		{"at the epoch", func(k lanetest.Key) string { return at(k, "0000000000000") }, 401, no},
		{"at the end of time", func(k lanetest.Key) string { return at(k, "9999999999999") }, 401, no},
		{"2^63 ms", func(k lanetest.Key) string { return at(k, "9223372036854775808") }, 401, no},
		{"a stamp in seconds", stamped(func(s string) string { return s[:10] }), 401, no},
		{"a stamp in nanoseconds", stamped(func(s string) string { return s + "000000" }), 401, no},
		{"a leading zero", stamped(func(s string) string { return "0" + s }), 401, no},
		{"a leading plus", stamped(func(s string) string { return "+" + s }), 401, no},
		{"a plus for a digit", stamped(func(s string) string { return "+" + s[1:] }), 401, no},
		{"a minus", stamped(func(s string) string { return "-" + s }), 401, no},
		{"a fraction", stamped(func(s string) string { return s + ".0" }), 401, no},
		{"an underscore", stamped(func(s string) string { return s[:12] + "_" + s[12:] }), 401, no},
		{"hex", stamped(func(s string) string { return "0x" + s[2:] }), 401, no},
		{"an exponent", stamped(func(s string) string { return s[:11] + "e2" }), 401, no},
		{"a space inside", stamped(func(s string) string { return s[:6] + " " + s[7:] }), 401, no},
		{"Arabic digits", stamped(func(s string) string { return s[:12] + "٣" }), 401, no},
		{"full-width digits", stamped(func(s string) string { return "１" + s[1:] }), 401, no},
		{"no stamp", stamped(func(string) string { return "" }), 401, no},
		{"space around the stamp, which HTTP ignores", func(k lanetest.Key) string {
			ts := d.millis(0)
			return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + lines(k.ID, "  "+ts+" ", schemas.Sign(k.Secret, ts, "GET", balance, nil)) + "\r\n"
		}, 200, ""},

		{"another method", over("POST", balance, ""), 401, no},
		{"the method's case is folded", over("get", balance, ""), 200, ""},
		{"another path", over("GET", "/v1/time", ""), 401, no},
		{"the path's case", over("GET", "/V1/portfolio/balance", ""), 401, no},
		{"a query that was not sent", over("GET", balance+"?min_seq=1", ""), 401, no},
		{"an empty query that was not sent", over("GET", balance+"?", ""), 401, no},
		{"a body that was not sent", over("GET", balance, "{}"), 401, no},
		{"a list of cancels that was dropped", func(k lanetest.Key) string {
			const batch = "/v1/portfolio/orders/batch"
			return "DELETE " + batch + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "DELETE", batch, `{"order_ids":["1"]}`) + "\r\n"
		}, 401, no},
		{"an absolute target that was not sent", over("GET", "http://x"+balance, ""), 401, no},
		{"a line feed moved from target to body", over("GET", strings.TrimSuffix(balance, "e"), "e\n"), 401, no},

		{"no signature", signed(func(string) string { return "" }), 401, no},
		{"hex for base64", signed(func(s string) string { return hex.EncodeToString(mac(s)) }), 401, no},
		{"upper-case hex", signed(func(s string) string { return strings.ToUpper(hex.EncodeToString(mac(s))) }), 401, no},
		{"the case of base64", signed(strings.ToLower), 401, no},
		{"31 bytes", signed(func(s string) string { return base64.StdEncoding.EncodeToString(mac(s)[:31]) }), 401, no},
		{"33 bytes", signed(func(s string) string { return base64.StdEncoding.EncodeToString(append(mac(s), 0)) }), 401, no},
		{"twice over", signed(func(s string) string { return s + s }), 401, no},
		{"a space inside the signature", signed(func(s string) string { return s[:20] + " " + s[20:] }), 401, no},
		{"a trailing tab, which HTTP ignores", signed(func(s string) string { return s + "\t" }), 200, ""},
		{"padding as %3D", signed(func(s string) string { return strings.ReplaceAll(s, "=", "%3D") }), 401, no},
		{"a comma list", signed(func(s string) string { return s + ", " + s }), 401, no},
		{"signed with the hex text of the secret", func(k lanetest.Key) string {
			ts := d.millis(0)
			return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + lines(k.ID, ts, schemas.Sign([]byte(hex.EncodeToString(k.Secret)), ts, "GET", balance, nil)) + "\r\n"
		}, 401, no},
		{"signed with an empty secret", func(k lanetest.Key) string {
			ts := d.millis(0)
			return "GET " + balance + " HTTP/1.1\r\nHost: x\r\n" + lines(k.ID, ts, schemas.Sign(nil, ts, "GET", balance, nil)) + "\r\n"
		}, 401, no},

		{"the key in capitals", keyed(strings.ToUpper), 401, no},
		{"no key", keyed(func(string) string { return "" }), 401, no},
		{"the start of a key", keyed(func(s string) string { return s[:len(s)-1] }), 401, no},
		{"a key with a path", keyed(func(s string) string { return "../" + s }), 401, no},
		{"a key of 8 KiB", keyed(func(string) string { return strings.Repeat("k", 8<<10) }), 401, no},
		{"a key with a non-ASCII letter", keyed(func(s string) string { return s + "é" }), 401, no},

		{"the key twice", again(schemas.HeaderKey), 401, no},
		{"the stamp twice", again(schemas.HeaderTimestamp), 401, no},
		{"the signature twice", again(schemas.HeaderSignature), 401, no},
		{"an empty key beside the key", with(schemas.HeaderKey + ":\r\n"), 401, no},
		{"the key twice, in another case", with("dx-access-key: x\r\n"), 401, no},
		{"a header with underscores, which is another header", with("DX_ACCESS_KEY: x\r\n"), 200, ""},
		{"a bearer token, which is ignored", with("Authorization: Bearer x\r\n"), 200, ""},
		{"override headers, which are ignored", with("X-Original-URL: /v1/time\r\nX-HTTP-Method-Override: DELETE\r\n"), 200, ""},
	})
}

// TestDeadKeys checks revoked keys, which get the same answer as unknown ones
// (docs/rules/accounts.md#revocation), and keys of suspended accounts, which may read and
// cancel (docs/rules/accounts.md#suspension).
func TestDeadKeys(t *testing.T) {
	d := newTestVenue(t)
	revoked, suspended := d.NewKey(1, everyone), d.NewKey(2, everyone)
	if got := d.raw(t, d.get(revoked, balance, "")); got.status != 200 {
		t.Fatal(got)
	}
	unknown := d.raw(t, d.get(lanetest.Key{ID: "dxk" + strings.Repeat("0", 24), Secret: revoked.Secret}, balance, ""))
	d.Submit(&core.RevokeKey{User: 1, Key: revoked.ID})
	d.Submit(&core.SuspendUser{User: 2})
	before := d.state()
	for _, target := range []string{balance, "/v1/nothing", "/v1/portfolio/orders/1"} {
		if got := d.raw(t, d.get(revoked, target, "")); got.status != 401 || got.body != unknown.body {
			t.Errorf("a revoked key on %s: %d %s, want %s", target, got.status, got.body, unknown.body)
		}
	}
	if got := d.raw(t, d.post(revoked, "POST", "/v1/portfolio/orders", order("1", ""), "")); got.status != 401 || got.body != unknown.body {
		t.Errorf("a revoked key places: %d %s", got.status, got.body)
	}
	d.checkUnchanged(t, before)
	if got := d.raw(t, d.get(suspended, balance, "")); got.status != 200 {
		t.Errorf("a suspended account reads: %d %s", got.status, got.body)
	}
	for target, body := range map[string]string{
		"/v1/portfolio/orders": order("1", ""), "/v1/withdrawals": `{"client_withdrawal_id":"w","amount":"1","destination":"bank"}`,
	} {
		if got := d.raw(t, d.post(suspended, "POST", target, body, "")); got.status != 403 || got.code() != "user_suspended" {
			t.Errorf("a suspended account on %s: %d %s", target, got.status, got.body)
		}
	}
	if got := d.raw(t, d.post(suspended, "DELETE", "/v1/portfolio/orders", "", "")); got.status != 200 {
		t.Errorf("a suspended account cancels: %d %s", got.status, got.body)
	}
	d.checkServes(t)
}
