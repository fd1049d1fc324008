package ws

import "encoding/binary"

// headers parses the frame headers (RFC 6455, 5.2) in a client's stream and rejects a message
// by its declared length. The library rejects it only after reading more than the cap.
// Payloads are counted, not stored.
//
// A header that is malformed in any other way ends the parsing: the library reads the same
// bytes and closes the connection with 1002.
type headers struct {
	head    [2 + 8]byte // the current header without its mask
	n       int         // number of bytes in head
	skip    uint64      // remaining bytes of the current mask and payload
	message uint64      // payload bytes that the message's frames have declared so far
	open    bool        // inside a message of several frames
	done    bool        // a header was malformed
}

const (
	finBit     = 0x80
	reserved   = 0x70
	maskBit    = 0x80
	controlBit = 0x08
	opcodeMask = 0x0f
	opcodePong = 0x0a // the last control frame; a continuation is opcode 0
	opcodeBin  = 0x02 // the last data frame
	maskLen    = 4
	controlLen = 125 // the longest payload of a control frame
)

// scan parses the next chunk of the stream. It returns len(p) and true; or, if a frame makes
// its message longer than maxMessageBytes, the number of bytes in p before that frame and
// false. After false, scan must not be called again.
func (h *headers) scan(p []byte) (valid int, ok bool) {
	start := -h.n // offset of the current frame in p; negative if it began in an earlier chunk
	for i := 0; i < len(p) && !h.done; {
		if h.skip > 0 {
			k := min(h.skip, uint64(len(p)-i))
			h.skip -= k
			i += int(k)
			start = i
			continue
		}
		h.head[h.n] = p[i]
		h.n++
		i++
		if h.n < 2 || h.n < h.len() {
			continue
		}
		if !h.frame() {
			return max(start, 0), false
		}
		h.n = 0
	}
	return len(p), true
}

// len returns the length of the header without its mask. head holds at least two bytes.
func (h *headers) len() int {
	switch h.head[1] &^ maskBit {
	case 126:
		return 2 + 2
	case 127:
		return 2 + 8
	default:
		return 2
	}
}

// frame handles a complete header. It returns false if the message is too long.
func (h *headers) frame() bool {
	op, fin := h.head[0]&opcodeMask, h.head[0]&finBit != 0
	length := uint64(h.head[1] &^ maskBit)
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(h.head[2:]))
	case 127:
		length = binary.BigEndian.Uint64(h.head[2:])
	}
	h.skip = maskLen + length
	switch {
	case h.head[0]&reserved != 0 || h.head[1]&maskBit == 0 || length>>63 != 0:
		h.done = true
	case op&controlBit != 0:
		h.done = op > opcodePong || !fin || length > controlLen
	case op > opcodeBin || (op == 0) != h.open:
		h.done = true
	default:
		if op != 0 {
			h.message = 0
		}
		h.message += length // cannot overflow: the sum before is at most maxMessageBytes
		h.open = !fin
		return h.message <= maxMessageBytes
	}
	return true
}
