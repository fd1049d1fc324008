package gate

import (
	"bufio"
	"bytes"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"duplex/core"
	"duplex/tools"
)

// FuzzWatch holds the watching connection against net/http: of a stream of requests it
// takes for ambiguous just those in which both ends are named, however the stream is cut
// into reads.
func FuzzWatch(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\nHost: x\nTransfer-Encoding:\n chunked\nContent-Length:\n 2\n\n0\r\n\r\n",
		"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\nGET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		f.Add([]byte(s), uint(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint) {
		size := int(cut%uint(len(text)+1)) + 1
		w := &conn{}
		for at := 0; at < len(text); at += size {
			w.watch(text[at:min(at+size, len(text))])
		}
		r := bufio.NewReaderSize(bytes.NewReader(text), max(16, len(text)))
		for {
			start, _ := r.Peek(r.Buffered())
			if len(start) == 0 {
				start, _ = r.Peek(len(text))
			}
			head := bytes.Clone(start)
			req, err := http.ReadRequest(r)
			if err != nil || req.ProtoMajor != 1 {
				return // the connection ends here
			}
			rest, _ := r.Peek(r.Buffered())
			head = head[:len(head)-len(rest)]
			chunks, both := endings(head, req)
			if chunks {
				if got := w.both.Load(); got != both {
					t.Fatalf("%q: %v", head, got)
				}
				return // the last of its connection
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
		}
	})
}

// endings reads a head as net/http did: whether chunks are named, and whether a length is
// too, or the version knows none.
func endings(head []byte, r *http.Request) (chunks, both bool) {
	var length bool
	lines := strings.Split(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n")
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, ":")
		chunks = chunks || strings.EqualFold(name, "Transfer-Encoding")
		length = length || strings.EqualFold(name, "Content-Length")
	}
	return chunks, length || !r.ProtoAtLeast(1, 1)
}

// FuzzTimely: a timestamp is timely just when it is within 5000 ms of the clock, whatever
// numbers the two are.
func FuzzTimely(f *testing.F) {
	f.Add("1700000005000", int64(1700000000000_000_000))
	f.Add("-9223372036854775808", int64(1700000000000_000_000))
	f.Add("+1700000000000", int64(0))
	f.Fuzz(func(t *testing.T, ts string, now int64) {
		g := &Gate{Venue: &tools.Venue{Terms: tools.DefaultTerms(func() int64 { return now })}}
		ms, ok := new(big.Int).SetString(ts, 10)
		want := ok && ms.IsInt64() && !strings.Contains(ts, "_")
		if want {
			off := ms.Sub(big.NewInt(now/core.NsPerMs), ms)
			want = off.CmpAbs(big.NewInt(window)) <= 0
		}
		if got := g.timely(ts); got != want {
			t.Fatalf("%q at %d: %v", ts, now, got)
		}
	})
}
