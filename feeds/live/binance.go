package live

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

const (
	binanceURL        = "wss://stream.binance.com:9443/ws"
	binanceFuturesURL = "wss://fstream.binance.com/ws"
	// A quiet book sends nothing, but Binance answers every request.
	binanceHeartbeat = `{"method":"LIST_SUBSCRIPTIONS","id":2}`
)

type binanceFrame struct {
	Event  string         `json:"e"` // of futures
	Update uint64         `json:"u"`
	Symbol string         `json:"s"`
	Bid    jsontext.Value `json:"b"`
	Ask    jsontext.Value `json:"a"`
	Time   jsontext.Value `json:"E"` // of futures

	ID    jsontext.Value `json:"id"` // of the answer to a request
	Error jsontext.Value `json:"error"`
	Code  jsontext.Value `json:"code"`
	Msg   string         `json:"msg"`
}

// binance subscribes to the best bid and ask of one symbol of the spot or the futures
// market.
func binance(name string, f core.Feed, url, symbol string) adapter.Codec {
	subscribe := `{"method":"SUBSCRIBE","params":["` + strings.ToLower(symbol) + `@bookTicker"],"id":1}`
	parse := func(message []byte) ([]adapter.Quote, error) { return parseBinance(message, symbol) }
	return adapter.Codec{Name: name, Feed: f, URL: url, Subscribe: subscribe, Heartbeat: binanceHeartbeat, Parse: parse}
}

// parseBinance parses a message of Binance, spot or futures.
func parseBinance(message []byte, symbol string) ([]adapter.Quote, error) {
	var f binanceFrame
	if !decode(message, &f) {
		return adapter.Dropped(feeds.Garbled), nil
	}
	switch {
	case f.Event == "serverShutdown":
		return nil, adapter.ErrReconnectRequested
	case isPresent(f.Error) || isPresent(f.Code):
		return nil, adapter.Rejected(string(f.Error) + f.Msg)
	case isPresent(f.ID) || f.Event != "" && f.Event != "bookTicker":
		return nil, nil
	case f.Symbol != symbol:
		return adapter.Dropped(feeds.WrongProduct), nil
	}
	p, drop := midPrice(f.Bid, f.Ask)
	return []adapter.Quote{newQuote(p, drop, parseEpoch(f.Time, time.Millisecond), f.Update)}, nil
}
