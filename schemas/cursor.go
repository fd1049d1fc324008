package schemas

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/go-json-experiment/json/jsontext"
)

// CursorBinding ties a cursor to one list: a venue, a route, an account and the filters of the
// request (docs/rules/rest.md#cursors).
type CursorBinding [sha256.Size]byte

// BindCursor returns the binding of a list request. venue is a number that differs between venues.
// Every path and query field of in is a filter, except limit, cursor and min_seq.
func BindCursor(venue uint64, route string, user uint32, in any) CursorBinding {
	text := binary.AppendUvarint([]byte("duplex cursor 1\n"+route+"\n"), uint64(user))
	text = binary.AppendUvarint(text, venue)
	err := eachField(in, func(f *field, value jsontext.Value) {
		if f.Name != "limit" && f.Name != "cursor" && f.Name != "min_seq" {
			text = append(append(append(text, f.Name...), '='), value...)
			text = append(text, '\n')
		}
	})
	if err != nil {
		panic(err) // a request that was decoded always encodes
	}
	return sha256.Sum256(text)
}

// cursorDigestLen is the length of the digest in a cursor, in bytes. The digest detects
// mistakes of clients, across restarts and nodes. It does not resist an attacker, and
// need not: a forged position shows only the caller's own list.
const cursorDigestLen = 8

// EncodeCursor returns an opaque cursor for the position at which a page ended.
func EncodeCursor(b CursorBinding, position ...uint64) string {
	var raw []byte
	for _, n := range position {
		raw = binary.AppendUvarint(raw, n)
	}
	sum := b.digest(raw)
	return base64.RawURLEncoding.EncodeToString(append(raw, sum[:]...))
}

// DecodeCursor stores the position of a cursor in the given numbers. It returns
// bad_cursor for a cursor of another venue, route, account or filter, and for any other text.
func DecodeCursor(b CursorBinding, cursor string, position ...*uint64) *Fault {
	bad := newFault("bad_cursor", "cursor", quoted(cursor), "the cursor of the page before, with the same filters")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < cursorDigestLen || base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return bad // DecodeString ignores line ends and unused bits
	}
	raw, sum := raw[:len(raw)-cursorDigestLen], raw[len(raw)-cursorDigestLen:]
	if b.digest(raw) != [cursorDigestLen]byte(sum) {
		return bad
	}
	for _, at := range position {
		n, size := binary.Uvarint(raw)
		if size <= 0 {
			return bad
		}
		*at, raw = n, raw[size:]
	}
	if len(raw) != 0 {
		return bad
	}
	return nil
}

func (b CursorBinding) digest(raw []byte) [cursorDigestLen]byte {
	sum := sha256.Sum256(append(b[:len(b):len(b)], raw...))
	return [cursorDigestLen]byte(sum[:cursorDigestLen])
}
