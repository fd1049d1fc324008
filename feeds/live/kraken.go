package live

import (
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

const (
	krakenURL   = "wss://ws.kraken.com/v2"
	krakenHello = `{"method":"subscribe","params":{"channel":"ticker","symbol":["BTC/USD"]},"req_id":1}`
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

func kraken(url string) line.Talk {
	return line.Talk{Name: "kraken", Feed: core.BTC, URL: url, Hello: krakenHello, Parse: parseKraken}
}

// parseKraken reads a frame of Kraken's version 2, where prices are JSON numbers.
func parseKraken(message []byte) ([]line.Quote, error) {
	var f krakenFrame
	if !decode(message, &f) {
		return line.Dropped(feeds.Garbled), nil
	}
	if f.Success != nil && !*f.Success {
		return nil, line.Refused(f.Error)
	}
	if f.Channel != "ticker" {
		return nil, nil
	}
	var tickers []krakenTicker
	if !decode(f.Data, &tickers) {
		return line.Dropped(feeds.Garbled), nil
	}
	out := make([]line.Quote, 0, len(tickers))
	for i := range tickers {
		out = append(out, tickers[i].quote())
	}
	return out, nil
}

func (t *krakenTicker) quote() line.Quote {
	if t.Symbol != "BTC/USD" {
		return line.Quote{Drop: feeds.WrongProduct}
	}
	stamp, ok := written(t.Time)
	if !ok {
		return line.Quote{Drop: feeds.Garbled}
	}
	p, drop := midOrLast(t.Bid, t.Ask, t.Last)
	return line.Quote{Price: p, Drop: drop, Stamp: stamp}
}
