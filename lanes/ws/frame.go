package ws

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"duplex/core"
	"duplex/schemas"
)

// frame is one message, encoded once for all its readers:
//
//	{"type":"trade","sid":            head
//	2                                 by reader
//	,"seq":"184","prev_seq":"         body[:prevAt]
//	180                               by reader
//	","msg":{…}}                      body[prevAt:]
//
// A frame for a single connection (an answer, a ping) is whole: body holds all of it, with
// its frame header.
type frame struct {
	channel      channel
	market       core.MarketID // 0 if it belongs to no market
	conflationID uint8         // the feed or market; a newer frame of the same one replaces this one
	seq          uint64
	head         string
	body         []byte
	prevAt       int
}

// frameOf returns the frame of msg.
func frameOf(c channel, typ string, m core.MarketID, seq uint64, msg any) *frame {
	f := newFrame(c, typ, m, seq)
	body, err := schemas.Append(f.body, msg)
	if err != nil { // impossible: msg has one of our own types
		panic(err)
	}
	return f.close(body)
}

// newFrame returns a frame without its msg. The caller appends the msg to f.body and passes
// the result to close.
func newFrame(c channel, typ string, m core.MarketID, seq uint64) *frame {
	f := &frame{channel: c, market: m, conflationID: uint8(m), head: frameHeads[typ]}
	f.stamp(make([]byte, 0, 256), seq)
	f.body = append(f.body, `","msg":`...)
	return f
}

// stamp writes the seq to b and makes b the start of the frame's body.
func (f *frame) stamp(b []byte, seq uint64) {
	b = append(b, `,"seq":"`...)
	f.body = append(strconv.AppendUint(b, seq, 10), `","prev_seq":"`...)
	f.seq, f.prevAt = seq, len(f.body)
}

// asOf returns a copy of a snapshot of a book with another stamp. Its ts is its last member, so
// that only the ends of the message are written again.
func (f *frame) asOf(at core.Stamp) *frame {
	out := *f
	out.stamp(make([]byte, 0, len(f.body)+20), at.Seq)
	return out.closeBook(append(out.body, f.body[f.prevAt:bytes.LastIndex(f.body, tsOfBook)]...), at.Ts)
}

var tsOfBook = []byte(`,"ts":"`)

// closeBook is close for a book, whose ts it appends.
func (f *frame) closeBook(body []byte, ts int64) *frame {
	return f.close(append(strconv.AppendInt(append(body, tsOfBook...), ts, 10), `"}`...))
}

func (f *frame) close(body []byte) *frame {
	f.body = append(body, '}')
	return f
}

var frameHeads = map[string]string{}

func init() {
	for _, typ := range []string{"orderbook_delta", "orderbook_snapshot", "trade", "oracle", "round", "user_snapshot", "user"} {
		frameHeads[typ] = `{"type":"` + typ + `","sid":`
	}
}

// size returns the frame's share of a queue's bytes. It counts sid and prev_seq at their
// widest.
func (f *frame) size() int { return len(f.head) + len(f.body) + 40 }

// item is a frame in the queue of one connection.
type item struct {
	f    *frame
	sub  *sub   // nil if the frame is whole
	prev uint64 // its prev_seq
	at   int64  // lane.clock when it was queued
}

// append appends the item to dst as an unmasked text frame (RFC 6455).
func (x *item) append(dst []byte) []byte {
	if x.sub == nil {
		return append(dst, x.f.body...)
	}
	var digits [20]byte
	prev := strconv.AppendUint(digits[:0], x.prev, 10)
	f := x.f
	dst = appendHeader(dst, opText, len(f.head)+len(x.sub.sidText)+len(f.body)+len(prev))
	dst = append(append(dst, f.head...), x.sub.sidText...)
	dst = append(append(dst, f.body[:f.prevAt]...), prev...)
	return append(dst, f.body[f.prevAt:]...)
}

// The first header bytes of the frames written here: FIN and an opcode (RFC 6455, 5.2).
const (
	opText  = 0x81
	opClose = 0x88
	opPing  = 0x89
)

func appendHeader(dst []byte, op byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, op, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, op, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, op, 127), uint64(n))
	}
}

// replyFrame returns the whole frame of an answer.
func replyFrame(a *schemas.WSAnswer) *frame {
	text, err := schemas.Append(nil, a)
	if err != nil {
		panic(err)
	}
	return &frame{body: append(appendHeader(nil, opText, len(text)), text...)}
}

var ping = &frame{body: appendHeader(nil, opPing, 0)}

// closeFrame returns a whole close frame.
func closeFrame(code int, reason string) *frame {
	b := appendHeader(nil, opClose, 2+len(reason))
	return &frame{body: append(binary.BigEndian.AppendUint16(b, uint16(code)), reason...)}
}
