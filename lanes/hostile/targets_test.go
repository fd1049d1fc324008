package hostile

import (
	"strings"
	"testing"

	"duplex/lanes/lanetest"
)

// TestTargets checks that a request target is routed exactly as signed: not cleaned, not
// decoded, not redirected (docs/rules/rest.md#paths).
func TestTargets(t *testing.T) {
	d := newTestVenue(t)
	d.Venue.Config.ResponseBudget = 50 // ms; bounds reads with an unreachable min_seq
	get := func(target string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.get(k, target, "") }
	}
	line := func(method, target string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			return method + " " + target + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, method, target, "") + "\r\n"
		}
	}
	unsigned := func(first string) func(lanetest.Key) string {
		return func(lanetest.Key) string { return first + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	}
	const none, field, value = "not_found", "unknown_field", "schema_violation"
	d.runCases(t, []attackCase{
		{"an escaped slash", get("/v1/portfolio%2Fbalance"), 404, none},
		{"an escaped letter", get("/v1/portfolio/balanc%65"), 404, none},
		{"escaped dots", get("/v1/portfolio/%2e%2e/time"), 404, none},
		{"escaped twice", get("/v1/portfolio%252Fbalance"), 404, none},
		{"an escaped NUL", get(balance + "%00"), 404, none},
		{"an escaped line feed", get(balance + "%0a"), 404, none},
		{"an overlong slash", get("/v1%c0%afportfolio/balance"), 404, none},
		{"an escape cut short", get(balance + "%"), 400, "schema_violation"},
		{"an escape of no hex", get(balance + "%zz"), 400, "schema_violation"},
		{"dots", get("/v1/time/../portfolio/balance"), 404, none},
		{"dots above the root", get("/../../v1/time"), 404, none},
		{"one dot", get("/v1/./time"), 404, none},
		{"dots at the end", get("/v1/time/.."), 404, none},
		{"a back slash", get(`/v1\time`), 404, none},
		{"two slashes", get("/v1//time"), 404, none},
		{"two slashes first", get("//v1/time"), 404, none},
		{"another host after two slashes", get("//evil.example/v1/time"), 404, none},
		{"a slash at the end", get(balance + "/"), 404, none},
		{"a parameter of the path", get(balance + ";a=b"), 404, none},
		{"capitals", get("/V1/Portfolio/Balance"), 404, none},
		{"a fragment", get(balance + "#x"), 404, none},
		{"a fragment after a query", get("/v1/markets?limit=1#x"), 400, value},
		{"letters that are no ASCII", get("/v1/portfolio/bаlance"), 404, none},
		{"the prefix alone", get("/v1"), 404, none},
		{"another version", get("/v2/time"), 404, none},
		{"a path of 8 KiB", get("/v1/" + strings.Repeat("a", 8<<10)), 404, none},
		{"a path of 32 KiB", get("/v1/" + strings.Repeat("a", 32<<10)), 431, "schema_violation"},
		{"a thousand slashes", get("/v1" + strings.Repeat("/", 1000) + "time"), 404, none},

		{"an absolute form", line("GET", "http://x"+balance), 400, value},
		{"an absolute form of another scheme", line("GET", "https://evil.example"+balance), 400, value},
		{"an absolute form, unsigned", unsigned("GET http://x" + balance), 401, "unauthorized"},
		{"a star", line("GET", "*"), 400, value},
		{"a star, unsigned", unsigned("GET *"), 401, "unauthorized"},
		{"options of the server", line("OPTIONS", "*"), 400, value},
		{"options of the server, unsigned", unsigned("OPTIONS *"), 401, "unauthorized"},
		{"a path without a slash", line("GET", "v1/time"), 400, "schema_violation"},
		{"an authority", line("CONNECT", "x:80"), 400, value},
		{"options", line("OPTIONS", balance), 405, "method_not_allowed"},
		{"trace", line("TRACE", balance), 405, "method_not_allowed"},
		{"an unknown method", line("BREW", balance), 405, "method_not_allowed"},
		{"a WebDAV method", line("PROPFIND", "/v1/nothing"), 404, none},
		{"a method of 8 KiB", line(strings.Repeat("A", 8<<10), balance), 405, "method_not_allowed"},
		{"a DELETE signed as GET", func(k lanetest.Key) string {
			return "DELETE " + balance + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "GET", balance, "") + "\r\n"
		}, 401, "unauthorized"},

		{"an empty query", get(balance + "?"), 200, ""},
		{"ampersands alone", get(balance + "?&&&"), 200, ""},
		{"a name twice", get("/v1/markets?limit=5&limit=5"), 400, field},
		{"a name twice, once escaped", get("/v1/markets?limit=5&%6cimit=5"), 400, field},
		{"a name in capitals", get("/v1/markets?Limit=5"), 400, field},
		{"a name with brackets", get("/v1/markets?limit[]=5"), 400, field},
		{"a name with NUL", get("/v1/markets?limit%00=5"), 400, field},
		{"an unknown name", get(balance + "?user_id=2"), 400, field},
		{"a member of a body", get("/v1/portfolio/orders?qty=2"), 400, field},
		{"a semicolon", get("/v1/markets?limit=5;limit=6"), 400, value},
		{"a value with NUL", get("/v1/markets?limit=5%00"), 400, value},
		{"a value of bad UTF-8", get("/v1/markets?status=%ff"), 400, value},
		{"a value of Arabic digits", get("/v1/markets?limit=%D9%A5"), 400, value},
		{"a value cut short", get("/v1/markets?limit=%"), 400, value},
		{"a limit of 0", get("/v1/markets?limit=0"), 400, value},
		{"a limit of -1", get("/v1/markets?limit=-1"), 400, value},
		{"a limit over the maximum", get("/v1/markets?limit=1001"), 400, value},
		{"a limit of 2^31", get("/v1/markets?limit=2147483648"), 400, value},
		{"a limit of 2^32+1", get("/v1/markets?limit=4294967297"), 400, value},
		{"a limit of 2^64+1", get("/v1/markets?limit=18446744073709551617"), 400, value},
		{"a limit of 1e2", get("/v1/markets?limit=1e2"), 400, value},
		{"a limit of 1.0", get("/v1/markets?limit=1.0"), 400, value},
		{"a limit in hex", get("/v1/markets?limit=0x10"), 400, value},
		{"a limit with a plus", get("/v1/markets?limit=%2B5"), 400, value},
		{"a limit with a leading zero", get("/v1/markets?limit=05"), 400, value},
		{"a limit that is NaN", get("/v1/markets?limit=NaN"), 400, value},
		{"a seq of 2^64", get(balance + "?min_seq=18446744073709551616"), 400, value},
		{"a seq below 0", get(balance + "?min_seq=-1"), 400, value},
		{"the highest seq", get(balance + "?min_seq=18446744073709551615"), 504, "sequencing_timeout"},
		{"a malformed cursor", get("/v1/portfolio/orders?cursor=AAAA"), 400, "bad_cursor"},
		{"a cursor of NULs", get("/v1/portfolio/orders?cursor=%00%00"), 400, "bad_cursor"},
		{"a cursor of 10 KiB", get("/v1/portfolio/orders?cursor=" + strings.Repeat("A", 10<<10)), 400, "bad_cursor"},

		{"order 0", get("/v1/portfolio/orders/0"), 404, "unknown_order"},
		{"order -1", get("/v1/portfolio/orders/-1"), 404, "unknown_order"},
		{"order +1", get("/v1/portfolio/orders/+1"), 404, "unknown_order"},
		{"order 01", get("/v1/portfolio/orders/01"), 404, "unknown_order"},
		{"order 1.0", get("/v1/portfolio/orders/1.0"), 404, "unknown_order"},
		{"order 1e3", get("/v1/portfolio/orders/1e3"), 404, "unknown_order"},
		{"order 2^64-1", get("/v1/portfolio/orders/18446744073709551615"), 404, "unknown_order"},
		{"order 2^64+1", get("/v1/portfolio/orders/18446744073709551617"), 404, "unknown_order"},
		{"order of full-width digits", get("/v1/portfolio/orders/１"), 404, "unknown_order"},
		{"market 0", get("/v1/markets/0"), 404, "unknown_market"},
		{"market 33", get("/v1/markets/33"), 404, "unknown_market"},
		{"market 2^16+1", get("/v1/markets/65537"), 404, "unknown_market"},
		{"market 2^32-1", get("/v1/markets/4294967295"), 404, "unknown_market"},
		{"market 2^32+1", get("/v1/markets/4294967297"), 404, "unknown_market"},
		{"orders of market 2^32-1", get("/v1/portfolio/orders?market_id=4294967295"), 200, ""},
		{"orders of market 2^32", get("/v1/portfolio/orders?market_id=4294967296"), 400, value},
		{"round 2^16+1", get("/v1/rounds/65537"), 404, "round_not_found"},
		{"withdrawal 2^64", get("/v1/withdrawals/18446744073709551616"), 404, "unknown_withdrawal"},
		{"a feed beyond the last", get("/v1/oracle/price?feed=3"), 400, value},
		{"feed 2^32", get("/v1/oracle/price?feed=4294967296"), 400, value},
		{"a history of steps of 2^32+1 s", get("/v1/oracle/history?step_secs=4294967297"), 400, value},
		{"a history to 2^64", get("/v1/oracle/history?to_ts=18446744073709551616"), 400, value},
	})
}

