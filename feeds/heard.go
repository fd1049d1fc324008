package feeds

// Drop says why a value of a source did not become a price (contract oracle,
// Rule). Sound says that it did.
type Drop uint8

const (
	Sound        Drop = iota
	Garbled           // not the JSON that was agreed
	WrongProduct      // a price of something else
	NotNumber         // no plain decimal: NaN, an exponent, a word
	Negative
	Zero
	TooLong    // more digits than any price has, or beyond 64 bits
	Crossed    // a book whose middle is nobody's price
	OutOfOrder // not after the one before it, by the venue's own count
	Future     // stamped for a time to come
	Outdated   // stamped so long ago that it is no price of now
	Drops      = 11
)

func (d Drop) String() string {
	return [...]string{"sound", "garbled", "wrong_product", "not_number", "negative", "zero", "too_long", "crossed", "out_of_order", "future", "outdated"}[d]
}

// Heard counts what a source was sent. A message may hold no value, or several.
type Heard struct {
	Messages uint64
	Values   [Drops]uint64 // by what became of them; Sound ones were handed on
}

// Counter is a source that judges what it is sent before it hands it on.
type Counter interface {
	Heard() Heard
}
