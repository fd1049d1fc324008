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
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// open shakes hands by hand, and gives the stream behind it.
func (s *stream) open(k lanetest.Key) (net.Conn, *bufio.Reader) {
	s.T.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
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

// masked is a client's frame; the mask is zero.
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

// frameFrom reads one frame of the server's.
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

// TestWrongFrames: who does not speak the protocol is told why and closed.
func TestWrongFrames(t *testing.T) {
	s := newStream(t)
	long := bytes.Repeat([]byte(" "), messageMax+1)
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
		{"a message within another", append(masked(0x01, []byte("{")), masked(0x81, []byte("{}"))...), 1002},
		{"a long ping", masked(0x89, long[:126]), 1002},
		{"a continuation of nothing", masked(0x80, []byte("{}")), 1002},
		{"a negative length", append([]byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, 0, 0, 0), 1002},
		{"bad UTF-8", masked(0x81, []byte{'"', 0xff, '"'}), 1007},
		{"bad UTF-8 in parts", append(masked(0x01, []byte{'"', 0xc3}), masked(0x80, []byte{'"'})...), 1007},
		{"a surrogate", masked(0x81, []byte{'"', 0xed, 0xa0, 0x80, '"'}), 1007},
		{"binary", masked(0x82, []byte("{}")), 1003},
		{"binary in parts", append(masked(0x02, []byte("{")), masked(0x80, []byte("}"))...), 1003},
		{"too big", masked(0x81, long), 1009},
		{"too big in parts", append(masked(0x01, long[:messageMax]), masked(0x80, []byte("{}"))...), 1009},
		{"a close of no code", masked(0x88, []byte{3}), 1002},
		{"a close of a reserved code", masked(0x88, []byte{0x03, 0xed}), 1002},
		{"a close", masked(0x88, []byte{0x03, 0xe8}), 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, r := s.open(s.Key(1, core.ScopeRead))
			if _, err := conn.Write(c.send); err != nil {
				t.Fatal(err)
			}
			op, payload, err := frameFrom(r)
			if err != nil || op != opClose || len(payload) < 2 || int(binary.BigEndian.Uint16(payload)) != c.code {
				t.Fatalf("%x %q %v", op, payload, err)
			}
			if _, _, err = frameFrom(r); err != io.EOF {
				t.Errorf("after the close: %v", err)
			}
		})
	}
	s.nothingLeft()
}

// nothingLeft wants all connections to be gone, and what ran for them.
func (s *stream) nothingLeft() {
	s.T.Helper()
	var running bytes.Buffer
	s.eventually(func() bool {
		running.Reset()
		if err := pprof.Lookup("goroutine").WriteTo(&running, 2); err != nil {
			s.T.Fatal(err)
		}
		n, subs, _ := s.lane.Now()
		return n == 0 && subs == 0 && !strings.Contains(running.String(), "ws.(*conn)")
	})
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if len(s.lane.seats) > 0 || len(s.lane.accounts) > 0 {
		s.T.Errorf("%d seats are kept, %d accounts", len(s.lane.seats), len(s.lane.accounts))
	}
}

// TestGone: who goes in the middle of a frame, a message or its reading leaves
// nothing behind, and takes nobody along.
func TestGone(t *testing.T) {
	s := newStream(t)
	stays := s.dial(s.Key(1, core.ScopeRead))
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
				conn, _ := s.open(s.Key(1, core.ScopeRead))
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
	s.nothingLeft()
}

// TestRightFrames: the largest message, one in parts with a ping between, and an
// empty ping are all fine.
func TestRightFrames(t *testing.T) {
	s := newStream(t)
	conn, r := s.open(s.Key(1, core.ScopeRead))
	cmd := []byte(`{"id":1,"cmd":"list_subscriptions"}`)
	whole := append(bytes.Repeat([]byte(" "), messageMax-len(cmd)), cmd...)
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
				t.Errorf("%x %q %v", op, payload, err)
			}
		}
	}
}
