package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"duplex/schemas"
)

// scenario is a bad day of a client.
type scenario struct {
	name string
	play func(*bench) error
}

func (s *scenario) run(dx, name string, command []string) error {
	b, stop, err := newBench(dx, name, command)
	defer stop()
	if err != nil {
		return err
	}
	return s.play(b)
}

var scenarios = []scenario{
	{"clock 60 s behind", func(b *bench) error { return skewed(b, -60_000) }},
	{"clock 60 s ahead", func(b *bench) error { return skewed(b, 60_000) }},
	{"a clock that jumps", jumps},
	{"another order has the id", collision},
	{"a stray response", stray},
	{"cut before the request", func(b *bench) error { return cutOrder(b, fault{"POST ", false}) }},
	{"cut after the request", func(b *bench) error { return cutOrder(b, fault{"POST ", true}) }},
	{"restart of 10 s", restart},
	{"silence", silence},
	{"429", limited},
	{"slow reader", slowReader},
	{"refused", func(b *bench) error {
		url, err := unused()
		if err != nil {
			return err
		}
		return unreachable(b, url, "refused")
	}},
	{"TLS to a plain port", func(b *bench) error {
		return unreachable(b, strings.Replace(b.proxy.url(), "http:", "https:", 1), "refused")
	}},
	{"another server", func(b *bench) error {
		s := httptest.NewServer(http.NotFoundHandler())
		defer s.Close()
		return unreachable(b, s.URL, "status 404")
	}},
	{"an address with a path", func(b *bench) error {
		return b.want(request{Do: "open", URL: b.proxy.url() + "/v1", Key: b.trader.APIKey, Secret: b.trader.Secret}, "url")
	}},
}

// skewed uses a client whose clock is wrong, for a request and for a stream.
func skewed(b *bench, ms int64) error {
	for _, first := range []string{"balance", "stream"} {
		if err := b.open(func(r *request) { r.ClockMs = ms }); err != nil {
			return err
		}
		if first == "balance" {
			if err := b.want(request{Do: "balance"}, "ok"); err != nil {
				return err
			}
			if err := b.want(b.order(), "ok"); err != nil {
				return err
			}
			continue
		}
		if err := b.follow(0); err != nil {
			return err
		}
	}
	return b.placedOnce()
}

// jumps sets the clock of a client whose stream is open: no change of the book is late for that, and orders pass.
func jumps(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	if err := b.follow(0); err != nil {
		return err
	}
	for _, ms := range []int64{60_000, -60_000} {
		time.Sleep(11 * time.Second) // a client that measures its clock again does so after 10 s
		if err := b.want(request{Do: "clock", ClockMs: ms}, "ok"); err != nil {
			return err
		}
		b.foreign++
		_, err := b.other.PlaceOrder(context.Background(), schemas.PlaceOrder{
			ClientOrderID: schemas.U64(1_000_000 + b.foreign), MarketID: schemas.Int(b.market.MarketID), Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(1000 + 100*b.foreign)), Qty: 1,
		})
		if err != nil {
			return err
		}
		if err := b.sameBook(20 * time.Second); err != nil {
			return err
		}
		if err := b.want(b.order(), "ok"); err != nil {
			return err
		}
	}
	if err := b.sameBook(20 * time.Second); err != nil {
		return err
	}
	s, err := b.ask(request{Do: "state"})
	if err != nil {
		return err
	}
	if s.Late > 0 || s.Disconnects > 0 || s.OldestMs > 2000 {
		return fmt.Errorf("after the clock has jumped: %+v, want no late change and no lost connection", s)
	}
	return b.placedOnce()
}

// collision loses an order whose client_order_id another one has: the client says so, and does not return that one.
func collision(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	first := b.order()
	if err := b.want(first, "ok"); err != nil {
		return err
	}
	b.proxy.set(func() { b.proxy.fault = fault{"POST ", false} })
	first.Order["tick"] = 1100
	if err := b.want(first, "duplicate_client_order_id"); err != nil {
		return err
	}
	b.proxy.set(func() { b.proxy.fault = fault{"POST ", true} })
	if err := b.want(b.order(), "ok"); err != nil {
		return err
	}
	return b.placedOnce()
}

// stray sends a response that nobody asked for on each kept connection, as load balancers do.
func stray(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	for range 5 {
		if err := b.want(b.order(), "ok"); err != nil {
			return err
		}
		b.proxy.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if err := b.want(request{Do: "balance"}, "ok"); err != nil {
			return err
		}
	}
	return b.placedOnce()
}

// cutOrder loses an order or its response.
func cutOrder(b *bench, f fault) error {
	if err := b.open(nil); err != nil {
		return err
	}
	for range 5 {
		b.proxy.set(func() { b.proxy.fault = f })
		if err := b.want(b.order(), "ok"); err != nil {
			return err
		}
		if err := b.want(b.order(), "ok"); err != nil { // on a new or a kept connection
			return err
		}
	}
	return b.placedOnce()
}

// trade fills one more order of the client, whose id it adds to want.
func (b *bench) trade(want *[]string) error {
	if err := b.want(b.order(), "ok"); err != nil {
		return err
	}
	_, err := b.other.PlaceOrder(context.Background(), schemas.PlaceOrder{
		ClientOrderID: schemas.U64(b.orders), MarketID: schemas.Int(b.market.MarketID), Side: "buy", Outcome: "no", Tick: schemas.Ptr(schemas.Int(9000)), Qty: 1,
	})
	if err != nil {
		return err
	}
	return b.expectFills(want)
}

