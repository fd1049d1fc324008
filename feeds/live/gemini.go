package live

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

const (
	geminiURL       = "wss://api.gemini.com/v2/marketdata"
	geminiSubscribe = `{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}`
	// The first message has the whole book.
	geminiMaxMessage = 8 << 20
)

type geminiFrame struct {
	Type   string         `json:"type"`
	Result string         `json:"result"`
	Reason string         `json:"reason"`
	Symbol string         `json:"symbol"`
	Event  uint64         `json:"event_id"`
	Price  jsontext.Value `json:"price"`
	Time   jsontext.Value `json:"timestamp"`
}

func gemini(url string) adapter.Codec {
	return adapter.Codec{Name: "gemini", Feed: core.BTC, URL: url, Subscribe: geminiSubscribe, MaxMessageBytes: geminiMaxMessage, Parse: parseGemini}
}

// parseGemini parses a message of Gemini. Only trades count; it ignores the old trades
// that come with the first book.
func parseGemini(message []byte) ([]adapter.Quote, error) {
	var f geminiFrame
	if !decode(message, &f) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	switch {
	case f.Result == "error" || f.Type == "error":
		return nil, adapter.Rejected(f.Reason)
	case f.Type != "trade":
		return nil, nil
	case f.Symbol != "BTCUSD":
		return adapter.Dropped(feeds.WrongProduct), nil
	}
	p, drop := parsePriceValue(f.Price)
	return []adapter.Quote{newQuote(p, drop, parseEpoch(f.Time, time.Millisecond), f.Event)}, nil
}
