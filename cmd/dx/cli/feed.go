package cli

import (
	"fmt"

	"duplex/core"
)

// Feed names a feed of index prices: BTC, gold or WTI in any case, or its number.
type Feed string

// UnmarshalText rejects what names no feed.
func (f *Feed) UnmarshalText(text []byte) error {
	feed, ok := core.FeedNamed(string(text))
	if !ok {
		for x := range core.Feed(core.Feeds) {
			if string(text) == fmt.Sprint(uint8(x)) {
				feed, ok = x, true
			}
		}
	}
	if !ok {
		return fmt.Errorf("%q is not BTC, gold or WTI", text)
	}
	*f = Feed(feed.String())
	return nil
}

// Number is the number of the feed on the wire. f must have been set by UnmarshalText.
func (f Feed) Number() int {
	feed, ok := core.FeedNamed(string(f))
	if !ok {
		panic(fmt.Sprintf("cli: %q is no feed", string(f)))
	}
	return int(feed)
}
