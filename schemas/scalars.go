package schemas

import (
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// U64 is a u64-domain value: a decimal string on the wire, ^[0-9]+$ (spec 1.1).
// Leading zeros are accepted and rendered without (contract core, Orders).
type U64 uint64

var (
	errDigits  = errors.New("not a string of decimal digits")
	errU64     = errors.New("over 2^64 − 1")
	errInteger = errors.New("not an integer")
)

// Int64 is u as an int64, 2^63 − 1 where it does not fit.
func (u U64) Int64() int64 { return int64(min(u, math.MaxInt64)) }

func (u U64) String() string { return strconv.FormatUint(uint64(u), 10) }

// MarshalText renders the decimal digits.
func (u U64) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(u), 10), nil }

// UnmarshalText accepts digits only. It fails on anything else and past 2^64 − 1.
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

// UnmarshalJSONFrom accepts a JSON string alone: null and numbers are faults.
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

// Signed is an amount of pips that may be below 0: a decimal string on the wire like
// all money, ^-?[0-9]+$ (spec 1.1).
type Signed int64

// MarshalText renders the decimal digits, behind a minus where there is one.
func (s Signed) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(s), 10), nil }

// UnmarshalText reads them back.
func (s *Signed) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	*s = Signed(n)
	return err
}

// Int is an integer of a request: a JSON integer literal, so 1.0 and 1e2 are not
// (contract core, Orders). What passes 64 bits saturates, so that the rule of the
// field, bad_qty say, can answer.
type Int int64

// Clamp32 is i as an int32, held to that type's ends.
func (i Int) Clamp32() int32 { return int32(min(max(i, math.MinInt32), math.MaxInt32)) }

// Slot is i as the number of a market slot, or 0, which is no slot, where it
// cannot be one. It never truncates: 65537 is not slot 1.
func (i Int) Slot() uint16 {
	if i < 0 || i > math.MaxUint16 {
		return 0
	}
	return uint16(i)
}

// UnmarshalJSONFrom accepts an integer literal alone; null is a fault.
func (i *Int) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return i.parse(v)
}

// parse reads the JSON grammar of an integer: no sign but minus, no leading zero,
// no fraction, no exponent.
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
			n = math.MaxUint64 // saturated for good: this is past MaxInt64/10
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

// Of gives a pointer to a value, for the optional fields of requests.
func Of[T any](v T) *T { return &v }
