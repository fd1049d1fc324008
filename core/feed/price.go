package feed

import (
	"errors"
	"math"

	"duplex/core"
)

// decimals is the number of decimals of a core.Price, which is an integer at 1e8 scale.
const decimals = 8

// maxPriceText is the length of the longest text that ParsePrice accepts.
const maxPriceText = 30

// Errors of ParsePrice.
var (
	ErrPriceText  = errors.New("feed: not a plain decimal price")
	ErrPriceRange = errors.New("feed: price beyond 64 bits at 1e8 scale")
)

// ParsePrice converts decimal text such as "65000.125" to 1e8 scale without a float
// (docs/rules/prices-sources.md#scale). It truncates digits after the eighth decimal. It
// accepts 0, which Index.Update drops.
//
// It returns ErrPriceText for signs, exponents, spaces, a bare point, empty text or text
// of more than 30 characters, and ErrPriceRange for a price beyond 64 bits.
func ParsePrice(text string) (core.Price, error) {
	if len(text) > maxPriceText {
		return 0, ErrPriceText
	}
	point := -1
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
		case c == '.' && point < 0:
			point = i
		default:
			return 0, ErrPriceText
		}
	}
	whole, part := text, ""
	if point >= 0 {
		whole, part = text[:point], text[point+1:]
		if part == "" {
			return 0, ErrPriceText
		}
	}
	if whole == "" {
		return 0, ErrPriceText
	}
	return scale(whole, part)
}

// scale converts the number whole.part; both consist of digits.
func scale(whole, part string) (core.Price, error) {
	var v uint64
	var ok bool
	for i := range len(whole) {
		if v, ok = appendDigit(v, whole[i]-'0'); !ok {
			return 0, ErrPriceRange
		}
	}
	for i := range decimals {
		d := byte(0)
		if i < len(part) {
			d = part[i] - '0'
		}
		if v, ok = appendDigit(v, d); !ok {
			return 0, ErrPriceRange
		}
	}
	return core.Price(v), nil
}

// appendDigit returns 10 × v + digit; false if that overflows 64 bits.
func appendDigit(v uint64, digit byte) (uint64, bool) {
	if v > (math.MaxUint64-uint64(digit))/10 {
		return 0, false
	}
	return v*10 + uint64(digit), true
}
