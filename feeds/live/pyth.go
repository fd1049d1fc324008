package live

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

const (
	pythURL  = "https://hermes.pyth.network"
	pythPath = "/v2/updates/price/stream?parsed=true&ids[]="
	pythGold = "765d2ba906dbc32ca17cc11f5310a89e9ee1f6420508c63861f2f8ba4ee34bb2"
	// A message brings a signed proof of some kilobytes beside the price.
	pythLimit = 256 << 10
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

// pyth follows one id of Hermes by server-sent events.
func pyth(f core.Feed, base, key, id string) line.Talk {
	id = bareID(id)
	parse := func(message []byte) ([]line.Quote, error) { return parsePyth(message, id), nil }
	return line.Talk{
		Name: "pyth", Feed: f, URL: strings.TrimSuffix(base, "/") + pythPath + id, Stream: true, Limit: pythLimit, Parse: parse,
		Header: http.Header{"Authorization": {"Bearer " + key}},
	}
}

// bareID is an id as Hermes writes it.
func bareID(id string) string { return strings.TrimPrefix(strings.ToLower(id), "0x") }

func parsePyth(message []byte, id string) []line.Quote {
	var f pythFrame
	if !decode(message, &f) || len(f.Parsed) == 0 {
		return line.Dropped(feeds.Garbled)
	}
	out := make([]line.Quote, 0, len(f.Parsed))
	for i := range f.Parsed {
		out = append(out, f.Parsed[i].quote(id))
	}
	return out
}

func (u *pythUpdate) quote(id string) line.Quote {
	if bareID(u.ID) != id {
		return line.Quote{Drop: feeds.WrongProduct}
	}
	stamp, ok := counted(u.Price.Time, time.Second)
	if !ok {
		return line.Quote{Drop: feeds.Garbled}
	}
	p, drop := scaled(textOf(u.Price.Price), u.Price.Expo)
	return line.Quote{Price: p, Drop: drop, Stamp: stamp, Seq: u.Metadata.Slot}
}

// minExpo is the most decimals a price may come with.
const minExpo = -18

// scaled reads an integer text times ten to the power of expo, by setting the
// point in the text.
func scaled(text string, expo int) (core.Price, feeds.Drop) {
	if expo > 0 || expo < minExpo || strings.Contains(text, ".") {
		return 0, feeds.NotNumber
	}
	if len(text) > maxText {
		return 0, feeds.TooLong
	}
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || expo == 0 {
		return parse(text)
	}
	if short := 1 - expo - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) + expo
	digits = digits[:point] + "." + digits[point:]
	if negative {
		digits = "-" + digits
	}
	return parse(digits)
}
