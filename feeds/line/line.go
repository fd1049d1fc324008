package line

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
	stall    = 10 * time.Second // contract oracle, Rule
	dialTime = 10 * time.Second
	beatTime = 4 * time.Second
	// Venues cut a connection after 24 hours. Ours ends before, at a time of its
	// own, so that not all sources of a feed go at once.
	life     = 23 * time.Hour
	lifeMore = 50 * time.Minute
)

// Options of New; the zero Options will do.
type Options struct {
	HTTP http.RoundTripper // default: a transport of its own for each connection
	Now  func() time.Time  // default time.Now
}

// Line is a source of prices: a feeds.Source and a feeds.Counter.
type Line struct {
	talk Talk
	opt  Options

	mu    sync.Mutex
	heard feeds.Heard
}

// New prepares a line; Run connects it.
func New(t Talk, o Options) *Line {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Line{talk: t, opt: o}
}

func (l *Line) Name() string    { return l.talk.Name }
func (l *Line) Feed() core.Feed { return l.talk.Feed }

// Heard counts what came, over all connections.
func (l *Line) Heard() feeds.Heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

// Run is one connection (feeds.Source). It always returns an error; doc.go has
// the list.
func (l *Line) Run(ctx context.Context, out func(price core.Price, at time.Time)) error {
	day, done := context.WithTimeoutCause(ctx, life+rand.N(lifeMore), ErrAged)
	defer done()
	client, idle := l.client()
	defer idle()
	j := &judge{feed: l.talk.Feed}
	take := func(message []byte) error { return l.take(j, message, out) }
	var err error
	if l.talk.Stream {
		err = l.stream(day, client, take)
	} else {
		err = l.socket(day, client, take)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case day.Err() != nil:
		return ErrAged
	}
	return err
}

// client follows no redirect: a venue that moved is configured anew, and a key is
// shown to nobody else.
func (l *Line) client() (c *http.Client, idle func()) {
	c = &http.Client{Transport: l.opt.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.Transport == nil {
		c.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	return c, c.CloseIdleConnections
}

// take hands the sound values of a message on and counts the others.
func (l *Line) take(j *judge, message []byte, out func(core.Price, time.Time)) error {
	quotes, err := l.talk.Parse(message)
	now := l.opt.Now()
	l.mu.Lock()
	l.heard.Messages++
	l.mu.Unlock()
	for _, q := range quotes {
		why := j.hear(q, now)
		l.mu.Lock()
		l.heard.Values[why]++
		l.mu.Unlock()
		if why == feeds.Sound {
			out(q.Price, now)
		}
	}
	if err == nil && j.drops >= patience {
		err = ErrGarbage
	}
	return err
}

// failed says at which step a connection ended, and that it stalled where that
// is why. Addresses are left out.
func failed(ctx context.Context, step string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, ErrStalled) {
		return err
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	return fmt.Errorf("line: %s: %w", step, err)
}
