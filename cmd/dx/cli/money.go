package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"duplex/schemas"
)

// PipsPerDollar is the number of pips in a dollar.
const PipsPerDollar = 10_000

// Amount is money in pips. A flag or an argument gives it in dollars.
type Amount uint64

// UnmarshalText parses dollars, such as 20, $20 or 2.50, or pips, such as 25000pips, without rounding.
func (a *Amount) UnmarshalText(text []byte) error {
	if digits, ok := strings.CutSuffix(string(text), "pips"); ok {
		n, err := ParseUint(digits, 64)
		if err != nil {
			return errAmount
		}
		*a = Amount(n)
		return err
	}
	n, err := ParseDecimal(strings.TrimPrefix(string(text), "$"), PipsPerDollar)
	if err != nil {
		return errAmount
	}
	*a = Amount(n)
	return nil
}

var errAmount = errors.New("must be dollars, such as 20, $20 or 2.50, up to 2147483647 and no finer than 0.01 cent, or pips, such as 25000pips")

// Credit is an Amount that is booked for somebody. It was once given in pips, so a bare whole number as large as most
// of those is refused.
type Credit Amount

// bareLimit is the least number of dollars that a Credit takes only with its unit.
const bareLimit = 1_000_000

// UnmarshalText parses an amount. From bareLimit on it must show its unit: 1000000.00, $1000000 or 10000000000pips.
func (c *Credit) UnmarshalText(text []byte) error {
	if n, err := ParseUint(strings.TrimSuffix(string(text), "."), 64); err == nil && n >= bareLimit {
		return fmt.Errorf("is dollars: %d.00 for that many, %[1]dpips for pips", n)
	}
	return (*Amount)(c).UnmarshalText(text)
}

func (a Amount) String() string { return FormatDollars(int64(a)) }

// FormatDollars formats pips as dollars with two decimal places, or four if the amount is not
// a whole number of cents: $1,234.50, -$0.0001.
func FormatDollars(pips int64) string {
	sign, n := "", uint64(pips)
	if pips < 0 {
		sign, n = "-", -uint64(pips)
	}
	if n%100 == 0 {
		return fmt.Sprintf("%s$%s.%02d", sign, Grouped(n/PipsPerDollar), n%PipsPerDollar/100)
	}
	return fmt.Sprintf("%s$%s.%04d", sign, Grouped(n/PipsPerDollar), n%PipsPerDollar)
}

// FormatWholeCents formats pips as dollars and whole cents, a half cent rounded away from zero as on the pages:
// $1,234.50, -$578.78.
func FormatWholeCents(pips int64) string {
	sign, cents := "", (uint64(pips)+50)/100
	if pips < 0 {
		sign, cents = "-", (-uint64(pips)+50)/100
	}
	if cents == 0 {
		sign = ""
	}
	return fmt.Sprintf("%s$%s.%02d", sign, Grouped(cents/100), cents%100)
}

// FormatCents formats a price in pips as cents, exactly: 55¢, 53.47¢.
func FormatCents(pips int64) string {
	return strconv.FormatFloat(float64(pips)/100, 'f', -1, 64) + "¢"
}

// FormatPrice formats an index price at 1e8 scale with all of its digits, at least two after the point
// (docs/rules/rest.md#decimal-strings): 75.12, 65,000.125.
func FormatPrice(p schemas.U64) string {
	text, _ := schemas.Decimal(p).MarshalText() // has no error
	whole, part, _ := strings.Cut(string(text), ".")
	return grouped(whole) + "." + part
}

var errDecimal = errors.New("must be a decimal number, no finer than 0.01 cent")

// ParseDecimal parses a decimal number and multiplies it by scale, exactly: "55.5" at scale
// 100 is 5550.
func ParseDecimal(text string, scale int64) (int64, error) {
	whole, part, point := strings.Cut(text, ".")
	n, err := ParseUint(whole, 32)
	if err != nil || point && part == "" {
		return 0, errDecimal
	}
	out := int64(n) * scale
	for i := range len(part) {
		scale /= 10
		d := part[i]
		if d < '0' || d > '9' || scale == 0 && d != '0' {
			return 0, errDecimal
		}
		out += int64(d-'0') * scale
	}
	if out > math.MaxInt32*int64(10000) {
		return 0, errDecimal
	}
	return out, nil
}
