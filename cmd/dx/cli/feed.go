package cli

import (
	"fmt"
	"strings"

	"duplex/core"
)

// Feed names a feed of index prices: BTC, gold or WTI in any case, or its number.
type Feed string

// UnmarshalText rejects what names no feed.
func (f *Feed) UnmarshalText(text []byte) error {
	for feed := range core.Feed(core.Feeds) {
		if strings.EqualFold(string(text), feed.String()) || string(text) == fmt.Sprint(uint8(feed)) {
			*f = Feed(feed.String())
			return nil
		}
	}
	return fmt.Errorf("%q is not BTC, gold or WTI", text)
}

// Number is the number of the feed on the wire. f must have been set by UnmarshalText.
func (f Feed) Number() int {
	for feed := range core.Feed(core.Feeds) {
		if feed.String() == string(f) {
			return int(feed)
		}
	}
	panic(fmt.Sprintf("cli: %q is no feed", string(f)))
}