// expectFills reads which orders of the client have filled.
func (b *bench) expectFills(want *[]string) error {
	*want = (*want)[:0]
	for f, err := range b.checker.AllFills(context.Background(), schemas.ListFills{}) {
		if err != nil {
			return err
		}
		*want = append(*want, f.OrderID.String())
	}
	slices.Reverse(*want) // listed newest first
	return nil
}

// fills waits until the driver has heard of each fill, once and in order.
func (b *bench) fills(want []string, limit time.Duration) error {
	var got []string
	err := within(limit, "the client has heard of each fill", func() (bool, error) {
		s, err := b.ask(request{Do: "state"})
		got = s.Fills
		return slices.Equal(got, want), err
	})
	if err != nil {
		return fmt.Errorf("%w: %v, want %v", err, got, want)
	}
	return nil
}

// restart kills the venue while an order is on its way, and starts it after 10 s.
func restart(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	if err := b.follow(0); err != nil {
		return err
	}
	var want []string
	if err := b.trade(&want); err != nil {
		return err
	}
	b.proxy.set(func() { b.proxy.fault = fault{"POST ", true} }) // its response is lost with the venue
	placed := make(chan error, 1)
	order := b.order()
	go func() { placed <- b.want(order, "ok") }()
	if err := within(10*time.Second, "the venue has the order", func() (bool, error) {
		id := schemas.U64(b.orders)
		l, err := b.checker.Orders(context.Background(), schemas.ListOrders{ClientOrderID: &id})
		return len(l.Orders) == 1, err
	}); err != nil {
		return err
	}
	b.kill()
	time.Sleep(10 * time.Second) // the outage
	if err := b.start(); err != nil {
		return err
	}
	if err := <-placed; err != nil {
		return err
	}
	if err := b.placedOnce(); err != nil {
		return err
	}
	if err := within(time.Minute, "the market trades again", func() (bool, error) { // it is paused until it has prices
		m, err := b.checker.Market(context.Background(), int(b.market.MarketID))
		return !m.Paused, err
	}); err != nil {
		return err
	}
	if err := b.trade(&want); err != nil {
		return err
	}
	if err := b.fills(want, 30*time.Second); err != nil {
		return err
	}
	return b.sameBook(30 * time.Second)
}

// silence lets a connection die without an end: the client must leave it, and go on without a lost fill.
func silence(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	const silent = 3 * time.Second
	if err := b.follow(silent); err != nil {
		return err
	}
	before, err := b.ask(request{Do: "state"})
	if err != nil {
		return err
	}
	release := b.proxy.hold()
	// What a machine that is held up adds to the time is not the client's.
	if err := within(10*silent, "the client has left the silent connection", func() (bool, error) {
		s, err := b.ask(request{Do: "state"})
		return s.Disconnects > before.Disconnects && s.Book == nil, err
	}); err != nil {
		return err
	}
	release()
	var want []string
	if err := b.trade(&want); err != nil {
		return err
	}
	if err := b.fills(want, 30*time.Second); err != nil {
		return err
	}
	return b.sameBook(30 * time.Second)
}

// limited places more orders than the tokens allow.
func limited(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	_, err := b.checker.Limits(context.Background())
	if err != nil {
		return err
	}
	for range 2 * 100 {
		if err := b.want(b.order(), "ok"); err != nil {
			return err
		}
	}
	return b.placedOnce()
}

// slowReader reads a few messages a second while the book changes often: no change that the client applies is older
// than 2 s, and it says so when it drops one.
func slowReader(b *bench) error {
	if err := b.open(nil); err != nil {
		return err
	}
	if err := b.follow(0); err != nil {
		return err
	}
	if err := b.want(request{Do: "slow", PauseMs: 200}, "ok"); err != nil {
		return err
	}
	end := time.Now().Add(8 * time.Second)
	for n := uint64(1_000_000); time.Now().Before(end); n++ {
		o, err := b.other.PlaceOrder(context.Background(), schemas.PlaceOrder{
			ClientOrderID: schemas.U64(n), MarketID: schemas.Int(b.market.MarketID), Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(1000 + 100*(n%5))), Qty: 1,
		})
		if err == nil && n%5 != 0 { // some stay
			_, err = b.other.Cancel(context.Background(), o.OrderID)
		}
		if err != nil {
			return err
		}
		time.Sleep(40 * time.Millisecond) // about 50 changes a second, and the client reads 5
	}
	s, err := b.ask(request{Do: "state"})
	if err != nil {
		return err
	}
	if s.Late == 0 {
		return fmt.Errorf("the client reads 5 of 50 messages a second, and knows of no late change: %+v", s)
	}
	if limit := int64(2_500); s.OldestMs > limit { // 2 s, and the pause before the age is taken
		return fmt.Errorf("the client has applied a change that was %d ms old, want at most %d", s.OldestMs, limit)
	}
	if err := b.want(request{Do: "slow"}, "ok"); err != nil {
		return err
	}
	return b.sameBook(30 * time.Second)
}

// unreachable uses a client of an address at which no venue is: it says so in its time, and that nothing was executed.
func unreachable(b *bench, url, result string) error {
	if err := b.open(func(r *request) { r.URL = url }); err != nil {
		return err
	}
	if err := b.want(request{Do: "stream", Channels: []string{"user"}, MarketIDs: []uint32{b.market.MarketID}}, "ok"); err != nil {
		return err
	}
	begun := time.Now()
	order := b.order()
	b.orders = 0
	if err := b.want(order, result); err != nil {
		return err
	}
	if took := time.Since(begun); took > 40*time.Second {
		return fmt.Errorf("the error of the order came after %v, want 30 s", took)
	}
	if err := within(15*time.Second, "the stream has ended with an error", func() (bool, error) {
		s, err := b.ask(request{Do: "state"})
		return s.Ended != "", err
	}); err != nil {
		return err
	}
	return b.placedOnce()
}
