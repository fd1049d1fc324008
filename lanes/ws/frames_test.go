package ws

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// open performs a handshake without the library and returns the raw stream.
func (s *testLane) open(k lanetest.Key) (net.Conn, *bufio.Reader) {
	s.T.Helper()
	s.FreezeClock() // the signature does not grow old
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(3 * time.Minute))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", path)
	for name, v := range s.handshake(k) {
		fmt.Fprintf(c, "%s: %s\r\n", name, v[0])
	}
	fmt.Fprint(c, "\r\n")
	r := bufio.NewReader(c)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 101 {
		s.T.Fatal(resp, err)
	}
	return c, r
}

// masked returns a client's frame with a mask of zero.
func masked(head byte, payload []byte) []byte {
	b := []byte{head}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// declared returns the header of a client's frame of n bytes, without the payload.
func declared(head byte, n uint64) []byte {
	if n < 126 {
		return []byte{head, 0x80 | byte(n), 0, 0, 0, 0}
	}
	return append(binary.BigEndian.AppendUint64([]byte{head, 0x80 | 127}, n), 0, 0, 0, 0)
}

// frameFrom reads one frame of the server.
func frameFrom(r io.Reader) (op byte, payload []byte, err error) {
	var h [2]byte
	if _, err = io.ReadFull(r, h[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(h[1])
	var more [8]byte
	switch n {
	case 126:
		_, err = io.ReadFull(r, more[:2])
		n = uint64(binary.BigEndian.Uint16(more[:]))
	case 127:
		_, err = io.ReadFull(r, more[:])
		n = binary.BigEndian.Uint64(more[:])
	}
	if err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return h[0], payload, err
}

// TestInvalidFrames checks the close code for each violation of the protocol
// (docs/rules/events.md#close-codes).
func TestInvalidFrames(t *testing.T) {
	s := newTestLane(t)
	long := bytes.Repeat([]byte(" "), maxMessageBytes+1)
	for _, c := range []struct {
		name string
		send []byte
		code int
	}{
		{"unmasked", []byte{0x81, 2, '{', '}'}, 1002},
		{"the first reserved bit", masked(0xc1, []byte("{}")), 1002},
		{"the second reserved bit", masked(0xa1, []byte("{}")), 1002},
		{"the third reserved bit", masked(0x91, []byte("{}")), 1002},
		{"a ping with a reserved bit", masked(0xc9, nil), 1002},
		{"an unknown opcode", masked(0x83, []byte("{}")), 1002},
		{"a fragmented ping", masked(0x09, nil), 1002},
		{"a fragmented close", masked(0x08, []byte{0x03, 0xe8}), 1002},
		{"an unmasked ping", []byte{0x89, 0}, 1002},
		{"a message inside another", append(masked(0x01, []byte("{")), masked(0x81, []byte("{}"))...), 1002},
		{"a long ping", masked(0x89, long[:126]), 1002},
		{"a continuation without a first frame", masked(0x80, []byte("{}")), 1002},
		{"a negative length", append([]byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, 0, 0, 0), 1002},
		{"bad UTF-8", masked(0x81, []byte{'"', 0xff, '"'}), 1007},
		{"bad UTF-8 in parts", append(masked(0x01, []byte{'"', 0xc3}), masked(0x80, []byte{'"'})...), 1007},
		{"a surrogate", masked(0x81, []byte{'"', 0xed, 0xa0, 0x80, '"'}), 1007},
		{"binary", masked(0x82, []byte("{}")), 1003},
		{"binary in parts", append(masked(0x02, []byte("{")), masked(0x80, []byte("}"))...), 1003},
		{"too big", masked(0x81, long), 1009},
		{"too big in parts", append(masked(0x01, long[:maxMessageBytes]), masked(0x80, []byte("{}"))...), 1009},
		{"1 GB declared and none sent", declared(0x81, 1<<30), 1009},
		{"one byte over the cap declared", declared(0x81, maxMessageBytes+1), 1009},
		{"the largest length", declared(0x81, 1<<63-1), 1009},
		{"too big in parts, by the header alone", append(masked(0x01, long[:maxMessageBytes]), declared(0x80, 1)...), 1009},
		{"too big in parts, with a pong between", slices.Concat(masked(0x01, long[:maxMessageBytes]), masked(0x8a, []byte("hi")), declared(0x00, 1<<20)), 1009},
		{"a close whose reason is not UTF-8", masked(0x88, []byte{0x03, 0xe8, 'n', 0xff}), 1007},
		{"a close with half a code", masked(0x88, []byte{3}), 1002},
		{"a close with a reserved code", masked(0x88, []byte{0x03, 0xed}), 1002},
		{"a close", masked(0x88, []byte{0x03, 0xe8}), 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, r := s.open(s.NewKey(1, core.ScopeRead))
			if _, err := conn.Write(c.send); err != nil {
				t.Fatal(err)
			}
			op, payload, err := frameFrom(r)
			if err != nil || op != opClose || len(payload) < 2 || int(binary.BigEndian.Uint16(payload)) != c.code {
				t.Fatalf("got frame %x %q, %v; want a close with %d", op, payload, err, c.code)
			}
			if _, _, err = frameFrom(r); err != io.EOF {
				t.Errorf("after the close: %v", err)
			}
			_ = conn.Close() // the lane waits for the peer to close
		})
	}
	s.checkNoLeak()
}

// checkNoLeak waits until no connection, subscription or goroutine of a connection is left.
func (s *testLane) checkNoLeak() {
	s.T.Helper()
	var running bytes.Buffer
	s.eventually(func() bool {
		running.Reset()
		if err := pprof.Lookup("goroutine").WriteTo(&running, 2); err != nil {
			s.T.Fatal(err)
		}
		n, subs, _ := s.lane.Usage()
		s.lane.mu.Lock()
		defer s.lane.mu.Unlock()
		// A connection leaves the count by key last, after its goroutines have ended.
		return n == 0 && subs == 0 && len(s.lane.connsByKey) == 0 && len(s.lane.accounts) == 0 && !strings.Contains(running.String(), "ws.(*conn)")
	})
}

// TestPeerDisconnects checks that a disconnect at any point leaks nothing and does not affect
// other connections.
func TestPeerDisconnects(t *testing.T) {
	s := newTestLane(t)
	stays := s.dial(s.NewKey(1, core.ScopeRead))
	for _, c := range []struct {
		name string
		send []byte
	}{
		{"at once", nil},
		{"in a header", []byte{0x81}},
		{"in a length", []byte{0x81, 0xfe, 0x01}},
		{"in a mask", []byte{0x81, 0x82, 1, 2}},
		{"in a payload", masked(0x81, []byte(`{"id":1}`))[:9]},
		{"between parts", masked(0x01, []byte("{"))},
		{"in a ping", masked(0x89, []byte("hello"))[:8]},
		{"with subscriptions", masked(0x81, []byte(`{"id":1,"cmd":"subscribe","params":{"channels":["user","orderbook_delta","orderbook_snapshot","trades","oracle","rounds"]}}`))},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reset %t", c.name, reset), func(t *testing.T) {
				conn, _ := s.open(s.NewKey(1, core.ScopeRead))
				if _, err := conn.Write(c.send); err != nil {
					t.Fatal(err)
				}
				if reset {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				_ = conn.Close()
				stays.ask("list_subscriptions", "{}")
			})
		}
	}
	_ = stays.ws.CloseNow()
	s.checkNoLeak()
}

