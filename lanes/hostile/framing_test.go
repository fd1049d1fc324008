package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"duplex/lanes/lanetest"
)

const preview = "/v1/portfolio/orders/preview"

// chunked returns a body as one chunk.
func chunked(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }

// TestFraming checks that a request with an ambiguous or malformed length is rejected
// (docs/rules/rest.md#framing).
func TestFraming(t *testing.T) {
	d := newTestVenue(t)
	body := order("1", "")
	// framed returns a signed preview with the given framing headers and the given text after
	// the headers.
	framed := func(framing, text string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			return "POST " + preview + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "POST", preview, body) + framing + "\r\n" + text
		}
	}
	// reading returns a signed read with more header lines.
	reading := func(more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.get(k, balance, more) }
	}
	// changed returns a signed read with one replacement in its text.
	changed := func(was, is string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return strings.Replace(d.get(k, balance, ""), was, is, 1) }
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	const te, vague = "Transfer-Encoding: chunked\r\n", "schema_violation"
	bare := func(f func(lanetest.Key) string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			head, rest, _ := strings.Cut(f(k), "\r\n\r\n")
			return strings.ReplaceAll(head, "\r\n", "\n") + "\n\n" + rest
		}
	}
	old := func(f func(lanetest.Key) string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return strings.Replace(f(k), "HTTP/1.1", "HTTP/1.0", 1) }
	}
	d.runCases(t, []attackCase{
		{"a length", framed(length, body), 200, ""},
		{"chunks", framed(te, chunked(body)), 200, ""},
		{"chunks of one byte", framed(te, func() (s string) {
			for _, c := range []byte(body) {
				s += fmt.Sprintf("1\r\n%c\r\n", c)
			}
			return s + "0\r\n\r\n"
		}()), 200, ""},
		{"Chunked in capitals", framed(strings.ToUpper(te), chunked(body)), 200, ""},
		{"both, the length first", framed(length+te, chunked(body)), 400, vague},
		{"both, the chunks first", framed(te+length, chunked(body)), 400, vague},
		{"both, a length of 0", framed("Content-Length: 0\r\n"+te, chunked(body)), 400, vague},
		{"both, in lower case", framed(strings.ToLower(length+te), chunked(body)), 400, vague},
		{"both, the length folded", framed("Content-Length:\r\n "+length[16:]+te, chunked(body)), 400, vague},
		{"both, the chunks folded", framed(length+"Transfer-Encoding:\r\n\tchunked\r\n", chunked(body)), 400, vague},
		{"both, with bare line feeds", bare(framed(length+te, chunked(body))), 400, vague},
		{"both, after a bare line feed", framed("X: y\n"+length+te, chunked(body)), 400, vague},
		{"both, unsigned", func(lanetest.Key) string {
			return "POST " + preview + " HTTP/1.1\r\nHost: x\r\n" + length + te + "\r\n" + chunked(body)
		}, 401, "unauthorized"},
		{"both, on HTTP/1.0", old(framed(length+te, body)), 400, vague},
		{"chunks on HTTP/1.0", old(func(k lanetest.Key) string {
			return strings.Replace(d.get(k, balance, te+"Connection: keep-alive\r\n"), "\r\n\r\n", "\r\n\r\n"+chunked("{}"), 1)
		}), 400, vague},
		{"a length on HTTP/1.0", old(framed(length, body)), 200, ""},
		{"one length twice", framed(length+length, body), 200, ""},
		{"two lengths", framed(length+"Content-Length: 3\r\n", body), 400, vague},
		{"a list of lengths", framed(strings.TrimSpace(length)+", 3\r\n", body), 400, vague},
		{"a length with a plus", framed("Content-Length: +9\r\n", body), 400, vague},
		{"a length below 0", framed("Content-Length: -1\r\n", body), 400, vague},
		{"a length in hex", framed("Content-Length: 0x10\r\n", body), 400, vague},
		{"a length of 2^64", framed("Content-Length: 18446744073709551616\r\n", body), 400, vague},
		{"a length of 2^63-1", framed("Content-Length: 9223372036854775807\r\n", body), 413, "body_too_large"},
		{"a length without a value", framed("Content-Length:\r\n", body), 400, vague},
		{"a length that is text", framed("Content-Length: many\r\n", body), 400, vague},
		{"a shorter length", framed(fmt.Sprintf("Content-Length: %d\r\n", len(body)-1), body), 401, "unauthorized"},
		{"identity", framed("Transfer-Encoding: identity\r\n", body), 501, vague},
		{"gzip, chunked", framed("Transfer-Encoding: gzip, chunked\r\n", chunked(body)), 501, vague},
		{"chunked, chunked", framed("Transfer-Encoding: chunked, chunked\r\n", chunked(body)), 501, vague},
		{"chunked twice", framed(te+te, chunked(body)), 501, vague},
		{"xchunked", framed("Transfer-Encoding: xchunked\r\n", chunked(body)), 501, vague},
		{"chunked in quotes", framed("Transfer-Encoding: \"chunked\"\r\n", chunked(body)), 501, vague},
		{"chunked after a vertical tab", framed("Transfer-Encoding: \vchunked\r\n", chunked(body)), 400, vague},
		{"a space before the colon", framed("Transfer-Encoding : chunked\r\n", chunked(body)), 400, vague},
		{"a space before a length's colon", framed("Content-Length : 5\r\n", body), 400, vague},
		{"no colon", framed("Content-Length\r\n", body), 400, vague},
		{"a first line that is folded", changed("\r\nHost", "\r\n Host"), 400, vague},
		{"a folded key", changed(": dxk", ":\r\n dxk"), 200, ""},
		{"bare line feeds", bare(reading("")), 200, ""},
		{"bare carriage returns", func(k lanetest.Key) string {
			return strings.ReplaceAll(d.get(k, balance, ""), "\r\n", "\r") + "\r\n\r\n"
		}, 400, vague},
		{"a carriage return in a value", reading("X: a\rb\r\n"), 400, vague},
		{"NUL in a value", reading("X: a\x00b\r\n"), 400, vague},
		{"NUL in a name", reading("X\x00: a\r\n"), 400, vague},
		{"a name that is no ASCII", reading("Ⅹ: a\r\n"), 400, vague},
		{"an empty name", reading(": a\r\n"), 400, vague},
		{"NUL in the target", changed(balance, balance+"\x00"), 400, vague},
		{"a space in the target", changed(balance, balance+" x"), 400, vague},
		{"NUL in the method", changed("GET", "GE\x00T"), 400, vague},
		{"an empty line before it", changed("GET", "\r\nGET"), 400, vague},
		{"no version", changed(" HTTP/1.1", ""), 400, vague},
		{"HTTP/1.2", changed("HTTP/1.1", "HTTP/1.2"), 200, ""},
		{"HTTP/2.0 in a line", changed("HTTP/1.1", "HTTP/2.0"), 505, vague},
		{"HTTP/9.9", changed("HTTP/1.1", "HTTP/9.9"), 505, vague},
		{"http in lower case", changed("HTTP/1.1", "http/1.1"), 400, vague},
		{"no host", changed("Host: x\r\n", ""), 400, vague},
		{"two hosts", reading("Host: y\r\n"), 400, vague},
		{"a malformed host", changed("Host: x", "Host: a b"), 400, vague},
		{"an expectation", reading("Expect: the best\r\n"), 417, vague},
		{"an expectation of 100-continue", framed(length+"Expect: 100-continue\r\n", body), 200, ""},

		{"a chunk of 2^64", framed(te, "10000000000000000\r\n"+body), 401, "unauthorized"},
		{"a chunk below 0", framed(te, "-5\r\n"+body), 401, "unauthorized"},
		{"a chunk in 0x", framed(te, "0x5\r\n"+body), 401, "unauthorized"},
		{"a chunk of no size", framed(te, "\r\n"+body), 401, "unauthorized"},
		{"a chunk with an extension", framed(te, strings.Replace(chunked(body), "\r\n", ";a=b\r\n", 1)), 200, ""},
		{"a chunk with an extension without end", framed(te, strings.Replace(chunked(body), "\r\n", ";"+strings.Repeat("x", 8<<10)+"\r\n", 1)), 401, "unauthorized"},
		{"a chunk that ends late", framed(te, strings.Replace(chunked(body), "}\r\n0", "}}\r\n0", 1)), 401, "unauthorized"},
		{"chunks with bare line feeds", framed(te, strings.ReplaceAll(chunked(body), "\r\n", "\n")), 401, "unauthorized"},
		{"a trailer", framed(te+"Trailer: X\r\n", strings.TrimSuffix(chunked(body), "\r\n")+"X: y\r\n\r\n"), 200, ""},
		{"credentials in a trailer", func(k lanetest.Key) string {
			return "POST " + preview + " HTTP/1.1\r\nHost: x\r\n" + te + "Trailer: DX-ACCESS-KEY\r\n\r\n" + strings.TrimSuffix(chunked(body), "\r\n") + d.signatureHeaders(k, "POST", preview, body) + "\r\n"
		}, 401, "unauthorized"},
		{"a length in a trailer", framed(te+"Trailer: Content-Length\r\n", strings.TrimSuffix(chunked(body), "\r\n")+"Content-Length: 1\r\n\r\n"), 400, vague},
		{"chunks over the cap", framed(te, chunked(strings.Repeat(" ", 70<<10))), 413, "body_too_large"},
		{"a frame after HTTP/2's preface", func(lanetest.Key) string {
			return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		}, 401, "unauthorized"},
		{"an upgrade to h2c", reading("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"), 200, ""},
		{"an upgrade to h2c, unsigned", func(lanetest.Key) string {
			return "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
		}, 401, "unauthorized"},
		{"TLS to a plain port", func(lanetest.Key) string { return "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03\r\n\r\n" }, 400, vague},
		{"a tunnel", func(lanetest.Key) string { return "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n" }, 401, "unauthorized"},
	})
}

