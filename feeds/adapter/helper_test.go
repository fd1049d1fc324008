package adapter

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter/adaptertest"
)

// served starts an in-memory server, which runs until stop is called.
func served(handler http.HandlerFunc) (o Options, stop func()) {
	transport, stop := adaptertest.Serve(handler)
	return Options{HTTP: transport}, stop
}

// venue starts a server that accepts WebSockets and calls do for each. http.Server does
// not close hijacked connections, so stop cancels the context of do.
func venue(do func(ctx context.Context, c *websocket.Conn)) (o Options, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var handlers sync.WaitGroup
	o, closed := served(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		handlers.Add(1)
		defer handlers.Done()
		defer c.CloseNow()
		do(ctx, c)
	})
	return o, func() { cancel(); closed(); handlers.Wait() }
}

// plain returns a Codec for tests: the price is the length of the message, except for a
// few words with a meaning of their own.
func plain(url string) Codec {
	return Codec{Name: "x", Feed: core.BTC, URL: url, Subscribe: "hello", MaxMessageBytes: 1000, ServerSentEvents: strings.HasPrefix(url, "http"), Parse: func(m []byte) ([]Quote, error) {
		switch text := string(m); text {
		case "again":
			return nil, ErrReconnectRequested
		case "no":
			return nil, Rejected("go away")
		case "beat":
			return nil, nil
		case "junk":
			return Dropped(feeds.Garbled), nil
		default:
			return []Quote{{Price: core.Price(len(text))}}, nil
		}
	}}
}

// caught records the prices that an Adapter passes on.
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

// hang keeps a connection open and neither reads nor writes.
func hang(ctx context.Context, _ *websocket.Conn) { <-ctx.Done() }
