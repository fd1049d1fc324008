package venue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// The state is one item of CBOR, an array of the fields of state. It is encoded and
// decoded in pieces which, joined, are that item: its head, then each field, and of a
// field that is a list of structs its head and then each element. So nothing holds the
// whole state in a second form.

var errPieces = errors.New("the pieces do not fit together")

// encodedFields are the fields that are encoded.
func encodedFields(t reflect.Type) (list []int) {
	for i := range t.NumField() {
		if t.Field(i).Name != "_" {
			list = append(list, i)
		}
	}
	return list
}

// inElements tells whether the elements of a field are pieces of their own.
func inElements(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// arrayHead is the head of a CBOR array of n items, in its shortest form.
func arrayHead(n int) []byte {
	const array = 4 << 5
	switch {
	case n < 24:
		return []byte{array | byte(n)}
	case n < 1<<8:
		return []byte{array | 24, byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{array | 25}, uint16(n))
	default:
		return binary.BigEndian.AppendUint32([]byte{array | 26}, uint32(n))
	}
}

// readArrayHead reads what arrayHead made.
func readArrayHead(b []byte) (n int, err error) {
	switch {
	case len(b) == 2:
		n = int(b[1])
	case len(b) == 3:
		n = int(binary.BigEndian.Uint16(b[1:]))
	case len(b) == 5:
		n = int(binary.BigEndian.Uint32(b[1:]))
	case len(b) == 1:
		n = int(b[0] & 31)
	}
	if !bytes.Equal(arrayHead(n), b) {
		return 0, errPieces
	}
	return n, nil
}

// RestorePieces makes a venue of Pieces, and gives the hash of the state they are. A
// piece is read before the next is asked for.
func RestorePieces(pieces iter.Seq2[[]byte, error]) (v *Venue, hash [32]byte, err error) {
	next, stop := iter.Pull2(pieces)
	defer stop()
	h := sha256.New()
	take := func() ([]byte, error) {
		b, err, ok := next()
		if err == nil && !ok {
			err = errPieces
		}
		h.Write(b)
		return b, err
	}
	var s state
	err = s.take(take)
	if _, _, more := next(); err == nil && more {
		err = errPieces
	}
	if err != nil {
		return nil, hash, fmt.Errorf("state of the venue: %w", err)
	}
	h.Sum(hash[:0])
	v, err = restore(&s)
	return v, hash, err
}

func (s *state) take(next func() ([]byte, error)) error {
	b, err := next()
	if err != nil {
		return err
	}
	to := reflect.ValueOf(s).Elem()
	fields := encodedFields(to.Type())
	// A state of an older program has fewer fields: those that it lacks are empty.
	n, err := readArrayHead(b)
	if err != nil || n > len(fields) {
		return errPieces
	}
	for _, i := range fields[:n] {
		if err := takeField(to.Field(i), next); err != nil {
			return fmt.Errorf("%s: %w", to.Type().Field(i).Name, err)
		}
	}
	return nil
}

func takeField(f reflect.Value, next func() ([]byte, error)) error {
	b, err := next()
	if err != nil {
		return err
	}
	const null = 0xf6
	if !inElements(f.Type()) || len(b) == 1 && b[0] == null {
		return cbor.Unmarshal(b, f.Addr().Interface())
	}
	n, err := readArrayHead(b)
	if err != nil {
		return err
	}
	f.Set(reflect.MakeSlice(f.Type(), 0, min(n, 1<<10)))
	for i := range n {
		if b, err = next(); err != nil {
			return err
		}
		f.Grow(1)
		f.SetLen(i + 1)
		if err := cbor.Unmarshal(b, f.Index(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}
