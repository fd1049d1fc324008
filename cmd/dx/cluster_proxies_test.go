package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"duplex/client"
	"duplex/internal/backoff"
	"duplex/internal/proxytest"
	"duplex/schemas"
)

const (
	rollingRequests = 1000 // at least, through each proxy
	rollingPause    = 10 * time.Millisecond
)

// TestProxiesRollingRestart restarts three members one after the other behind each proxy of
// docs/operations/proxies. No caller gets an error: not a Go client that repeats what was not executed, and not a
// reader that repeats nothing. A writer that repeats nothing gets at most the answer that its write was not executed.
func TestProxiesRollingRestart(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	c := startCluster(t, append([]string{
		"--drain-wait", "5s", "--trusted-proxies", "127.0.0.1",
		"--public-url", "https://" + proxytest.Host, "--public-portal-url", "https://" + proxytest.PortalHost,
	}, loadRates...)...)
	for _, name := range proxytest.Names {
		t.Run(name, func(t *testing.T) { rollingRestart(t, c, name) })
	}
}

// rollingCallers send requests through a proxy until they are stopped.
type rollingCallers struct {
	done sync.WaitGroup

	mu     sync.Mutex
	counts map[string]*rollingCount // by the kind of the caller
}

type rollingCount struct {
	requests, notExecuted int
	errors                []error
}

// every calls send with 1, 2, 3, … until ctx ends, and counts its errors. One that says that the request was not
// executed counts for itself if this kind of caller may get it.
func (r *rollingCallers) every(ctx context.Context, kind string, mayNotBeExecuted bool, send func(n int) error) {
	r.mu.Lock()
	if r.counts[kind] == nil {
		r.counts[kind] = &rollingCount{}
	}
	count := r.counts[kind]
	r.mu.Unlock()
	r.done.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			err := send(n)
			var e *client.Error
			r.mu.Lock()
			count.requests++
			switch {
			case err == nil:
			case mayNotBeExecuted && errors.As(err, &e) && e.Retry() == schemas.Safe:
				count.notExecuted++
			default:
				count.errors = append(count.errors, fmt.Errorf("%s: %w", time.Now().Format("15:04:05.000"), err))
			}
			r.mu.Unlock()
			backoff.Sleep(ctx, rollingPause) // a load, and not a measurement of how much is possible
		}
	})
}

// requests returns how many requests were answered.
func (r *rollingCallers) requests() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, count := range r.counts {
		n += count.requests
	}
	return n
}

func rollingRestart(t *testing.T, c *clusterTrial, name string) {
	var api, portals []string
	for i := range c.members {
		api, portals = append(api, c.address(i, 8080)), append(portals, c.address(i, 8081))
	}
	p := proxytest.Start(t, name, api, portals)
	ctx, stop := context.WithCancel(t.Context())
	callers := &rollingCallers{counts: map[string]*rollingCount{}}
	defer callers.done.Wait()
	defer stop()
	caller := func(user string, options ...client.Option) *client.Client {
		k := c.createKey(0, c.createUser(name+" "+user))
		return client.Must(client.New("https://"+proxytest.Host, k.APIKey, k.secret, append(options, client.WithHTTPClient(p.HTTPClient("127.0.0.1")))...))
	}
	for w := range 3 {
		trader := caller(fmt.Sprint("trader ", w))
		callers.every(ctx, "client", false, func(n int) error { return tradeOnce(t.Context(), trader, n) })
		reader := caller(fmt.Sprint("reader ", w), client.MaxAttempts(1))
		callers.every(ctx, "reader without repeats", false, func(int) error { _, err := reader.Balance(t.Context()); return err })
	}
	writer := caller("writer", client.MaxAttempts(1))
	callers.every(ctx, "writer without repeats", true, func(n int) error { return tradeOnce(t.Context(), writer, n) })
	screen := p.HTTPClient("127.0.0.1")
	callers.every(ctx, "reader of the portal", false, func(int) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+proxytest.PortalHost+"/venue.json", nil)
		if err != nil {
			return err
		}
		resp, err := screen.Do(r)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if resp != nil {
			err = errors.Join(err, resp.Body.Close())
		}
		return err
	})
	for i := range c.members {
		c.signal(i, syscall.SIGTERM)
		c.waitStopped(i)
		c.start(i)
		c.waitServing(i)
		if !within(3*time.Minute, func() bool {
			return c.metricOf(i, `duplex_request_duration_seconds_count{lane="rest",op="get_balance"}`) > 0
		}) {
			t.Fatalf("the proxy sends nothing to %s after its restart", memberNames[i])
		}
	}
	if !within(3*time.Minute, func() bool { return callers.requests() >= rollingRequests }) {
		t.Fatalf("only %d requests were answered", callers.requests())
	}
	stop()
	callers.done.Wait()
	for _, kind := range slices.Sorted(maps.Keys(callers.counts)) {
		count := callers.counts[kind]
		t.Logf("%-24s %5d requests, %d not executed, %d errors", kind, count.requests, count.notExecuted, len(count.errors))
		for _, err := range count.errors[:min(5, len(count.errors))] {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// tradeOnce sends the n-th request of a trader: an order, the dead-man switch, or the cancel of all orders. The venue
// has no price, so the core rejects an order, which uses its client_order_id like one that rests.
func tradeOnce(ctx context.Context, c *client.Client, n int) (err error) {
	switch n % 3 {
	case 0:
		_, err = c.PlaceOrder(ctx, schemas.PlaceOrder{ClientOrderID: schemas.U64(n), MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(100)), Qty: 1})
		if slices.Contains([]string{"market_not_trading", "unknown_market", "stale_generation"}, codeOf(err)) {
			err = nil
		}
	case 1:
		_, err = c.ArmDeadman(ctx, 60_000)
	default:
		_, err = c.CancelAll(ctx, schemas.CancelAll{})
	}
	return err
}
