package live

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

const (
	pythURL  = "https://hermes.pyth.network"
	pythPath = "/v2/updates/price/stream?parsed=true&ids[]="
	pythGold = "765d2ba906dbc32ca17cc11f5310a89e9ee1f6420508c63861f2f8ba4ee34bb2"
	// A message contains a signed proof of some kilobytes.
	pythMaxMessage = 256 << 10
)

type pythFrame struct {
	Parsed []pythUpdate `json:"parsed"`
}

type pythUpdate struct {
	ID    string `json:"id"`
	Price struct {
		Price jsontext.Value `json:"price"` // an integer
		Expo  int            `json:"expo"`
		Time  jsontext.Value `json:"publish_time"`
	} `json:"price"`
	Metadata struct {
		Slot uint64 `json:"slot"`
	} `json:"metadata"`
}

// pyth subscribes to one price id of Hermes by server-sent events.
func pyth(f core.Feed, base, key, id string) adapter.Codec {
	id = bareID(id)
	parse := func(message []byte) ([]adapter.Quote, error) { return parsePyth(message, id), nil }
	return adapter.Codec{
		Name: "pyth", Feed: f, URL: strings.TrimSuffix(base, "/") + pythPath + id, ServerSentEvents: true, MaxMessageBytes: pythMaxMessage, Parse: parse,
		Header: http.Header{"Authorization": {"Bearer " + key}},
	}
}

// bareID is an id in lower case without 0x, as Hermes writes it.
func bareID(id string) string { return strings.TrimPrefix(strings.ToLower(id), "0x") }

func parsePyth(message []byte, id string) []adapter.Quote {
	var f pythFrame
	if !decode(message, &f) || len(f.Parsed) == 0 {
		return adapter.Dropped(feeds.Garbled)
	}
	out := make([]adapter.Quote, 0, len(f.Parsed))
	for i := range f.Parsed {
		out = append(out, f.Parsed[i].quote(id))
	}
	return out
}

func (u *pythUpdate) quote(id string) adapter.Quote {
	if bareID(u.ID) != id {
		return adapter.Quote{Drop: feeds.WrongProduct}
	}
	p, drop := parseScaled(numberText(u.Price.Price), u.Price.Expo)
	return newQuote(p, drop, parseEpoch(u.Price.Time, time.Second), u.Metadata.Slot)
}

// minExpo bounds the decimals of a price.
const minExpo = -18

// parseScaled parses text × 10^expo, for an integer text, by moving the point in the text.
func parseScaled(text string, expo int) (core.Price, feeds.DropReason) {
	if expo > 0 || expo < minExpo || strings.Contains(text, ".") {
		return 0, feeds.NotNumber
	}
	if len(text) > maxPriceText {
		return 0, feeds.TooLong
	}
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || expo == 0 {
		return parsePrice(text)
	}
	if missing := 1 - expo - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) + expo
	digits = digits[:point] + "." + digits[point:]
	if negative {
		digits = "-" + digits
	}
	return parsePrice(digits)
}
