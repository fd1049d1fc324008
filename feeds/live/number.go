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
	"duplex/feeds/line"
)

// decode reads a message, unknown members ignored; false if it is not the JSON it
// should be. Names are told apart by case, and none may come twice.
func decode(message []byte, into any) bool { return json.Unmarshal(message, into) == nil }

// textOf is the text of a JSON number, or that in a JSON string; "" of anything
// else.
func textOf(v jsontext.Value) string {
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

// there tells whether a member was sent, and is not null.
func there(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// priceOf reads a price.
func priceOf(v jsontext.Value) (core.Price, feeds.Drop) { return parse(textOf(v)) }

func parse(text string) (core.Price, feeds.Drop) {
	if len(text) > maxText {
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
	return p, feeds.Sound
}

// maxText is the longest text that ParsePrice takes.
const maxText = 30

// middle is the price between best bid and ask. A book that is crossed, or has
// its best more than 2 % off the middle, has none: that is nobody's price.
func middle(bid, ask jsontext.Value) (core.Price, feeds.Drop) {
	b, drop := priceOf(bid)
	if drop != feeds.Sound {
		return 0, drop
	}
	a, drop := priceOf(ask)
	if drop != feeds.Sound {
		return 0, drop
	}
	mid := feed.Median([]core.Price{b, a})
	if b > a || feed.Outlier(a, mid) {
		return 0, feeds.Crossed
	}
	return mid, feeds.Sound
}

// one is the only value of a message.
func one(p core.Price, drop feeds.Drop, stamp int64, seq uint64) []line.Quote {
	return []line.Quote{{Price: p, Drop: drop, Stamp: stamp, Seq: seq}}
}

// stampOf is a time in ns, that is one far out at the nearest a stamp can say.
func stampOf(t time.Time) int64 {
	switch y := t.Year(); {
	case y < 1971:
		return 1
	case y > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// written reads a time such as 2020-02-01T01:40:16.253563Z; none is 0.
func written(v jsontext.Value) (stamp int64, ok bool) {
	if !there(v) {
		return 0, true
	}
	t, err := time.Parse(time.RFC3339, textOf(v))
	if err != nil {
		return 0, false
	}
	return stampOf(t), true
}

// counted reads a time as a count of units since 1970, in a number or a text;
// none is 0.
func counted(v jsontext.Value, unit time.Duration) (stamp int64, ok bool) {
	if !there(v) {
		return 0, true
	}
	n, err := strconv.ParseInt(textOf(v), 10, 64)
	if err != nil {
		return 0, false
	}
	switch {
	case n <= 0:
		return 1, true
	case n > math.MaxInt64/int64(unit):
		return math.MaxInt64, true
	}
	return n * int64(unit), true
}
