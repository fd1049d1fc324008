package schemas

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// U64 is an unsigned 64-bit integer, a decimal string on the wire. Leading zeros are
// accepted; encoding drops them (docs/rules/rest.md#values).
type U64 uint64

var (
	errDigits  = errors.New("not a whole number as a string")
	errU64     = errors.New("over 2^64 − 1")
	errInteger = errors.New("not an integer")
	errFixed   = errors.New("not a decimal number")
	errDollars = errors.New("not dollars over 0 with at most two decimals")
)

// Int64 returns u as an int64. It saturates at 2^63 − 1.
func (u U64) Int64() int64 { return int64(min(u, math.MaxInt64)) }

func (u U64) String() string { return strconv.FormatUint(uint64(u), 10) }

// MarshalText returns the decimal digits.
func (u U64) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(u), 10), nil }

// UnmarshalText parses decimal digits. It fails on any other text and above 2^64 − 1.
func (u *U64) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errDigits
	}
	var n uint64
	for _, c := range text {
		d := uint64(c - '0')
		if d > 9 {
			return errDigits
		}
		if n > (math.MaxUint64-d)/10 {
			return errU64
		}
		n = n*10 + d
	}
	*u = U64(n)
	return nil
}

// MarshalJSONTo writes the decimal string.
func (u U64) MarshalJSONTo(enc *jsontext.Encoder) error {
	b := append(enc.AvailableBuffer(), '"')
	return enc.WriteValue(append(strconv.AppendUint(b, uint64(u), 10), '"'))
}

// UnmarshalJSONFrom accepts only a JSON string. Null and numbers are errors.
func (u *U64) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() != '"' {
		return errDigits
	}
	var room [32]byte
	text, err := jsontext.AppendUnquote(room[:0], v)
	if err != nil {
		return err
	}
	return u.UnmarshalText(text)
}

// Decimal is a price at 1e8 scale, written as an exact decimal string with at least two
// digits after the point: 6500454000000 is "65004.54" (docs/rules/rest.md#decimal-strings).
type Decimal uint64

// USD is an amount of pips, written as exact dollars with at least two digits after the
// point: 605 is "0.0605" (docs/rules/rest.md#decimal-strings).
type USD uint64

const (
	decimalPlaces = 8 // of a price at 1e8 scale
	usdPlaces     = 4 // of pips, 10000 of which are $1
)

// MarshalText returns the decimal number.
func (d Decimal) MarshalText() ([]byte, error) {
	return appendFixed(nil, uint64(d), decimalPlaces), nil
}

func (d Decimal) String() string { return string(appendFixed(nil, uint64(d), decimalPlaces)) }

// UnmarshalText parses what MarshalText returns.
func (d *Decimal) UnmarshalText(text []byte) error {
	n, err := parseFixed(text, decimalPlaces)
	*d = Decimal(n)
	return err
}

// MarshalText returns the dollars.
func (u USD) MarshalText() ([]byte, error) { return appendFixed(nil, uint64(u), usdPlaces), nil }

func (u USD) String() string { return string(appendFixed(nil, uint64(u), usdPlaces)) }

// UnmarshalText parses what MarshalText returns.
func (u *USD) UnmarshalText(text []byte) error {
	n, err := parseFixed(text, usdPlaces)
	*u = USD(n)
	return err
}

// minFixedPlaces is the least number of digits after the point of a decimal string.
const minFixedPlaces = 2

// appendFixed appends n ÷ 10^places to dst, without zeros at the end beyond the second
// place.
func appendFixed(dst []byte, n uint64, places int) []byte {
	scale := uint64(1)
	for range places {
		scale *= 10
	}
	dst = append(strconv.AppendUint(dst, n/scale, 10), '.')
	rest := n % scale
	for i := 0; i < places && (i < minFixedPlaces || rest > 0); i++ {
		scale /= 10
		dst = append(dst, byte('0'+rest/scale))
		rest %= scale
	}
	return dst
}

// parseFixed parses a decimal number with at most places digits after the point.
func parseFixed(text []byte, places int) (uint64, error) {
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	if len(whole) == 0 || len(fraction) > places {
		return 0, errFixed
	}
	digits := append(append(make([]byte, 0, len(whole)+places), whole...), fraction...)
	for range places - len(fraction) {
		digits = append(digits, '0')
	}
	var n U64
	err := n.UnmarshalText(digits)
	if errors.Is(err, errDigits) {
		err = errFixed
	}
	return uint64(n), err
}

// Signed is an amount of pips that may be negative: a decimal string on the wire, like
// all money.
type Signed int64

// MarshalText returns the decimal digits, after a minus sign if s is negative.
func (s Signed) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(s), 10), nil }

// UnmarshalText parses decimal digits after an optional sign.
func (s *Signed) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	*s = Signed(n)
	return err
}

// SignedUSD is an amount of pips that may be negative, written as exact dollars: -605 is
// "-0.0605" (docs/rules/rest.md#decimal-strings).
type SignedUSD int64

// MarshalText returns the dollars, after a minus sign if s is negative.
func (s SignedUSD) MarshalText() ([]byte, error) {
	if s < 0 {
		return appendFixed([]byte{'-'}, -uint64(s), usdPlaces), nil
	}
	return appendFixed(nil, uint64(s), usdPlaces), nil
}

// UnmarshalText parses what MarshalText returns.
func (s *SignedUSD) UnmarshalText(text []byte) error {
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	n, err := parseFixed(digits, usdPlaces)
	switch {
	case err != nil:
		return err
	case n > math.MaxInt64:
		return errInteger
	case negative:
		*s = -SignedUSD(n)
	default:
		*s = SignedUSD(n)
	}
	return nil
}

// Int is an integer of a request: a JSON integer literal, so 1.0 and 1e2 are faults
// (docs/rules/rest.md#values). A literal beyond 64 bits saturates, so that the field's
// own fault, such as bad_qty, is returned.
type Int int64

// Clamp32 returns i as an int32. It saturates at both ends.
func (i Int) Clamp32() int32 { return int32(min(max(i, math.MinInt32), math.MaxInt32)) }

// MarketID returns i as a market id, or 0, the id of no market, if i does not fit into
// 32 bits. It never truncates an id to another one.
func (i Int) MarketID() uint32 {
	if i < 0 || i > U32Max {
		return 0
	}
	return uint32(i)
}

// UnmarshalJSONFrom accepts only an integer literal. Null is an error.
func (i *Int) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return i.parse(v)
}

// parse parses a JSON integer: an optional minus sign and digits, without a leading
// zero, a fraction or an exponent.
func (i *Int) parse(text []byte) error {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || (digits[0] == '0' && len(digits) > 1) {
		return errInteger
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return errInteger
		}
		if n <= math.MaxInt64/10 {
			n = n*10 + uint64(c-'0')
		} else {
			n = math.MaxUint64 // stays saturated, since it is above MaxInt64/10
		}
	}
	switch {
	case len(digits) < len(text) && n > math.MaxInt64:
		*i = math.MinInt64
	case len(digits) < len(text):
		*i = -Int(n)
	default:
		*i = Int(min(n, math.MaxInt64))
	}
	return nil
}

// Ptr returns a pointer to v, for the optional fields of requests.
func Ptr[T any](v T) *T { return &v }
