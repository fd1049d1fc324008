package schemas

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

var thirteen = regexp.MustCompile(`^[0-9]{13}$`)

// FuzzVerify compares Message, Sign and Verify with the standard library. A signature verifies
// if and only if its timestamp has 13 digits, and no other text verifies. The seeds have
// malformed encodings and timestamps, and each part of a request changed after it was signed.
func FuzzVerify(f *testing.F) {
	for _, v := range vectors(f) {
		secret, _ := ParseSecret(v.Secret)
		f.Add(secret, v.Timestamp, v.Method, v.Target, []byte(v.Body), v.Signature)
	}
	v := vectors(f)[3]
	secret, _ := ParseSecret(v.Secret)
	mac, _ := base64.StdEncoding.DecodeString(v.Signature)
	for _, signature := range []string{
		"", strings.TrimRight(v.Signature, "="), base64.URLEncoding.EncodeToString(mac), strings.Repeat("ab", 22), strings.Repeat("ab", 32),
		v.Signature + "\n", v.Signature[:10] + "\n" + v.Signature[11:], v.Signature[:10] + "\n" + v.Signature[10:],
		base64.StdEncoding.EncodeToString(mac[:31]), base64.StdEncoding.EncodeToString(append(mac, 0)), stray(v.Signature),
	} {
		f.Add(secret, v.Timestamp, v.Method, v.Target, []byte(v.Body), signature)
	}
	for _, ts := range []string{"170000000000", "1700000000", "+170000000000", "01700000000002", "", "17000000000٠2", "1700000000003"} {
		f.Add(secret, ts, v.Method, v.Target, []byte(v.Body), v.Signature)
	}
	f.Add(secret, v.Timestamp, "PUT", v.Target, []byte(v.Body), v.Signature)
	f.Add(secret, v.Timestamp, v.Method, v.Target+"?", []byte(v.Body), v.Signature)
	f.Add(secret, v.Timestamp, v.Method, v.Target, []byte(v.Body+" "), v.Signature)
	f.Add(secret, v.Timestamp, v.Method, v.Target, []byte{}, v.Signature)
	f.Add(bytes.Repeat([]byte{7}, sha256.BlockSize+1), v.Timestamp, "post", v.Target, []byte(v.Body), v.Signature)
	f.Fuzz(func(t *testing.T, secret []byte, ts, method, target string, body []byte, signature string) {
		text := ts + "\n" + strings.ToUpper(method) + "\n" + target + "\n" + string(body)
		if got := string(Message(ts, method, target, body)); got != text {
			t.Fatalf("message %q, want %q", got, text)
		}
		m := hmac.New(sha256.New, secret)
		m.Write([]byte(text))
		want := base64.StdEncoding.EncodeToString(m.Sum(nil))
		if got := Sign(secret, ts, method, target, body); got != want {
			t.Fatalf("signature %s, want %s", got, want)
		}
		if Verify(secret, ts, method, target, body, want) != thirteen.MatchString(ts) {
			t.Fatalf("the right signature at %q", ts)
		}
		if signature != want && Verify(secret, ts, method, target, body, signature) {
			t.Fatalf("%q passes for %s", signature, want)
		}
	})
}

// FuzzCursor tests that a cursor returns its position, and that any other text and any
// other binding is bad_cursor.
func FuzzCursor(f *testing.F) {
	f.Add(uint64(12), uint64(1)<<63, "AAAA", []byte{0x80, 0x00})
	f.Add(uint64(0), uint64(0), "", []byte{})
	f.Fuzz(func(t *testing.T, x, y uint64, text string, raw []byte) {
		b := BindCursor(1, "/v1/portfolio/orders", 7, ListOrders{})
		other := BindCursor(1, "/v1/portfolio/orders", 8, ListOrders{})
		c := EncodeCursor(b, x, y)
		var p, q uint64
		if f := DecodeCursor(b, c, &p, &q); f != nil || p != x || q != y {
			t.Fatalf("%d %d came back as %d %d, %v", x, y, p, q, f)
		}
		if f := DecodeCursor(other, c, &p, &q); f == nil || f.Code != "bad_cursor" {
			t.Fatalf("another account: %v", f)
		}
		if f := DecodeCursor(b, text, &p, &q); f == nil && text != EncodeCursor(b, p, q) || f != nil && f.Code != "bad_cursor" {
			t.Fatalf("the cursor %q: %v, want bad_cursor, or the cursor of its own rows", text, f)
		}
		sum := b.digest(raw) // forged positions with a valid digest
		forged := base64.RawURLEncoding.EncodeToString(append(raw[:len(raw):len(raw)], sum[:]...))
		if f := DecodeCursor(b, forged, &p, &q); f == nil {
			again := EncodeCursor(b, p, q)
			var r, s uint64
			if f := DecodeCursor(b, again, &r, &s); f != nil || r != p || s != q || len(again) > len(forged) {
				t.Fatalf("%d %d came back as %d %d, %v", p, q, r, s, f)
			}
		}
	})
}

// FuzzDecodeWSCommand tests that a decoded command encodes to the same command, and that
// every fault has a wscode.
func FuzzDecodeWSCommand(f *testing.F) {
	for _, s := range []string{`{"id":1,"cmd":"subscribe","params":{"channels":["user"]}}`, `{"cmd":"x"}`, `{"id":1,"cmd":"x","x":1}`, `{"id":2147483648,"cmd":"x"}`, `{"params":[]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, fault := DecodeWSCommand(raw)
		if fault != nil {
			if e := WSErrorOf(fault.Code); e.Code == 0 || e.Name == "" {
				t.Fatalf("%v has no wscode", fault)
			}
			return
		}
		text, err := Append(nil, struct {
			ID  Int    `json:"id"`
			Cmd string `json:"cmd"`
		}{c.ID, c.Cmd})
		if err != nil {
			t.Fatal(err)
		}
		if c.Params != nil {
			text = append(append(text[:len(text)-1], `,"params":`...), append(c.Params, '}')...)
		}
		if again, fault := DecodeWSCommand(text); fault != nil || again.ID != c.ID || again.Cmd != c.Cmd || string(again.Params) != string(c.Params) {
			t.Fatalf("%q became %q: %v", raw, text, fault)
		}
	})
}
