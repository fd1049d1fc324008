package live

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

const (
	bitstampURL     = "wss://ws.bitstamp.net"
	bitstampChannel = "live_trades_btcusd"
	bitstampHello   = `{"event":"bts:subscribe","data":{"channel":"` + bitstampChannel + `"}}`
	// Between trades nothing comes, which may take longer than a stall; asked for
	// a heartbeat the venue answers with one.
	bitstampBeat = `{"event":"bts:heartbeat"}`
)

type bitstampFrame struct {
	Event   string         `json:"event"`
	Channel string         `json:"channel"`
	Data    jsontext.Value `json:"data"` // "" with some events
}

type bitstampTrade struct {
	ID    uint64         `json:"id"`
	Price jsontext.Value `json:"price_str"`
	Time  jsontext.Value `json:"microtimestamp"`
}

func bitstamp(url string) line.Talk {
	return line.Talk{Name: "bitstamp", Feed: core.BTC, URL: url, Hello: bitstampHello, Beat: bitstampBeat, Parse: parseBitstamp}
}

// parseBitstamp reads a frame of Bitstamp. Trades of one moment differ in their
// id.
func parseBitstamp(message []byte) ([]line.Quote, error) {
	var f bitstampFrame
	if !decode(message, &f) {
		return line.Dropped(feeds.Garbled), nil
	}
	switch f.Event {
	case "bts:request_reconnect":
		return nil, line.ErrAsked
	case "bts:error":
		return nil, line.Refused(string(f.Data))
	case "trade":
	default:
		return nil, nil
	}
	if f.Channel != bitstampChannel {
		return line.Dropped(feeds.WrongProduct), nil
	}
	var t bitstampTrade
	if !decode(f.Data, &t) {
		return line.Dropped(feeds.Garbled), nil
	}
	stamp, ok := counted(t.Time, time.Microsecond)
	if !ok {
		return line.Dropped(feeds.Garbled), nil
	}
	p, drop := priceOf(t.Price)
	return one(p, drop, stamp, t.ID), nil
}
