package live

import (
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

const (
	krakenURL       = "wss://ws.kraken.com/v2"
	krakenSubscribe = `{"method":"subscribe","params":{"channel":"ticker","symbol":["BTC/USD"]},"req_id":1}`
)

type krakenFrame struct {
	Channel string         `json:"channel"`
	Success *bool          `json:"success"` // of the answer to a request
	Error   string         `json:"error"`
	Data    jsontext.Value `json:"data"`
}

type krakenTicker struct {
	Symbol string         `json:"symbol"`
	Bid    jsontext.Value `json:"bid"`
	Ask    jsontext.Value `json:"ask"`
	Last   jsontext.Value `json:"last"`
	Time   jsontext.Value `json:"timestamp"`
}

func kraken(url string) adapter.Codec {
	return adapter.Codec{Name: "kraken", Feed: core.BTC, URL: url, Subscribe: krakenSubscribe, Parse: parseKraken}
}

// parseKraken parses a message of Kraken's API version 2, in which prices are JSON numbers.
func parseKraken(message []byte) ([]adapter.Quote, error) {
	var f krakenFrame
	if !decode(message, &f) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	if f.Success != nil && !*f.Success {
		return nil, adapter.Rejected(f.Error)
	}
	if f.Channel != "ticker" {
		return nil, nil
	}
	var tickers []krakenTicker
	if !decode(f.Data, &tickers) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	out := make([]adapter.Quote, 0, len(tickers))
	for i := range tickers {
		out = append(out, tickers[i].quote())
	}
	return out, nil
}

func (t *krakenTicker) quote() adapter.Quote {
	if t.Symbol != "BTC/USD" {
		return adapter.Quote{Drop: feeds.WrongProduct}
	}
	p, drop := midOrLast(t.Bid, t.Ask, t.Last)
	return newQuote(p, drop, parseRFC3339(t.Time), 0)
}
