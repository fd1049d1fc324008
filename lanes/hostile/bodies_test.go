package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"duplex/lanes/lanetest"
)

// gzipped returns text compressed with gzip.
func gzipped(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wide returns text in big-endian UTF-16 with a byte order mark.
func wide(text string) (out string) {
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		out += string([]byte{byte(u >> 8), byte(u)})
	}
	return out
}

// TestBodies checks that a body other than one small JSON object in UTF-8 with known members
// is rejected (docs/rules/rest.md#bodies). It uses previews, which change nothing.
func TestBodies(t *testing.T) {
	d := newTestVenue(t)
	good := order("1", "")
	sent := func(body, more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.post(k, "POST", preview, body, more) }
	}
	plain := func(body string) func(lanetest.Key) string { return sent(body, "Content-Type: application/json\r\n") }
	put := func(was, is string) func(lanetest.Key) string { return plain(strings.Replace(good, was, is, 1)) }
	withdraw := func(id, to string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			return d.post(k, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"`+id+`","amount":"999999999999999","destination":"`+to+`"}`, "")
		}
	}
	batch := func(method, body string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.post(k, method, "/v1/portfolio/orders/batch", body, "") }
	}
	bomb := gzipped(t, make([]byte, 20<<20))
	const bad, vague, unknown, media = "malformed_json", "schema_violation", "unknown_field", "unsupported_media_type"
	d.runCases(t, []attackCase{
		{"a valid body", plain(good), 200, ""},
		{"white space around it", plain(" \r\n\t" + good + "\n "), 200, ""},
		{"nothing", plain(""), 400, bad},
		{"white space", plain("  "), 400, bad},
		{"a list", plain("[" + good + "]"), 400, bad},
		{"a string", plain(`"` + strings.ReplaceAll(good, `"`, `\"`) + `"`), 400, bad},
		{"null", plain("null"), 400, bad},
		{"cut short", plain(good[:len(good)-1]), 400, bad},
		{"two objects", plain(good + good), 400, bad},
		{"two lines", plain(good + "\n" + good), 400, bad},
		{"a brace too many", plain(good + "}"), 400, bad},
		{"a trailing NUL", plain(good + "\x00"), 400, bad},
		{"NUL inside", put(`"side"`, "\x00"+`"side"`), 400, bad},
		{"a byte order mark", plain("\ufeff" + good), 400, bad},
		{"UTF-16", plain(wide(good)), 400, bad},
		{"a comment", put(`"side"`, `/**/"side"`), 400, bad},
		{"a comma at the end", plain(strings.TrimSuffix(good, "}") + ",}"), 400, bad},
		{"names without quotes", put(`"side"`, "side"), 400, bad},
		{"single quotes", plain(strings.ReplaceAll(good, `"`, "'")), 400, bad},
		{"a prefix against scripts", plain(")]}',\n" + good), 400, bad},
		{"a form", plain("client_order_id=1&market_id=1"), 400, bad},

		{"a name twice", put(`"side":"buy"`, `"side":"buy","side":"sell"`), 400, bad},
		{"a name twice with the same value", put(`"side":"buy"`, `"side":"buy","side":"buy"`), 400, bad},
		{"a name twice, once escaped", put(`"side":"buy"`, `"side":"buy","s\u0069de":"sell"`), 400, bad},
		{"an unknown name twice", put(`"side":"buy"`, `"side":"buy","x":1,"x":1`), 400, bad},
		{"an escaped name", put(`"side"`, `"s\u0069de"`), 200, ""},
		{"a name in another case", put(`"side"`, `"Side"`), 400, unknown},
		{"a name with NUL", put(`"side"`, `"side\u0000"`), 400, unknown},
		{"a name with a zero-width space", put(`"side"`, `"side\u200b"`), 400, unknown},
		{"a name with a Cyrillic letter", put(`"side"`, `"ѕide"`), 400, unknown},
		{"an empty name", put(`"side":`, `"":0,"side":`), 400, unknown},
		{"a prototype", put(`"side":`, `"__proto__":{"qty":1},"side":`), 400, unknown},
		{"another account's id", put(`"side":`, `"user_id":2,"side":`), 400, unknown},
		{"a member that only Go knows", put(`"side":`, `"Fault":259,"side":`), 400, unknown},
		{"a name of 60 KB", put(`"side":`, `"`+strings.Repeat("x", 60_000)+`":0,"side":`), 400, unknown},
		{"five thousand unknown names", plain("{" + func() (s string) {
			for i := range 5000 {
				s += fmt.Sprintf(`"x%d":0,`, i)
			}
			return s + good[1:]
		}()), 400, unknown},

		{"a word in capitals", put(`"buy"`, `"BUY"`), 400, vague},
		{"a word with NUL", put(`"buy"`, `"buy\u0000"`), 400, vague},
		{"a word with a space", put(`"buy"`, `"buy "`), 400, vague},
		{"a word of full width", put(`"buy"`, `"ｂｕｙ"`), 400, vague},
		{"a word written right to left", put(`"buy"`, `"\u202eyub"`), 400, vague},
		{"a word and a combining mark", put(`"buy"`, `"buy\u0301"`), 400, vague},
		{"an escaped word", put(`"buy"`, `"b\u0075y"`), 200, ""},
		{"a word of 60 KB", put(`"buy"`, `"`+strings.Repeat("buy", 20_000)+`"`), 400, vague},
		{"a list of words", put(`"buy"`, `["buy"]`), 400, vague},
		{"a boolean as a string", put(`"qty":10`, `"qty":10,"post_only":"true"`), 400, vague},
		{"a boolean as a number", put(`"qty":10`, `"qty":10,"post_only":1`), 400, vague},
		{"a truth in capitals", put(`"qty":10`, `"qty":10,"post_only":True`), 400, bad},

		{"a lone byte", put(`"buy"`, "\"buy\xff\""), 400, bad},
		{"an overlong slash", put(`"buy"`, "\"buy\xc0\xaf\""), 400, bad},
		{"an overlong NUL", put(`"buy"`, "\"buy\xc0\x80\""), 400, bad},
		{"a surrogate in UTF-8", put(`"buy"`, "\"buy\xed\xa0\x80\""), 400, bad},
		{"beyond the last rune", put(`"buy"`, "\"buy\xf4\x90\x80\x80\""), 400, bad},
		{"a rune cut short", put(`"buy"`, "\"buy\xe2\x82\""), 400, bad},
		{"half a surrogate", put(`"buy"`, `"buy\ud800"`), 400, bad},
		{"surrogates the wrong way round", put(`"buy"`, `"buy\udc00\ud800"`), 400, bad},
		{"an escape of no hex", put(`"buy"`, `"\u00zz"`), 400, bad},
		{"an unknown escape", put(`"buy"`, `"\x41"`), 400, bad},
		{"a bare line feed in a word", put(`"buy"`, "\"bu\ny\""), 400, bad},
		{"bad UTF-8 in an unknown name", put(`"side":`, "\"\xff\":0,\"side\":"), 400, bad},

		{"ten thousand lists deep", put(`"qty":10`, `"qty":`+strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001)), 400, bad},
		{"nine thousand lists deep", put(`"qty":10`, `"qty":`+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)), 400, vague},
		{"deep and unknown", put(`"qty":10`, `"x":`+strings.Repeat(`{"a":`, 5_000)+"1"+strings.Repeat("}", 5_000)), 400, unknown},
		{"deep and open", plain(strings.Repeat(`{"a":`, 12_000)), 400, bad},
		{"just the cap", plain(good + strings.Repeat(" ", 64<<10-len(good))), 200, ""},
		{"a byte over the cap", plain(good + strings.Repeat(" ", 64<<10-len(good)+1)), 413, "body_too_large"},
		{"10 MB, unsigned", func(lanetest.Key) string {
			return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", preview, 10<<20, strings.Repeat("x", 10<<20))
		}, 413, "body_too_large"},
		{"a batch of none", batch("POST", `{"orders":[]}`), 400, vague},
		{"a batch of 21", batch("POST", `{"orders":[`+strings.Repeat(good+",", 20)+good+`]}`), 400, vague},
		{"a batch of 400", batch("POST", `{"orders":[`+strings.Repeat(good+",", 399)+good+`]}`), 400, vague},
		{"a batch of six thousand nothings", batch("POST", `{"orders":[`+strings.Repeat("{},", 20_000)+`{}]}`), 400, vague},
		{"a batch of ids that are no strings", batch("DELETE", `{"order_ids":[1]}`), 400, vague},
		{"a cancel-all with a body", func(k lanetest.Key) string { return d.post(k, "DELETE", "/v1/portfolio/orders", "{}", "") }, 400, "unexpected_body"},
		{"a read with a body", func(k lanetest.Key) string { return d.post(k, "GET", balance, "{}", "") }, 400, "unexpected_body"},

		{"gzip", sent(gzipped(t, []byte(good)), "Content-Encoding: gzip\r\n"), 415, media},
		{"a bomb", sent(bomb, "Content-Encoding: gzip\r\n"), 415, media},
		{"a larger bomb", sent(bomb+strings.Repeat("\x00", 64<<10), "Content-Encoding: gzip\r\n"), 413, "body_too_large"},
		{"a bomb, unsigned", func(lanetest.Key) string {
			return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", preview, len(bomb), bomb)
		}, 401, "unauthorized"},
		{"gzip that does not say so", plain(gzipped(t, []byte(good))), 400, bad},
		{"deflate", sent(good, "Content-Encoding: deflate\r\n"), 415, media},
		{"identity", sent(good, "Content-Encoding: identity\r\n"), 415, media},
		{"an unknown encoding", sent(good, "Content-Encoding: x\r\n"), 415, media},
		{"an empty encoding and gzip", sent(good, "Content-Encoding:\r\nContent-Encoding: gzip\r\n"), 415, media},
		{"no type", sent(good, ""), 200, ""},
		{"a charset", sent(good, "Content-Type: application/json; charset=utf-8\r\n"), 200, ""},
		{"a type in capitals", sent(good, "Content-Type: Application/JSON\r\n"), 200, ""},
		{"a form's type", sent(good, "Content-Type: application/x-www-form-urlencoded\r\n"), 415, media},
		{"a type a page may send", sent(good, "Content-Type: text/plain\r\n"), 415, media},
		{"a type that begins well", sent(good, "Content-Type: application/jsonp\r\n"), 415, media},
		{"a type of parts", sent(good, "Content-Type: multipart/form-data; boundary=x\r\n"), 415, media},
		{"an empty type", sent(good, "Content-Type:\r\n"), 415, media},
		{"two types", sent(good, "Content-Type: application/json\r\nContent-Type: text/plain\r\n"), 415, media},
		{"a list of types", sent(good, "Content-Type: application/json, text/plain\r\n"), 415, media},

		{"a withdrawal's id with a slash", withdraw("../w", "bank"), 400, "bad_client_withdrawal_id"},
		{"a withdrawal's id with NUL", withdraw(`w\u0000`, "bank"), 400, "bad_client_withdrawal_id"},
		{"a withdrawal's id with a line feed", withdraw(`w\n`, "bank"), 400, "bad_client_withdrawal_id"},
		{"a withdrawal's id of 65", withdraw(strings.Repeat("w", 65), "bank"), 400, "bad_client_withdrawal_id"},
		{"a withdrawal's id in Cyrillic", withdraw("а", "bank"), 400, "bad_client_withdrawal_id"},
		{"a withdrawal to nowhere", withdraw("w", ""), 400, "bad_destination"},
		{"a withdrawal to 129", withdraw("w", strings.Repeat("x", 129)), 400, "bad_destination"},
	})
}
