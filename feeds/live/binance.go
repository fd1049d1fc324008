package live

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

const (
	binanceURL        = "wss://stream.binance.com:9443/ws"
	binanceFuturesURL = "wss://fstream.binance.com/ws"
	// A quiet book sends nothing; any request is answered.
	binanceBeat = `{"method":"LIST_SUBSCRIPTIONS","id":2}`
)

type binanceFrame struct {
	Event  string         `json:"e"` // futures name their events
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

// binance follows the best bid and ask of one symbol, of the spot or the futures
// market.
func binance(name string, f core.Feed, url, symbol string) line.Talk {
	hello := `{"method":"SUBSCRIBE","params":["` + strings.ToLower(symbol) + `@bookTicker"],"id":1}`
	parse := func(message []byte) ([]line.Quote, error) { return parseBinance(message, symbol) }
	return line.Talk{Name: name, Feed: f, URL: url, Hello: hello, Beat: binanceBeat, Parse: parse}
}

func parseBinance(message []byte, symbol string) ([]line.Quote, error) {
	var f binanceFrame
	if !decode(message, &f) {
		return line.Dropped(feeds.Garbled), nil
	}
	switch {
	case f.Event == "serverShutdown":
		return nil, line.ErrAsked
	case there(f.Error) || there(f.Code):
		return nil, line.Refused(string(f.Error) + f.Msg)
	case there(f.ID) || f.Event != "" && f.Event != "bookTicker":
		return nil, nil
	case f.Symbol != symbol:
		return line.Dropped(feeds.WrongProduct), nil
	}
	stamp, ok := counted(f.Time, time.Millisecond)
	if !ok {
		return line.Dropped(feeds.Garbled), nil
	}
	p, drop := middle(f.Bid, f.Ask)
	return one(p, drop, stamp, f.Update), nil
}
