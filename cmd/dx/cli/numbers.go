package cli

import (
	"fmt"
	"strings"

	"duplex/schemas"
)

// integer is a number that a command prints.
type integer interface {
	~int | ~int64 | ~uint32 | ~uint64
}

// ID formats an id for people, who may type it again: without commas.
func ID[N integer](n N) string { return fmt.Sprint(n) }

// Grouped formats a number for people, with a comma between each three digits: 1,234,567.
func Grouped[N integer](n N) string {
	digits := fmt.Sprint(n)
	if negative, is := strings.CutPrefix(digits, "-"); is {
		return "-" + grouped(negative)
	}
	return grouped(digits)
}

func grouped(digits string) string {
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// GroupedIn is Grouped in at most width characters: a longer number is cut to thousands or millions, such as 12,345k.
func GroupedIn[N integer](n N, width int) string {
	text := Grouped(n)
	for _, unit := range []string{"k", "M"} {
		if len(text) <= width {
			break
		}
		n /= 1000
		text = Grouped(n) + unit
	}
	return text
}

// ParseUint parses an integer of a number of bits: decimal digits and nothing else, so that 010 is ten and
// 0x10, 1_000 and +5 are errors. Every integer that a user gives is parsed by it.
func ParseUint(text string, bits int) (uint64, error) {
	var n schemas.U64
	switch err := n.UnmarshalText([]byte(text)); {
	case strings.Trim(text, "0123456789") != "" || text == "":
		return 0, fmt.Errorf("must be a whole number, and not %q", text)
	case err != nil || uint64(n)>>(bits-1)>>1 != 0:
		return 0, fmt.Errorf("must be at most %s, and not %s", Grouped(uint64(1)<<(bits-1)<<1-1), text)
	}
	return uint64(n), nil
}

// ParseWithin is ParseUint of a number from least to most, which its error names.
func ParseWithin(text string, least, most uint64) (uint64, error) {
	n, err := ParseUint(text, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("must be a whole number from %s to %s, and not %q", Grouped(least), Grouped(most), text)
	}
	return n, nil
}