// TestCutBodies checks that a request whose body ends early changes nothing.
func TestCutBodies(t *testing.T) {
	d := newTestVenue(t)
	k := d.NewKey(1, everyone)
	before := d.state()
	for name, text := range map[string]string{
		"short of its length": strings.TrimSuffix(d.post(k, "POST", "/v1/portfolio/orders", order("1", ""), ""), "}"),
		"between chunks": "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "POST", "/v1/portfolio/orders", order("1", "")) +
			"Transfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(chunked(order("1", "")), "0\r\n\r\n"),
	} {
		c := d.dial(t)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := read(bufio.NewReader(c)); got.status != 401 || got.code() != "unauthorized" {
			t.Errorf("a body cut at %s: %d %s, want 401 unauthorized", name, got.status, got.body)
		}
	}
	d.checkUnchanged(t, before)
}

// TestOneConnection checks that later requests on a connection are parsed where the one
// before ended, and that an ambiguous request closes the connection
// (docs/rules/rest.md#framing).
func TestOneConnection(t *testing.T) {
	d := newTestVenue(t)
	k := d.NewKey(1, everyone)
	before := d.state()
	body := order("1", "")
	within := d.get(k, balance, "")
	both := "POST " + preview + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "POST", preview, body) + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body)
	unsigned := "POST / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name string
		text string
		want string // the statuses up to the end of the connection
	}{
		{"two reads", within + within, "200 200"},
		{"a request within a body", d.post(k, "POST", preview, within, "") + within, "400 200"},
		{"a pipelined request after a rejected one", within + d.post(k, "POST", preview, both, "") + within, "200 400 200"},
		{"the pair after reads", within + within + both + within, "200 200 400"},
		{"the pair after bare line feeds", strings.ReplaceAll(within, "\r\n", "\n") + both + within, "200 400"},
		{"the pair after an upgrade that is not performed", d.get(k, balance, "Connection: Upgrade\r\nUpgrade: x\r\n") + both + within, "200 400"},
		{"the pair after a folded length", "POST " + preview + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "POST", preview, body) + fmt.Sprintf("Content-Length:\r\n %d\r\n\r\n", len(body)) + body + both + within, "200 400"},
		{"after chunks", "POST " + preview + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "POST", preview, body) + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body) + within, "200"},
		{"after chunks of HTTP/1.0", unsigned + within, "401"},
		{"after a foreign preflight with chunks", "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: https://ours.example\r\nAccess-Control-Request-Method: GET\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("x") + both, "204"},
		{"after a body that is too large", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + within, "413"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.Gate.Origins = []string{"https://ours.example"}
			conn := d.dial(t)
			go func() {
				_, _ = io.WriteString(conn, c.text) // the server may close before it has read all
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			var got []string
			for r := bufio.NewReader(conn); ; {
				a := read(r)
				if a.status == 0 {
					break
				}
				got = append(got, fmt.Sprint(a.status))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("statuses %v, want %s", got, c.want)
			}
			d.checkUnchanged(t, before)
		})
	}
}
