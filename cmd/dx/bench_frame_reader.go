package main

import (
	"bytes"
	"context"
	bin "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const connsAKey = 20 // sockets of a key: docs/rules/limits.md#sockets

// frameReader is one connection of the event lane that looks at no more of a frame than its
// head: what a reader costs here would be missing at the venue beside it.
type frameReader struct {
	on       *target
	as       *trader
	channels []string
	begun    time.Time // when what is timed began

	wire    *rawConn
	release func() bool
	last    map[sequenceID]uint64 // seq of the frame before
	acks    int

	rows   map[string]*frameCounts // by type
	closes map[int]int             // by code
}

// sequenceID is one sequence of prev_seqs: a sid, of books with a market.
type sequenceID struct{ sid, market uint64 }

// frameCounts is what came of one type of frame.
type frameCounts struct {
	count, gaps int64
	newest      uint64       // seq
	arrivals    timingSample // when the first frame of each seq was in hand
}

func newFrameReader(on *target, as *trader, user bool) *frameReader {
	t := &frameReader{on: on, as: as, channels: []string{"orderbook_delta", "trades", "oracle"}, rows: map[string]*frameCounts{}, closes: map[int]int{}}
	if user {
		t.channels = append(t.channels, "user")
	}
	return t
}

// The opcodes of RFC 6455, 5.2, with FIN.
const (
	wsText  = 0x81
	wsClose = 0x88
	wsPing  = 0x89
	wsPong  = 0x8a
)

const (
	upgrade        = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	frameHeadBytes = 192 // bytes of a frame that are looked at
)

// open shakes hands and subscribes: to all markets, also those that open later. It
// returns once the venue has taken all channels.
func (t *frameReader) open(ctx context.Context) error {
	w, err := t.on.dial(t.as)
	if err != nil {
		return err
	}
	t.wire, t.last, t.acks = w, map[sequenceID]uint64{}, 0
	t.release = context.AfterFunc(ctx, func() { _ = w.conn.SetReadDeadline(time.Unix(1, 0)) }) // of a closed one it does nothing
	status, answer, err := w.sendWith(upgrade, "GET", "/v1/ws", nil)
	if err == nil && status != http.StatusSwitchingProtocols {
		err = fmt.Errorf("a reader was refused: %d %s", status, answer)
	}
	if err == nil {
		err = t.send(wsText, fmt.Appendf(nil, `{"id":1,"cmd":"subscribe","params":{"channels":["%s"]}}`, strings.Join(t.channels, `","`)))
	}
	for err == nil && t.acks < len(t.channels) {
		err = t.next()
	}
	if err != nil {
		t.close()
	}
	return err
}

func (t *frameReader) close() {
	t.release()
	_ = t.wire.conn.Close() // the venue may have
}

// send writes a short frame of a client's. Its mask is zero.
func (t *frameReader) send(op byte, text []byte) error {
	b := []byte{op, 0x80 | byte(len(text))}
	if len(text) > 125 {
		b = bin.BigEndian.AppendUint16([]byte{op, 0x80 | 126}, uint16(len(text)))
	}
	_, err := t.wire.conn.Write(append(append(b, 0, 0, 0, 0), text...))
	return err
}

// run reads until ctx ends. A connection that is closed is replaced, as any reader
// would.
func (t *frameReader) run(ctx context.Context, start time.Time) error {
	t.begun = start
	clear(t.rows)
	for {
		err := t.next()
		if err == nil {
			continue
		}
		t.close()
		if ctx.Err() != nil {
			return nil
		}
		var code closeCode
		var broke *net.OpError
		switch {
		case errors.As(err, &code):
		case errors.As(err, &broke), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			code = 1006
		default:
			return err
		}
		t.closes[int(code)]++
		if err := t.open(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// closeCode is the code the venue closed with.
type closeCode int

func (c closeCode) Error() string { return fmt.Sprintf("closed with %d", int(c)) }

// next takes one frame.
func (t *frameReader) next() error {
	r := t.wire.r
	h, err := r.Peek(2)
	if err != nil {
		return err
	}
	op, n, head := h[0], int(h[1]), 2
	if n >= 0x80 {
		return fmt.Errorf("a masked frame of opcode %#x", op)
	}
	switch n {
	case 126:
		if h, err = r.Peek(4); err != nil {
			return err
		}
		n, head = int(bin.BigEndian.Uint16(h[2:])), 4
	case 127:
		if h, err = r.Peek(10); err != nil {
			return err
		}
		n, head = int(bin.BigEndian.Uint64(h[2:])), 10
	}
	if _, err = r.Discard(head); err != nil {
		return err
	}
	text, err := r.Peek(min(n, frameHeadBytes))
	if err != nil {
		return err
	}
	switch op {
	case wsText:
		return t.message(text, n)
	case wsPing:
		err = t.send(wsPong, text)
	case wsPong:
	case wsClose:
		err = closeCode(1005) // there is no code
		if n >= 2 {
			err = closeCode(bin.BigEndian.Uint16(text))
		}
	default:
		err = fmt.Errorf("a frame of opcode %#x", op)
	}
	_, skipped := r.Discard(n)
	return errors.Join(err, skipped)
}

// message takes one of n bytes, of which the first are at hand.
func (t *frameReader) message(text []byte, n int) error {
	f, ok := parseFrameHeader(text)
	if !ok {
		if !bytes.HasPrefix(text, []byte(`{"id":1,"type":"subscribed"`)) {
			return fmt.Errorf("a reader was told %q", text)
		}
		t.acks++
		_, err := t.wire.r.Discard(n)
		return err
	}
	x := t.rows[string(f.typ)]
	if x == nil {
		x = &frameCounts{}
		t.rows[string(f.typ)] = x
	}
	timed := !bytes.HasSuffix(f.typ, []byte("_snapshot")) // their seq caused nothing
	if _, err := t.wire.r.Discard(n); err != nil {
		return err
	}
	x.count++
	if t.last[f.chain] != f.prev {
		x.gaps++
	}
	t.last[f.chain] = f.seq
	if timed && f.seq > x.newest {
		x.newest = f.seq
		x.arrivals.add(timing{seq: f.seq, received: time.Since(t.begun)})
	}
	return nil
}

// frameHeader is the head of a frame of data.
type frameHeader struct {
	typ       []byte
	chain     sequenceID
	seq, prev uint64
}

// parseFrameHeader reads it as the venue writes it; false if it is another message.
//
//	{"type":"trade","sid":2,"seq":"184","prev_seq":"180","msg":{"market_id":3,
func parseFrameHeader(b []byte) (f frameHeader, ok bool) {
	rest, ok := bytes.CutPrefix(b, []byte(`{"type":"`))
	if !ok {
		return f, false
	}
	if f.typ, rest, ok = bytes.Cut(rest, []byte(`","sid":`)); !ok {
		return f, false
	}
	if f.chain.sid, rest, ok = number(rest, `,"seq":"`); !ok {
		return f, false
	}
	if f.seq, rest, ok = number(rest, `","prev_seq":"`); !ok {
		return f, false
	}
	if f.prev, rest, ok = number(rest, `","msg":{`); !ok || !bytes.HasPrefix(f.typ, []byte("orderbook_")) {
		return f, ok
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`"market_id":`)); !ok {
		return f, false
	}
	f.chain.market, _, ok = number(rest, ",")
	return f, ok
}

// number reads digits and what follows them.
func number(b []byte, then string) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		n = 10*n + uint64(b[i]-'0')
	}
	rest, ok = bytes.CutPrefix(b[i:], []byte(then))
	return n, rest, ok && i > 0
}

// timing is when a command was sent, or due, and when something of its seq was in
// hand: both since the run began.
type timing struct {
	seq            uint64
	sent, received time.Duration
}

const maxSampleSize = 1 << 16

// timingSample keeps moments, at first of all seqs. Where they become too many it drops every
// second seq, so that of two samples the smaller is in the larger.
type timingSample struct {
	mask uint64
	all  []timing
}

func (s *timingSample) add(m timing) {
	for len(s.all) >= maxSampleSize {
		s.mask = s.mask<<1 | 1
		s.all = slices.DeleteFunc(s.all, func(m timing) bool { return m.seq&s.mask != 0 })
	}
	if m.seq&s.mask == 0 {
		s.all = append(s.all, m)
	}
}
