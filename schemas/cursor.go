package schemas

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/go-json-experiment/json/jsontext"
)

// Binding ties cursors to one list: a route, an account and the filters asked for.
type Binding [sha256.Size]byte

// BindCursor makes the binding of a list request: every path and query field of in
// but limit, cursor and min_seq is a filter.
func BindCursor(route string, user uint32, in any) Binding {
	text := binary.AppendUvarint([]byte("duplex cursor 1\n"+route+"\n"), uint64(user))
	err := members(in, func(f *field, value jsontext.Value) {
		if f.name != "limit" && f.name != "cursor" && f.name != "min_seq" {
			text = append(append(append(text, f.name...), '='), value...)
			text = append(text, '\n')
		}
	})
	if err != nil {
		panic(err) // in was decoded, so it encodes
	}
	return sha256.Sum256(text)
}

// checkLen is how many bytes of the digest a cursor carries. It keeps a client's
// mistakes apart from our cursors, over restarts and nodes alike; it need not
// withstand an attacker, because a forged position shows nothing but the caller's
// own list.
const checkLen = 8

// EncodeCursor makes an opaque cursor of the position a page ended at.
func EncodeCursor(b Binding, position ...uint64) string {
	var raw []byte
	for _, n := range position {
		raw = binary.AppendUvarint(raw, n)
	}
	sum := b.check(raw)
	return base64.RawURLEncoding.EncodeToString(append(raw, sum[:]...))
}

// DecodeCursor gives the position back into the given numbers. A cursor that is
// not ours, or of another route, account or filters, is bad_cursor.
func DecodeCursor(b Binding, cursor string, position ...*uint64) *Fault {
	bad := faultAt("bad_cursor", "cursor", cursor, "the cursor of the page before, with the same filters")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < checkLen || base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return bad // the decoder overlooks line ends and stray bits
	}
	raw, sum := raw[:len(raw)-checkLen], raw[len(raw)-checkLen:]
	if b.check(raw) != [checkLen]byte(sum) {
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

func (b Binding) check(raw []byte) [checkLen]byte {
	sum := sha256.Sum256(append(b[:len(b):len(b)], raw...))
	return [checkLen]byte(sum[:checkLen])
}