// TestHeaders checks that the size of the headers is bounded, that no header changes the
// target of a request, and that no foreign origin may read a response
// (docs/rules/rest.md#browsers).
func TestHeaders(t *testing.T) {
	d := newTestVenue(t)
	with := func(more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.get(k, balance, more) }
	}
	foreign := func(method string) func(lanetest.Key) string {
		return func(lanetest.Key) string {
			return method + " " + balance + " HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: GET\r\n\r\n"
		}
	}
	d.runCases(t, []attackCase{
		{"a thousand headers", with(strings.Repeat("X: y\r\n", 1000)), 200, ""},
		{"one of 10 KiB", with("X: " + strings.Repeat("y", 10<<10) + "\r\n"), 200, ""},
		{"one of 32 KiB", with("X: " + strings.Repeat("y", 32<<10) + "\r\n"), 431, "schema_violation"},
		{"a name of 32 KiB", with(strings.Repeat("X", 32<<10) + ": y\r\n"), 431, "schema_violation"},
		{"ten thousand", with(strings.Repeat("X: y\r\n", 10_000)), 431, "schema_violation"},
		{"1 MiB without an end", with(strings.Repeat("X", 1<<20)), 431, "schema_violation"},
		{"another host", func(k lanetest.Key) string {
			return strings.Replace(d.get(k, balance, ""), "Host: x", "Host: evil.example", 1)
		}, 200, ""},
		{"a forwarded host and prefix", with("X-Forwarded-Host: evil.example\r\nX-Forwarded-Prefix: /admin\r\nForwarded: host=evil.example\r\n"), 200, ""},
		{"a foreign origin on a signed read", with("Origin: https://evil.example\r\n"), 200, ""},
		{"a foreign preflight", foreign("OPTIONS"), 401, "unauthorized"},
		{"a foreign read, unsigned", foreign("GET"), 401, "unauthorized"},
		{"a content encoding without content", with("Content-Encoding: gzip\r\n"), 200, ""},
		{"a range", with("Range: bytes=0-0\r\n"), 200, ""},
		{"conditional headers", with("If-None-Match: *\r\nIf-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT\r\n"), 200, ""},
		{"a traceparent that forges a log attribute", with("Traceparent: 00-" + strings.Repeat("a", 32) + "-00f067aa0ba902b7-01 level=ERROR\r\n"), 200, ""},
	})
	k := d.NewKey(1, everyone)
	for _, origin := range []string{"https://evil.example", "null", "http://x.evil.example", ""} {
		if got := d.raw(t, d.get(k, balance, "Origin: "+origin+"\r\n")); got.header.Get("Access-Control-Allow-Origin") != "" || got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("origin %q may read the response: %v", origin, got.header)
		}
	}
}
