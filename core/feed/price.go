package feed

import (
	"errors"
	"math"

	"duplex/core"
)

// decimals of a core.Price: prices are integers at 1e8 scale (spec 2.4).
const decimals = 8

// maxPriceText is the longest text that is taken for a price at all; longer is
// garbage (contract oracle, Rule).
const maxPriceText = 30

var (
	ErrPriceText  = errors.New("feed: not a plain decimal price")
	ErrPriceRange = errors.New("feed: price beyond 64 bits at 1e8 scale")
)

// ParsePrice reads a decimal text such as "65000.125" into 1e8 scale, never
// through a float (contract oracle, Rule). Digits past the eighth decimal are
// cut off. Zero is a price here; Index.Update is what drops it.
//
// Returns ErrPriceText for signs, exponents, spaces, a bare point, an empty text
// or one of more than 30 characters; ErrPriceRange for what does not fit.
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

// scale reads whole.part, both digits alone.
func scale(whole, part string) (core.Price, error) {
	var v uint64
	var ok bool
	for i := range len(whole) {
		if v, ok = push(v, whole[i]-'0'); !ok {
			return 0, ErrPriceRange
		}
	}
	for i := range decimals {
		d := byte(0)
		if i < len(part) {
			d = part[i] - '0'
		}
		if v, ok = push(v, d); !ok {
			return 0, ErrPriceRange
		}
	}
	return core.Price(v), nil
}

// push appends a digit; false if 64 bits do not hold it.
func push(v uint64, digit byte) (uint64, bool) {
	if v > (math.MaxUint64-uint64(digit))/10 {
		return 0, false
	}
	return v*10 + uint64(digit), true
}
