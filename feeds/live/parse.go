package live

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

// decode parses a message and reports whether it is the expected JSON. It ignores unknown
// members. Names are case-sensitive, and a duplicate name is an error.
func decode(message []byte, into any) bool { return json.Unmarshal(message, into) == nil }

// numberText is the text of a JSON number or the content of a JSON string; "" for any
// other value.
func numberText(v jsontext.Value) string {
	switch v.Kind() {
	case '0':
		return string(v)
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err == nil {
			return string(text)
		}
	}
	return ""
}

// isPresent reports whether a member is present and not null.
func isPresent(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// parsePriceValue parses a price in a JSON number or string.
func parsePriceValue(v jsontext.Value) (core.Price, feeds.DropReason) {
	return parsePrice(numberText(v))
}

func parsePrice(text string) (core.Price, feeds.DropReason) {
	if len(text) > maxPriceText {
		return 0, feeds.TooLong
	}
	digits, negative := strings.CutPrefix(text, "-")
	p, err := feed.ParsePrice(digits)
	switch {
	case errors.Is(err, feed.ErrPriceRange):
		return 0, feeds.TooLong
	case err != nil:
		return 0, feeds.NotNumber
	case negative:
		return 0, feeds.Negative
	case p == 0:
		return 0, feeds.Zero
	}
	return p, feeds.NotDropped
}

// maxPriceText is the length of the longest text that feed.ParsePrice accepts.
const maxPriceText = 30

// midPrice is the middle of best bid and ask. It drops a crossed book, and one whose best
// prices are more than 2 % off the middle, because no trade happens near that middle.
func midPrice(bid, ask jsontext.Value) (core.Price, feeds.DropReason) {
	b, drop := parsePriceValue(bid)
	if drop != feeds.NotDropped {
		return 0, drop
	}
	a, drop := parsePriceValue(ask)
	if drop != feeds.NotDropped {
		return 0, drop
	}
	mid := feed.Median([]core.Price{b, a})
	if b > a || feed.Outlier(a, mid) {
		return 0, feeds.Crossed
	}
	return mid, feeds.NotDropped
}

// noTime is the stamp of a time that cannot be parsed.
const noTime = -1

// newQuote returns a value of a message, garbled if its stamp is noTime.
func newQuote(p core.Price, drop feeds.DropReason, stamp int64, seq uint64) adapter.Quote {
	if stamp == noTime {
		return adapter.Quote{Drop: feeds.Garbled}
	}
	return adapter.Quote{Price: p, Drop: drop, Stamp: stamp, Seq: seq}
}

// clampTime is the time in ns; a time out of the range of a stamp becomes the nearest one.
func clampTime(t time.Time) int64 {
	switch y := t.Year(); {
	case y < 1971:
		return 1
	case y > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// parseRFC3339 parses a time such as 2020-02-01T01:40:16.253563Z; an absent one is 0.
func parseRFC3339(v jsontext.Value) (stamp int64) {
	if !isPresent(v) {
		return 0
	}
	t, err := time.Parse(time.RFC3339, numberText(v))
	if err != nil {
		return noTime
	}
	return clampTime(t)
}

// parseEpoch parses a number of units since 1970, in a JSON number or string; an absent
// one is 0.
func parseEpoch(v jsontext.Value, unit time.Duration) (stamp int64) {
	if !isPresent(v) {
		return 0
	}
	n, err := strconv.ParseInt(numberText(v), 10, 64)
	switch {
	case err != nil:
		return noTime
	case n <= 0:
		return 1
	case n > math.MaxInt64/int64(unit):
		return math.MaxInt64
	}
	return n * int64(unit)
}
