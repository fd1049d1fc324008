package line

import (
	"errors"
	"fmt"

	"duplex/core"
	"duplex/feeds"
)

// Why a Run ended, besides what the network says.
var (
	ErrStalled = errors.New("line: no message for 10 s")
	ErrAsked   = errors.New("line: the venue asked for a new connection")
	ErrRefused = errors.New("line: refused")
	ErrAged    = errors.New("line: the connection has had its day")
	ErrGarbage = errors.New("line: nothing but garbage")
)

// Quote is one value of a message: a price, or why it is none.
type Quote struct {
	Price core.Price
	Drop  feeds.Drop
	Stamp int64  // the venue's time, ns; 0: it gives none
	Seq   uint64 // the venue's count; 0: it gives none
}

// Dropped is a value that is no price.
func Dropped(why feeds.Drop) []Quote { return []Quote{{Drop: why}} }

// Refused is ErrRefused with what the venue said, cut to a bearable length.
func Refused(said string) error { return fmt.Errorf("%w: %.120q", ErrRefused, said) }
