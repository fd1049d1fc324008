package ws

import (
	"encoding/binary"
	"strconv"

	"duplex/core"
	"duplex/schemas"
)

// frame is one message of the stream, encoded once for all who read it:
//
//	{"type":"trade","sid":            head
//	2                                 the reader's
//	,"seq":"184","prev_seq":"         body, up to cut
//	180                               the reader's
//	","msg":{…}}                      body, from cut
//
// One that answers a single reader (a reply, a ping) has all of it in body, framed.
type frame struct {
	channel channel
	market  core.MarketID // 0: of no market
	latest  uint8         // of what this is the latest: the feed, or the market
	seq     uint64
	head    string
	body    []byte
	cut     int
}

// frameOf encodes a message of a type.
func frameOf(c channel, typ string, m core.MarketID, seq uint64, msg any) *frame {
	f := newFrame(c, typ, m, seq)
	body, err := schemas.Append(f.body, msg)
	if err != nil { // our own types always encode
		panic(err)
	}
	return f.close(body)
}

// newFrame begins a frame; what is appended to its body goes to close.
func newFrame(c channel, typ string, m core.MarketID, seq uint64) *frame {
	f := &frame{channel: c, market: m, latest: uint8(m), head: heads[typ]}
	f.stamp(make([]byte, 0, 256), seq)
	f.body = append(f.body, `","msg":`...)
	return f
}

// stamp begins the body with the seq.
func (f *frame) stamp(b []byte, seq uint64) {
	b = append(b, `,"seq":"`...)
	f.body = append(strconv.AppendUint(b, seq, 10), `","prev_seq":"`...)
	f.seq, f.cut = seq, len(f.body)
}

// asOf is the same message with another seq.
func (f *frame) asOf(seq uint64) *frame {
	out := *f
	out.stamp(make([]byte, 0, len(f.body)+20), seq)
	out.body = append(out.body, f.body[f.cut:]...)
	return &out
}

func (f *frame) close(body []byte) *frame {
	f.body = append(body, '}')
	return f
}

var heads = map[string]string{}

func init() {
	for _, typ := range []string{"orderbook_delta", "orderbook_snapshot", "trade", "oracle", "round", "user_snapshot", "user"} {
		heads[typ] = `{"type":"` + typ + `","sid":`
	}
}

// size is what the frame takes of a queue, its reader's part at its widest.
func (f *frame) size() int { return len(f.head) + len(f.body) + 40 }

// item is a frame on its way to one reader.
type item struct {
	f    *frame
	sub  *sub // nil: the frame is whole
	prev uint64
}

// append writes the item as a text frame of RFC 6455, unmasked as servers send.
func (x *item) append(dst []byte) []byte {
	if x.sub == nil {
		return append(dst, x.f.body...)
	}
	var digits [20]byte
	prev := strconv.AppendUint(digits[:0], x.prev, 10)
	f := x.f
	dst = appendHeader(dst, opText, len(f.head)+len(x.sub.text)+len(f.body)+len(prev))
	dst = append(append(dst, f.head...), x.sub.text...)
	dst = append(append(dst, f.body[:f.cut]...), prev...)
	return append(dst, f.body[f.cut:]...)
}

// The opcodes that are written here (RFC 6455, 5.2), with FIN.
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

// reply is a message for one reader alone.
func reply(a *schemas.WSAnswer) *frame {
	text, err := schemas.Append(nil, a)
	if err != nil {
		panic(err)
	}
	return &frame{body: append(appendHeader(nil, opText, len(text)), text...)}
}

var ping = &frame{body: appendHeader(nil, opPing, 0)}

// closing is a close frame.
func closing(code int, reason string) *frame {
	b := appendHeader(nil, opClose, 2+len(reason))
	return &frame{body: append(binary.BigEndian.AppendUint16(b, uint16(code)), reason...)}
}
