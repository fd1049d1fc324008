package live

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

const (
	bitstampURL       = "wss://ws.bitstamp.net"
	bitstampChannel   = "live_trades_btcusd"
	bitstampSubscribe = `{"event":"bts:subscribe","data":{"channel":"` + bitstampChannel + `"}}`
	// The time between two trades can exceed the stall timeout. Bitstamp answers this
	// request with a heartbeat.
	bitstampHeartbeat = `{"event":"bts:heartbeat"}`
)

type bitstampFrame struct {
	Event   string         `json:"event"`
	Channel string         `json:"channel"`
	Data    jsontext.Value `json:"data"` // "" in some events
}

type bitstampTrade struct {
	ID    uint64         `json:"id"`
	Price jsontext.Value `json:"price_str"`
	Time  jsontext.Value `json:"microtimestamp"`
}

func bitstamp(url string) adapter.Codec {
	return adapter.Codec{Name: "bitstamp", Feed: core.BTC, URL: url, Subscribe: bitstampSubscribe, Heartbeat: bitstampHeartbeat, Parse: parseBitstamp}
}

// parseBitstamp parses a message of Bitstamp. Trades with the same stamp differ in their
// id.
func parseBitstamp(message []byte) ([]adapter.Quote, error) {
	var f bitstampFrame
	if !decode(message, &f) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	switch f.Event {
	case "bts:request_reconnect":
		return nil, adapter.ErrReconnectRequested
	case "bts:error":
		return nil, adapter.Rejected(string(f.Data))
	case "trade":
	default:
		return nil, nil
	}
	if f.Channel != bitstampChannel {
		return adapter.Dropped(feeds.WrongProduct), nil
	}
	var t bitstampTrade
	if !decode(f.Data, &t) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	p, drop := parsePriceValue(t.Price)
	return []adapter.Quote{newQuote(p, drop, parseEpoch(t.Time, time.Microsecond), t.ID)}, nil
}
