package journal

import (
	"encoding/binary"
	"errors"
	"math"
)

var (
	errShort   = errors.New("cut short")
	errLong    = errors.New("bytes left over")
	errVarint  = errors.New("number not in its shortest form")
	errRange   = errors.New("number out of range")
	errEnum    = errors.New("unknown enum value")
	errTooLong = errors.New("longer than allowed")
)

// payload reads packed encodings. The first error stays, so that a decoder reads all fields
// and checks the error once, in end.
type payload struct {
	b   []byte
	err error
}

func (p *payload) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.b = nil
}

// u reads an unsigned number of at most max. It accepts only the shortest encoding, so that
// each command has one encoding.
func (p *payload) u(max uint64) uint64 {
	if p.err != nil {
		return 0
	}
	v, n := binary.Uvarint(p.b)
	switch {
	case n == 0:
		p.fail(errShort)
	case n < 0 || v > max:
		p.fail(errRange)
	case n > 1 && p.b[n-1] == 0:
		p.fail(errVarint)
	default:
		p.b = p.b[n:]
		return v
	}
	return 0
}

// i reads a zigzag number within [min, max].
func (p *payload) i(min, max int64) int64 {
	z := p.u(math.MaxUint64)
	v := int64(z>>1) ^ -int64(z&1)
	if v < min || v > max {
		p.fail(errRange)
		return 0
	}
	return v
}

func (p *payload) byte() byte {
	if p.err != nil {
		return 0
	}
	if len(p.b) == 0 {
		p.fail(errShort)
		return 0
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c
}

// flag reads a byte that is 0 or 1.
func (p *payload) flag() bool {
	c := p.byte()
	if c > 1 {
		p.fail(errEnum)
	}
	return c == 1
}

func (p *payload) string(max uint64) string {
	n := p.u(max)
	if n > uint64(len(p.b)) {
		p.fail(errShort)
		return ""
	}
	s := string(p.b[:n])
	p.b = p.b[n:]
	return s
}

// end returns the first error, or an error if bytes are left over.
func (p *payload) end() error {
	if p.err == nil && len(p.b) > 0 {
		return errLong
	}
	return p.err
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendFlag(dst []byte, on bool) []byte {
	if on {
		return append(dst, 1)
	}
	return append(dst, 0)
}
