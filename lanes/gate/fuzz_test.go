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

// FuzzHeadScanner compares the scanner with net/http: exactly the requests with two ends
// are ambiguous, however the stream is cut into reads.
func FuzzHeadScanner(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\nHost: x\nTransfer-Encoding:\n chunked\nContent-Length:\n 2\n\n0\r\n\r\n",
		"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\nGET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		f.Add([]byte(s), uint(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint) {
		size := int(cut%uint(len(text)+1)) + 1
		found := ambiguousIn(string(text), size)
		r := bufio.NewReaderSize(bytes.NewReader(text), max(16, len(text)))
		for count := int64(1); ; count++ {
			start, _ := r.Peek(r.Buffered())
			if len(start) == 0 {
				start, _ = r.Peek(len(text))
			}
			head := bytes.Clone(start)
			req, err := http.ReadRequest(r)
			if err != nil || req.ProtoMajor != 1 {
				return // net/http closes the connection here
			}
			after, _ := r.Peek(r.Buffered())
			head = head[:len(head)-len(after)]
			chunks, both := framingOf(head, req)
			if found == count && !chunks {
				t.Fatalf("%q is not ambiguous", head)
			}
			if chunks {
				if got := found == count; got != both {
					t.Fatalf("%q: %v, found %d of %d", head, got, found, count)
				}
				return // the last request of the connection
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
		}
	})
}

// framingOf reports whether a head has Transfer-Encoding, and whether it also has
// Content-Length or an HTTP version without chunked bodies.
func framingOf(head []byte, r *http.Request) (chunks, both bool) {
	var length bool
	lines := strings.Split(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n")
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, ":")
		chunks = chunks || strings.EqualFold(name, "Transfer-Encoding")
		length = length || strings.EqualFold(name, "Content-Length")
	}
	return chunks, length || !r.ProtoAtLeast(1, 1)
}

// FuzzReplayWindow checks the replay window against integers of unlimited size.
func FuzzReplayWindow(f *testing.F) {
	f.Add("1700000005000", int64(1700000000000_000_000))
	f.Add("-9223372036854775808", int64(1700000000000_000_000))
	f.Add("+1700000000000", int64(0))
	f.Fuzz(func(t *testing.T, ts string, now int64) {
		g := &Gate{Venue: &tools.Venue{Config: tools.DefaultConfig(func() int64 { return now })}}
		ms, ok := new(big.Int).SetString(ts, 10)
		want := ok && ms.IsInt64() && !strings.Contains(ts, "_")
		if want {
			off := ms.Sub(big.NewInt(now/core.NsPerMs), ms)
			want = off.CmpAbs(big.NewInt(replayWindowMs)) <= 0
		}
		if got := g.withinReplayWindow(ts); got != want {
			t.Fatalf("%q at %d: %v", ts, now, got)
		}
	})
}
