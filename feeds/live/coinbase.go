package live

import (
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

const (
	coinbaseURL   = "wss://ws-feed.exchange.coinbase.com"
	coinbaseHello = `{"type":"subscribe","product_ids":["BTC-USD"],"channels":["ticker","heartbeat"]}`
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

func coinbase(url string) line.Talk {
	return line.Talk{Name: "coinbase", Feed: core.BTC, URL: url, Hello: coinbaseHello, Parse: parseCoinbase}
}

// parseCoinbase reads a frame of Coinbase Exchange. Several tickers of one
// moment differ in their sequence.
func parseCoinbase(message []byte) ([]line.Quote, error) {
	var f coinbaseFrame
	if !decode(message, &f) {
		return line.Dropped(feeds.Garbled), nil
	}
	switch f.Type {
	case "error":
		return nil, line.Refused(f.Message + ": " + f.Reason)
	case "ticker":
	default:
		return nil, nil
	}
	if f.Product != "BTC-USD" {
		return line.Dropped(feeds.WrongProduct), nil
	}
	stamp, ok := written(f.Time)
	if !ok {
		return line.Dropped(feeds.Garbled), nil
	}
	p, drop := midOrLast(f.Bid, f.Ask, f.Price)
	return one(p, drop, stamp, f.Sequence), nil
}

// midOrLast is the middle where there are both sides, else the last price.
func midOrLast(bid, ask, last jsontext.Value) (core.Price, feeds.Drop) {
	if there(bid) && there(ask) {
		return middle(bid, ask)
	}
	return priceOf(last)
}
