// Package statecode decodes the CBOR of a snapshot, which this program wrote itself.
package statecode

import (
	"math"

	"github.com/fxamacker/cbor/v2"
)

var mode = func() cbor.DecMode {
	m, err := cbor.DecOptions{MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32}.DecMode()
	if err != nil {
		panic(err) // cannot happen: the options are constant
	}
	return m
}()

// Unmarshal is cbor.Unmarshal for lists of any length. The library's own bound, 131,072 elements, is for the
// messages of strangers: a venue has more accounts.
func Unmarshal(b []byte, into any) error { return mode.Unmarshal(b, into) }
