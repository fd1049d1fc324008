package feeds

// DropReason is the reason why a value of a source was dropped
// (docs/rules/prices-sources.md#sources). NotDropped is that of an accepted value.
type DropReason uint8

const (
	NotDropped   DropReason = iota
	Garbled                 // not the expected JSON
	WrongProduct            // a price of another product
	NotNumber               // not a plain decimal, such as NaN or an exponent
	Negative
	Zero
	TooLong     // too many digits, or beyond 64 bits
	Crossed     // a bid above the ask, or a spread too wide for a middle
	OutOfOrder  // not after the value before it, by the venue's stamp and sequence number
	Future      // stamped too far ahead
	Outdated    // stamped too long ago
	DropReasons = 11
)

// String is the reason as the metrics name it.
func (d DropReason) String() string {
	return [...]string{"sound", "garbled", "wrong_product", "not_number", "negative", "zero", "too_long", "crossed", "out_of_order", "future", "outdated"}[d]
}

// Counts counts the messages of a source and the values in them. A message may hold any
// number of values.
type Counts struct {
	Messages uint64
	Values   [DropReasons]uint64 // by drop reason; NotDropped values were passed on
}

// CountingSource is a Source that drops bad values itself and counts them.
type CountingSource interface {
	Counts() Counts
}
