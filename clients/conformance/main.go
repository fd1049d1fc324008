// Command conformance runs the clients in several languages against a venue behind a proxy that breaks connections,
// and checks that all of them do the same: no order twice, no fill lost, each fault known in its time.
//
//	go run ./clients/conformance DX [NAME=COMMAND]…
//
// DX is the built program. Each COMMAND is a driver, which uses a client as its standard input says (driver.go); the
// client in Go is always among them. It exits with 1 if a client fails a scenario.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"duplex/client"
	"duplex/schemas"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "driver" {
		if err := driveGo(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "conformance DX [NAME=COMMAND]…")
		os.Exit(2)
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	drivers := map[string][]string{"go": {self, "driver"}}
	for _, arg := range os.Args[2:] {
		name, command, _ := strings.Cut(arg, "=")
		drivers[name] = strings.Fields(command)
	}
	failed := 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, command := range drivers {
		for _, s := range scenarios {
			all.Go(func() {
				begun := time.Now()
				err := s.run(os.Args[1], name, command)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
					fmt.Printf("%-8s %-28s FAILED after %.1f s: %v\n", name, s.name, time.Since(begun).Seconds(), err)
					return
				}
				fmt.Printf("%-8s %-28s passed, %.1f s\n", name, s.name, time.Since(begun).Seconds())
			})
		}
	}
	all.Wait()
	if failed > 0 {
		os.Exit(1)
	}
}

// bench is a venue, a proxy before it, and a driver with a client of the account trader.
type bench struct {
	*driver
	proxy   *proxy
	dir     string
	dx      string
	venue   *exec.Cmd
	api     string
	trader  schemas.DevAccount
	checker *client.Client // reads the venue directly, as the trader
	other   *client.Client // trades against it
	market  schemas.Market
	orders  int
	foreign int // orders of other
}

// start starts the venue, at the same address as before if it has run.
func (b *bench) start() error {
	args := []string{"dev", "--quiet", "--quiet-market", "--data", filepath.Join(b.dir, "data"), "--dev-file", filepath.Join(b.dir, "dev.json"), "--write-floor", "2000", "--read-rate", "2000"}
	if b.api == "" {
		args = append(args, "--ports", "0")
	} else {
		args = append(args, "--api", b.api, "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	}
	b.venue = exec.Command(b.dx, args...)
	if err := b.venue.Start(); err != nil {
		return err
	}
	if b.api != "" {
		return nil
	}
	return within(time.Minute, "the venue trades", func() (bool, error) {
		raw, err := os.ReadFile(filepath.Join(b.dir, "dev.json"))
		if err != nil {
			return false, nil
		}
		var dev schemas.DevFile
		if err := json.Unmarshal(raw, &dev); err != nil {
			return false, err
		}
		b.api = strings.TrimPrefix(dev.API, "http://")
		for _, a := range dev.Accounts {
			secret, _ := schemas.ParseSecret(a.Secret)
			c, err := client.New(dev.API, a.APIKey, secret, client.WaitForTokens(), client.RepeatPlacements())
			if err != nil {
				return false, err
			}
			switch a.Name {
			case "trader":
				b.trader, b.checker = a, c
			case "treasurer":
				b.other = c
			}
		}
		markets, err := b.checker.Markets(context.Background(), schemas.ListMarkets{Status: "trading"})
		if err != nil {
			return false, err
		}
		for _, m := range markets.Markets {
			if m.SecsToClose > 120 { // no round ends within a scenario
				b.market = m
				return true, nil
			}
		}
		return false, nil
	})
}

// kill ends the venue as kill -9 does.
func (b *bench) kill() {
	_ = b.venue.Process.Kill()
	_ = b.venue.Wait()
}

// within waits until what is expected is so.
func within(limit time.Duration, what string, ok func() (bool, error)) error {
	end := time.Now().Add(limit)
	for {
		good, err := ok()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if good {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not within %v: %s", limit, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// newBench starts everything but the client.
func newBench(dx, name string, command []string) (b *bench, stop func(), err error) {
	b = &bench{dx: dx}
	stop = func() {
		if b.driver != nil {
			b.driver.stop()
		}
		if b.proxy != nil {
			_ = b.proxy.listener.Close()
			b.proxy.cut()
		}
		if b.venue != nil {
			b.kill()
		}
		_ = os.RemoveAll(b.dir)
	}
	if b.dir, err = os.MkdirTemp("", "dx-conformance-"); err != nil {
		return b, stop, err
	}
	if err = b.start(); err != nil {
		return b, stop, err
	}
	if b.proxy, err = newProxy(b.api); err != nil {
		return b, stop, err
	}
	b.driver, err = startDriver(name, command)
	return b, stop, err
}

// open makes the client of the driver.
func (b *bench) open(change func(*request)) error {
	r := request{Do: "open", URL: b.proxy.url(), Key: b.trader.APIKey, Secret: b.trader.Secret}
	if change != nil {
		change(&r)
	}
	return b.want(r, "ok")
}

// want asks and checks the result.
func (b *bench) want(r request, result string) error {
	got, err := b.ask(r)
	if err == nil && got.Result != result {
		err = fmt.Errorf("%s: the result is %s, want %s", r.Do, got.Result, result)
	}
	return err
}

// order returns the request to place an order that rests.
func (b *bench) order() request {
	b.orders++
	return request{Do: "place", Order: map[string]any{"client_order_id": fmt.Sprint(b.orders), "market_id": b.market.MarketID, "side": "buy", "outcome": "yes", "tick": 1000, "qty": 1}}
}

// placedOnce checks that the venue has each order that was sent, once.
func (b *bench) placedOnce() error {
	n := 0
	for _, err := range b.checker.AllOrders(context.Background(), schemas.ListOrders{}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != b.orders {
		return fmt.Errorf("the venue has %d orders, want %d", n, b.orders)
	}
	return nil
}

// sameBook waits until the driver has the book of the venue.
func (b *bench) sameBook(limit time.Duration) error {
	var last string
	err := within(limit, "the client has the book of the venue", func() (bool, error) {
		got, err := b.ask(request{Do: "state"})
		if err != nil {
			return false, err
		}
		want, err := b.checker.Orderbook(context.Background(), schemas.GetOrderbook{MarketID: schemas.Int(b.market.MarketID)})
		if err != nil {
			return false, err
		}
		shown := func(yes, no [][2]int64) string { return fmt.Sprint(yes, no) }
		last = fmt.Sprintf("%+v, want %v %v", got.Book, want.Yes, want.No)
		return got.Book != nil && shown(got.Book.Yes, got.Book.No) == shown(levels(want.Yes), levels(want.No)), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, last)
	}
	return nil
}

// follow starts the stream of the driver, and waits for its book.
func (b *bench) follow(silence time.Duration) error {
	r := request{Do: "stream", Channels: []string{"orderbook_delta", "user"}, MarketIDs: []uint32{b.market.MarketID}, SilenceMs: int(silence.Milliseconds())}
	if err := b.want(r, "ok"); err != nil {
		return err
	}
	return b.sameBook(20 * time.Second)
}

// unused returns an address of this machine at which nothing listens.
func unused() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return "http://" + l.Addr().String(), l.Close()
}
