package ws

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHeadersInAnyChunks checks that scan accepts exactly the bytes before the first frame
// that exceeds the cap, for any division of the stream into chunks.
func TestHeadersInAnyChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream, valid, tooBig := clientStream(t)
		var h headers
		accepted := 0
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 9000)).Draw(t, "chunk")
			k, ok := h.scan(rest[:n])
			accepted += k
			if !ok {
				// An earlier chunk may have ended inside the frame's header.
				if !tooBig || accepted < valid || accepted >= valid+10 {
					t.Fatalf("rejected after %d of %d bytes; %d are valid", accepted, len(stream), valid)
				}
				return
			}
			rest = rest[n:]
		}
		if tooBig || h.done {
			t.Fatalf("all %d bytes accepted; %d are valid; done = %t", accepted, valid, h.done)
		}
	})
}

// clientStream draws a client's messages, some in parts, with control frames between. The
// last message may exceed the cap. The stream then ends with the header of the frame that
// exceeds it, and valid is the number of bytes before that frame.
func clientStream(t *rapid.T) (stream []byte, valid int, tooBig bool) {
	size := rapid.OneOf(rapid.SampledFrom([]int{0, 125, 126, 65535, maxMessageBytes}), rapid.IntRange(0, 300))
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		op, message := byte(opcodeBin-rapid.IntRange(0, 1).Draw(t, "text")), 0
		for parts := rapid.IntRange(1, 4).Draw(t, "parts"); parts > 0; parts-- {
			for range rapid.IntRange(0, 2).Draw(t, "control") {
				n := rapid.IntRange(0, controlLen).Draw(t, "control length")
				stream = append(stream, masked(finBit|0x09, bytes.Repeat([]byte{0xff}, n))...)
			}
			n := size.Draw(t, "length")
			head := op
			if parts == 1 {
				head |= finBit
			}
			if message += n; message > maxMessageBytes {
				valid = len(stream)
				return append(stream, declared(head, uint64(n))...), valid, true
			}
			stream, op = append(stream, masked(head, bytes.Repeat([]byte{0xff}, n))...), 0
		}
	}
	return stream, len(stream), false
}

// TestHeadersLeaveTheRest checks that scan accepts headers that are malformed in other ways,
// which the library rejects, and does not parse the bytes after them.
func TestHeadersLeaveTheRest(t *testing.T) {
	huge := declared(0x81, 1<<40)
	for name, bad := range map[string][]byte{
		"unmasked": {0x81, 2}, "reserved bits": masked(0xc1, nil), "an unknown opcode": masked(0x83, nil), "an unknown control opcode": masked(0x8b, nil),
		"a fragmented ping": masked(0x09, nil), "a long ping": masked(0x89, make([]byte, 126)), "a continuation of nothing": masked(0x80, nil),
		"a message within another": append(masked(0x01, nil), masked(0x81, nil)...), "a negative length": declared(0x81, 1<<63),
	} {
		var h headers
		if n, ok := h.scan(append(slices.Clone(bad), huge...)); !ok || n != len(bad)+len(huge) || !h.done {
			t.Errorf("%s: %d %t, want all %d bytes, and done", name, n, ok, len(bad)+len(huge))
		}
		if n, ok := h.scan(huge); !ok || n != len(huge) {
			t.Errorf("after %s: %d %t", name, n, ok)
		}
	}
}

// TestControlLimit checks that 10 pings a second are allowed indefinitely and 11 are not.
func TestControlLimit(t *testing.T) {
	for perSecond, want := range map[int]bool{controlRate: true, controlRate + 1: false} {
		limit, now, allowed := controlLimit(), time.Unix(1_700_000_000, 0), true
		for range 60 * perSecond {
			now = now.Add(time.Second / time.Duration(perSecond))
			allowed = allowed && limit.AllowN(now, 1)
		}
		if allowed != want {
			t.Errorf("%d pings a second for a minute: allowed = %t, want %t", perSecond, allowed, want)
		}
	}
}
