package cli

import (
	"fmt"

	"duplex/schemas"
)

// ParseUint parses an integer of a number of bits: decimal digits and nothing else, so that 010 is ten and
// 0x10, 1_000 and +5 are errors. Every integer that a user gives is parsed by it.
func ParseUint(text string, bits int) (uint64, error) {
	var n schemas.U64
	if err := n.UnmarshalText([]byte(text)); err != nil || uint64(n)>>(bits-1)>>1 != 0 {
		return 0, fmt.Errorf("must be a whole number, at most %d, and not %q", uint64(1)<<(bits-1)<<1-1, text)
	}
	return uint64(n), nil
}
