package live

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

const (
	geminiURL   = "wss://api.gemini.com/v2/marketdata"
	geminiHello = `{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}`
	// The first message is the whole book.
	geminiLimit = 8 << 20
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

func gemini(url string) line.Talk {
	return line.Talk{Name: "gemini", Feed: core.BTC, URL: url, Hello: geminiHello, Limit: geminiLimit, Parse: parseGemini}
}

// parseGemini reads a frame of Gemini. Only trades count; those listed with the
// first book are of the past.
func parseGemini(message []byte) ([]line.Quote, error) {
	var f geminiFrame
	if !decode(message, &f) {
		return line.Dropped(feeds.Garbled), nil
	}
	switch {
	case f.Result == "error" || f.Type == "error":
		return nil, line.Refused(f.Reason)
	case f.Type != "trade":
		return nil, nil
	case f.Symbol != "BTCUSD":
		return line.Dropped(feeds.WrongProduct), nil
	}
	stamp, ok := counted(f.Time, time.Millisecond)
	if !ok {
		return line.Dropped(feeds.Garbled), nil
	}
	p, drop := priceOf(f.Price)
	return one(p, drop, stamp, f.Event), nil
}
