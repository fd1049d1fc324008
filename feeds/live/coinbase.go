package live

import (
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

const (
	coinbaseURL       = "wss://ws-feed.exchange.coinbase.com"
	coinbaseSubscribe = `{"type":"subscribe","product_ids":["BTC-USD"],"channels":["ticker","heartbeat"]}`
)

type coinbaseFrame struct {
	Type     string         `json:"type"`
	Message  string         `json:"message"`
	Reason   string         `json:"reason"`
	Product  string         `json:"product_id"`
	Sequence uint64         `json:"sequence"`
	Price    jsontext.Value `json:"price"`
	Bid      jsontext.Value `json:"best_bid"`
	Ask      jsontext.Value `json:"best_ask"`
	Time     jsontext.Value `json:"time"`
}

func coinbase(url string) adapter.Codec {
	return adapter.Codec{Name: "coinbase", Feed: core.BTC, URL: url, Subscribe: coinbaseSubscribe, Parse: parseCoinbase}
}

// parseCoinbase parses a message of Coinbase Exchange. Tickers with the same stamp differ
// in their sequence.
func parseCoinbase(message []byte) ([]adapter.Quote, error) {
	var f coinbaseFrame
	if !decode(message, &f) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	switch f.Type {
	case "error":
		return nil, adapter.Rejected(f.Message + ": " + f.Reason)
	case "ticker":
	default:
		return nil, nil
	}
	if f.Product != "BTC-USD" {
		return adapter.Dropped(feeds.WrongProduct), nil
	}
	p, drop := midOrLast(f.Bid, f.Ask, f.Price)
	return []adapter.Quote{newQuote(p, drop, parseRFC3339(f.Time), f.Sequence)}, nil
}

// midOrLast is the middle of bid and ask if both are present, else the last price.
func midOrLast(bid, ask, last jsontext.Value) (core.Price, feeds.DropReason) {
	if isPresent(bid) && isPresent(ask) {
		return midPrice(bid, ask)
	}
	return parsePriceValue(last)
}
