package line

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line/linetest"
)

// served is a server in memory, until the returned stop.
func served(handler http.HandlerFunc) (o Options, stop func()) {
	way, stop := linetest.Serve(handler)
	return Options{HTTP: way}, stop
}

// venue is a server that upgrades and then does what it is told. A hijacked
// connection is no server's to close, so each has a context of its own.
func venue(do func(ctx context.Context, c *websocket.Conn)) (o Options, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var talking sync.WaitGroup
	o, closed := served(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		talking.Add(1)
		defer talking.Done()
		defer c.CloseNow()
		do(ctx, c)
	})
	return o, func() { cancel(); closed(); talking.Wait() }
}

// plain is a Talk of its own: a message is a price of whole units, or a word.
func plain(url string) Talk {
	return Talk{Name: "x", Feed: core.BTC, URL: url, Hello: "hello", Limit: 1000, Stream: strings.HasPrefix(url, "http"), Parse: func(m []byte) ([]Quote, error) {
		switch text := string(m); text {
		case "again":
			return nil, ErrAsked
		case "no":
			return nil, Refused("go away")
		case "beat":
			return nil, nil
		case "junk":
			return Dropped(feeds.Garbled), nil
		default:
			return []Quote{{Price: core.Price(len(text))}}, nil
		}
	}}
}

// caught are the prices a line handed on.
type caught struct {
	prices []core.Price
	at     []time.Time
}

func (c *caught) out(p core.Price, at time.Time) {
	c.prices, c.at = append(c.prices, p), append(c.at, at)
}

func say(ctx context.Context, c *websocket.Conn, text string) bool {
	return c.Write(ctx, websocket.MessageText, []byte(text)) == nil
}

// hang holds a connection without reading or writing.
func hang(ctx context.Context, _ *websocket.Conn) { <-ctx.Done() }
