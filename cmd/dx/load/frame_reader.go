package load

import (
	"bytes"
	"context"
	bin "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"duplex/internal/rawhttp"
)

// connsPerKey is the number of sockets that a key may have (docs/rules/limits.md#sockets).
const connsPerKey = 20

// frameReader is one connection of the event lane. It parses only the head of a frame,
// because the processor time that it spends would be missing at the venue beside it.
type frameReader struct {
	venue    *Venue
	as       *trader
	channels []string
	start    time.Time // of the run; times of arrival count from it

	wire    *rawhttp.Conn
	release func() bool
	last    map[sequenceID]uint64 // the seq of the last frame
	acks    int

	rows   map[string]*frameCounts // by type
	closes map[int]int             // by code
}

// sequenceID identifies a sequence of frames whose prev_seqs form a chain: a subscription,
// and for order books also a market.
type sequenceID struct{ sid, market uint64 }

// frameCounts counts the frames of one type.
type frameCounts struct {
	count, gaps int64
	newest      uint64       // the highest seq so far
	arrivals    timingSample // of the first frame of each seq
}

// newFrameReader returns a reader of all books, trades and the index; with user, of the
// trader's account too.
func newFrameReader(v *Venue, as *trader, user bool) *frameReader {
	t := &frameReader{venue: v, as: as, channels: []string{"orderbook_delta", "trades", "oracle"}, rows: map[string]*frameCounts{}, closes: map[int]int{}}
	if user {
		t.channels = append(t.channels, "user")
	}
	return t
}

// The opcodes of RFC 6455, 5.2, with the bit FIN.
const (
	wsText  = 0x81
	wsClose = 0x88
	wsPing  = 0x89
	wsPong  = 0x8a
)

const frameHeadBytes = 192 // enough for what parseFrameHeader reads

// open connects and subscribes to all markets, including those that open later. It returns
// when the venue has confirmed all channels.
func (t *frameReader) open(ctx context.Context) error {
	w, err := t.venue.dial(t.as)
	if err != nil {
		return err
	}
	t.wire, t.last, t.acks = w, map[sequenceID]uint64{}, 0
	t.release = context.AfterFunc(ctx, func() { _ = w.SetReadDeadline(time.Unix(1, 0)) }) // unblocks a read; harmless after Close
	status, answer, err := w.Do("GET", "/v1/ws", rawhttp.Upgrade, nil)
	if err == nil && status != http.StatusSwitchingProtocols {
		err = fmt.Errorf("the event lane rejected a reader: %d %s", status, answer)
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
	_ = t.wire.Close() // fails if the venue has closed it
}

// send writes a frame of up to 65535 bytes, with a mask of zero.
func (t *frameReader) send(op byte, text []byte) error {
	_, err := t.wire.Write(rawhttp.ClientFrame(op, text))
	return err
}

// run reads until ctx ends. It counts what has arrived since start, and replaces a
// connection that closes or breaks.
func (t *frameReader) run(ctx context.Context, start time.Time) error {
	t.start = start
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
		var broken *net.OpError
		switch {
		case errors.As(err, &code):
		case errors.As(err, &broken), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			code = 1006 // no close frame
		default:
			return err
		}
		t.closes[int(code)]++
		if err := t.open(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// closeCode is the error of a connection that the venue has closed with this code.
type closeCode int

func (c closeCode) Error() string { return fmt.Sprintf("closed with %d", int(c)) }

// next reads one frame. It answers a ping, and returns a closeCode for a close frame.
func (t *frameReader) next() error {
	r := t.wire.R
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
		err = closeCode(1005) // no code in the frame
		if n >= 2 {
			err = closeCode(bin.BigEndian.Uint16(text))
		}
	default:
		err = fmt.Errorf("a frame of opcode %#x", op)
	}
	_, skipped := r.Discard(n)
	return errors.Join(err, skipped)
}

// message counts a text message of n bytes, of which text holds the first.
func (t *frameReader) message(text []byte, n int) error {
	f, ok := parseFrameHeader(text)
	if !ok {
		if !bytes.HasPrefix(text, []byte(`{"id":1,"type":"subscribed"`)) {
			return fmt.Errorf("unexpected message to a reader: %q", text)
		}
		t.acks++
		_, err := t.wire.R.Discard(n)
		return err
	}
	x := t.rows[string(f.typ)]
	if x == nil {
		x = &frameCounts{}
		t.rows[string(f.typ)] = x
	}
	timed := !bytes.HasSuffix(f.typ, []byte("_snapshot")) // no command causes a snapshot
	if _, err := t.wire.R.Discard(n); err != nil {
		return err
	}
	x.count++
	if t.last[f.sequence] != f.prev {
		x.gaps++
	}
	t.last[f.sequence] = f.seq
	if timed && f.seq > x.newest {
		x.newest = f.seq
		x.arrivals.add(timing{seq: f.seq, received: time.Since(t.start)})
	}
	return nil
}

// frameHeader holds the members that precede the data in a frame.
type frameHeader struct {
	typ       []byte
	sequence  sequenceID
	seq, prev uint64
}

// parseFrameHeader parses a frame as the venue writes it. It returns false for other
// messages.
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
	if f.sequence.sid, rest, ok = number(rest, `,"seq":"`); !ok {
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
	f.sequence.market, _, ok = number(rest, ",")
	return f, ok
}

// number parses digits that are followed by then, and returns the bytes after that.
func number(b []byte, then string) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		n = 10*n + uint64(b[i]-'0')
	}
	rest, ok = bytes.CutPrefix(b[i:], []byte(then))
	return n, rest, ok && i > 0
}