// TestValidFrames checks that the largest message, a message in parts with a ping between,
// and an empty ping are accepted.
func TestValidFrames(t *testing.T) {
	s := newTestLane(t)
	conn, r := s.open(s.NewKey(1, core.ScopeRead))
	cmd := []byte(`{"id":1,"cmd":"list_subscriptions"}`)
	whole := append(bytes.Repeat([]byte(" "), maxMessageBytes-len(cmd)), cmd...)
	parts := append(append(masked(0x01, cmd[:9]), masked(0x89, []byte("hi"))...), masked(0x80, cmd[9:])...)
	for _, c := range []struct {
		send []byte
		ops  []byte
	}{{masked(0x81, whole), []byte{opText}}, {parts, []byte{0x8a, opText}}, {masked(0x89, nil), []byte{0x8a}}} {
		if _, err := conn.Write(c.send); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.ops {
			if op, payload, err := frameFrom(r); op != want || err != nil {
				t.Errorf("the answer is %x %q %v, want opcode %x", op, payload, err, want)
			}
		}
	}
}

// TestPingFlood checks that a burst of pings within the limit is answered, and that more
// pings, or more pongs that answer no ping, close the connection with 1008
// (docs/rules/events.md#pings).
func TestPingFlood(t *testing.T) {
	s := newTestLane(t)
	for name, head := range map[string]byte{"pings": 0x89, "pongs": 0x8a} {
		t.Run(name, func(t *testing.T) {
			conn, r := s.open(s.NewKey(1, core.ScopeRead))
			cmd := masked(0x81, []byte(`{"id":1,"cmd":"list_subscriptions"}`))
			if _, err := conn.Write(append(bytes.Repeat(masked(head, []byte("x")), controlBurst), cmd...)); err != nil {
				t.Fatal(err)
			}
			pongs := 0
			for {
				op, payload, err := frameFrom(r)
				if err != nil || op != 0x8a && op != opText {
					t.Fatalf("the answer is %x %q %v, want a pong or a text", op, payload, err)
				}
				if op == opText {
					break
				}
				pongs++
			}
			if want := map[byte]int{0x89: controlBurst}[head]; pongs != want {
				t.Errorf("%d pongs, want %d", pongs, want)
			}
			if _, err := conn.Write(bytes.Repeat(masked(head, []byte("x")), 2000)); err != nil {
				t.Fatal(err)
			}
			for {
				op, payload, err := frameFrom(r)
				if err != nil {
					t.Fatal(err)
				}
				if op == opClose {
					if binary.BigEndian.Uint16(payload) != 1008 {
						t.Errorf("closed with %q, want 1008", payload)
					}
					_ = conn.Close() // the lane waits for it
					return
				}
			}
		})
	}
	s.checkNoLeak()
}
