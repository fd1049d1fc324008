package adapter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"duplex/core"
	"duplex/feeds"
)

const (
	stallTimeout      = 10 * time.Second // docs/rules/prices-sources.md#connections
	dialTimeout       = 10 * time.Second
	heartbeatInterval = 4 * time.Second
	// Venues cut a connection after 24 hours. Run ends it earlier, at a random time, so
	// that the sources of a feed do not reconnect together.
	maxConnectionAge    = 23 * time.Hour
	connectionAgeJitter = 50 * time.Minute
)

// Options are the options of New. The zero Options use the defaults.
type Options struct {
	HTTP http.RoundTripper // default: a new http.Transport for each connection
	Now  func() time.Time  // default time.Now
}

// Adapter is a source of prices, a feeds.Source and a feeds.CountingSource.
type Adapter struct {
	codec Codec
	opt   Options

	mu     sync.Mutex
	counts feeds.Counts
}

// New returns an Adapter; Run connects it.
func New(t Codec, o Options) *Adapter {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Adapter{codec: t, opt: o}
}

func (a *Adapter) Name() string    { return a.codec.Name }
func (a *Adapter) Feed() core.Feed { return a.codec.Feed }

// Counts returns the counts over all connections.
func (a *Adapter) Counts() feeds.Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// Run runs one connection, as feeds.Source defines it. It always returns an error, one of
// those in the package comment.
func (a *Adapter) Run(ctx context.Context, out func(price core.Price, at time.Time)) error {
	connCtx, done := context.WithTimeoutCause(ctx, maxConnectionAge+rand.N(connectionAgeJitter), ErrMaxAge)
	defer done()
	client, idle := a.httpClient()
	defer idle()
	filter := &quoteFilter{feed: a.codec.Feed}
	handle := func(message []byte) error { return a.handleMessage(filter, message, out) }
	var err error
	if a.codec.ServerSentEvents {
		err = a.runEventStream(connCtx, client, handle)
	} else {
		err = a.runWebSocket(connCtx, client, handle)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case connCtx.Err() != nil:
		return ErrMaxAge
	}
	return err
}

// httpClient returns a client that follows no redirect, so that a key is sent only to the
// configured address.
func (a *Adapter) httpClient() (c *http.Client, idle func()) {
	c = &http.Client{Transport: a.opt.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.Transport == nil {
		c.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	return c, c.CloseIdleConnections
}

// handleMessage passes the accepted values of a message to out and counts all of them.
func (a *Adapter) handleMessage(filter *quoteFilter, message []byte, out func(core.Price, time.Time)) error {
	quotes, err := a.codec.Parse(message)
	now := a.opt.Now()
	a.mu.Lock()
	a.counts.Messages++
	a.mu.Unlock()
	for _, q := range quotes {
		why := filter.check(q, now)
		a.mu.Lock()
		a.counts.Values[why]++
		a.mu.Unlock()
		if why == feeds.NotDropped {
			out(q.Price, now)
		}
	}
	if err == nil && filter.consecutiveDrops >= maxConsecutiveDrops {
		err = ErrTooManyDrops
	}
	return err
}

// wrapError adds the step at which a connection ended, and replaces err by the cause of
// ctx if it has one. It removes addresses, which can contain secrets.
func wrapError(ctx context.Context, step string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, ErrStalled) {
		return err
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	return fmt.Errorf("adapter: %s: %w", step, err)
}
