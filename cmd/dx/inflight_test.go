package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/schemas"
)

// with sends a request with a bearer token to another listener and requires a 2xx.
func with(t *testing.T, bearer, method, url, body string, into any) {
	t.Helper()
	status, text := send(t, method, url, body, "Authorization", "Bearer "+bearer)
	if status < 200 || status > 299 {
		t.Fatalf("%s %s: %d %s, want 2xx", method, url, status, text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// answer is the result of one placement.
type answer struct {
	begun  time.Time
	status int
	order  schemas.Outcome
	err    error
}

// flood places one order after the other with a key until stop returns true. A venue that was held up for 5 s
// pauses its markets, so flood does not count an order that is rejected for it.
func (p *process) flood(a schemas.DevAccount, market uint32, ids *atomic.Uint64, stop func(answer) bool) {
	for {
		x := answer{begun: time.Now()}
		body := fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":100,"qty":1,"tif":"ioc"}`, ids.Add(1), market)
		var b []byte
		x.status, b, x.err = p.exchange(a, "POST", "/v1/portfolio/orders", body)
		if x.status == http.StatusConflict && strings.Contains(string(b), `"code":"market_paused"`) {
			time.Sleep(100 * time.Millisecond) // no faster than its account gets tokens
			continue
		}
		if x.status == http.StatusCreated && x.err == nil {
			x.err = json.Unmarshal(b, &x.order)
		}
		if stop(x) {
			return
		}
	}
}

// A key is revoked while 100 requests and 10 sockets of it are in flight. No command of the
// key follows the revocation in the journal, no request is accepted after the response to
// the revocation, and the sockets are closed.
func TestLongRevokedInFlight(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--no-maker", "--write-floor", "1000000")
	a := p.account("trader")
	m := p.market(trades)
	var made schemas.NewKey
	with(t, a.AccountToken, "POST", p.dev.Portal+"/keys", `{"label":"to be revoked"}`, &made)
	key := a
	key.APIKey, key.Secret = made.APIKey, made.Secret
	secret, err := hex.DecodeString(made.Secret)
	if err != nil {
		t.Fatal(err)
	}

	var all sync.WaitGroup
	closed := make(chan error, 10)
	dial := func() *websocket.Conn {
		for {
			signed, h := time.Now(), http.Header{}
			for list := (signer{key.APIKey, secret}).headers("GET", "/v1/ws"); len(list) > 0; list = list[2:] {
				h.Set(list[0], list[1])
			}
			ws, _, err := websocket.Dial(t.Context(), p.dev.WS, &websocket.DialOptions{HTTPHeader: h})
			if err == nil {
				return ws
			}
			if time.Since(signed) < 4*time.Second { // otherwise held up until the signature was too old
				t.Fatal(err)
			}
		}
	}
	for range cap(closed) {
		ws := dial()
		defer ws.CloseNow()
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"id":1,"cmd":"subscribe","channels":["user"]}`)); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for {
				if _, _, err := ws.Read(t.Context()); err != nil {
					closed <- err
					return
				}
			}
		})
	}

	var mu sync.Mutex
	var answers []answer
	var ids atomic.Uint64
	busy := make(chan struct{})
	for range 100 {
		all.Go(func() {
			p.flood(key, m.MarketID, &ids, func(x answer) bool {
				mu.Lock()
				defer mu.Unlock()
				if answers = append(answers, x); len(answers) == 500 {
					close(busy)
				}
				return x.status != 201
			})
		})
	}
	<-busy
	with(t, a.AccountToken, "DELETE", p.dev.Portal+"/keys/"+key.APIKey, "", nil)
	answered := time.Now()
	for range cap(closed) {
		if err := <-closed; websocket.CloseStatus(err) != 4401 {
			t.Errorf("a socket ended with %v", err)
		}
	}
	t.Logf("the last socket was closed %v after the answer", time.Since(answered)) // a figure; the machine may be busy
	all.Wait()

	var list schemas.ActionList
	with(t, p.dev.OperatorToken, "GET", p.dev.Admin+"/admin/audit?action=revoke_key", "", &list)
	if len(list.Actions) != 1 {
		t.Fatalf("actions %+v", list)
	}
	last, refused := uint64(0), 0
	for _, x := range answers {
		switch {
		case x.err != nil:
			t.Error(x.err)
		case x.status == 201 && x.begun.After(answered):
			t.Errorf("order %d was accepted %v after the answer", x.order.OrderID, x.begun.Sub(answered))
		case x.status == 201:
			last = max(last, uint64(x.order.OrderID))
		case x.status == 401:
			refused++
		default:
			t.Errorf("status %d", x.status)
		}
	}
	if last > uint64(list.Actions[0].Seq) || refused != 100 {
		t.Errorf("the key was revoked at seq %d, its last order is %d; %d of 100 were refused", list.Actions[0].Seq, last, refused)
	}
	var orders schemas.OrderList
	p.must(a, "GET", "/v1/portfolio/orders?limit=1", "", &orders)
	if len(orders.Orders) != 1 || uint64(orders.Orders[0].CreatedSeq) > uint64(list.Actions[0].Seq) {
		t.Errorf("behind seq %d: %+v", list.Actions[0].Seq, orders.Orders)
	}
	p.stop()
}

// After SIGTERM under load the venue exits with code 0 in time, rejects the remaining
// requests with an error, and has every confirmed order after a restart.
func TestLongStopUnderLoad(t *testing.T) {
	data := t.TempDir()
	p := start(t, data, "--no-maker", "--write-floor", "1000000")
	m := p.market(trades)
	names := []string{"trader", "maker", "treasurer"}
	orders := map[string][]schemas.Outcome{}
	var mu sync.Mutex
	var all sync.WaitGroup
	var ids atomic.Uint64
	n, draining := 0, 0
	busy := make(chan struct{})
	for _, name := range names {
		a := p.account(name)
		for range 8 {
			all.Go(func() {
				p.flood(a, m.MarketID, &ids, func(x answer) bool {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case x.err != nil: // the listener is closed
						return true
					case x.status == 201:
						orders[name] = append(orders[name], x.order)
					case x.status == 503:
						draining++
						return draining > 1000
					default:
						t.Errorf("status %d", x.status)
						return true
					}
					if n++; n == 900 {
						close(busy)
					}
					return false
				})
			})
		}
	}
	<-busy
	p.stop()
	all.Wait()
	expectCommand(t, 0, "whole: ", "verify", data)
	p = start(t, data, "--no-maker")
	for name, list := range orders {
		p.check(name, list)
	}
	t.Logf("%d orders answered, %d refused while it drained", n, draining)
	var schedule json.RawMessage
	p.must(p.account("reader"), "GET", "/v1/exchange/status", "", &schedule)
	p.stop()
}

// A key that floods the venue over 50 connections gets as many responses as its bucket has
// tokens, and rate_limited for the rest. Other keys beside it lose no response.
func TestLongGreedyKey(t *testing.T) {
	users, times, pause := 5, 2, time.Duration(0)
	if long() { // open loop, to measure the latency
		users, times, pause = 20, 15, 200*time.Millisecond
	}
	p := start(t, t.TempDir(), "--no-maker")
	m := p.market(trades)
	var polite []schemas.DevAccount
	for i := range users {
		var u schemas.NewUser
		var k schemas.NewKey
		with(t, p.dev.OperatorToken, "POST", p.dev.Admin+"/admin/users", fmt.Sprintf(`{"name":"polite-%d"}`, i), &u)
		with(t, p.dev.OperatorToken, "POST", fmt.Sprintf("%s/admin/users/%d/deposits", p.dev.Admin, u.UserID), fmt.Sprintf(`{"deposit_id":"p-%d","amount":"1000000"}`, i), nil)
		with(t, p.dev.OperatorToken, "POST", fmt.Sprintf("%s/admin/users/%d/keys", p.dev.Admin, u.UserID), `{}`, &k)
		polite = append(polite, schemas.DevAccount{APIKey: k.APIKey, Secret: k.Secret})
	}
	var ids atomic.Uint64
	ask := func() (took []time.Duration) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, a := range polite {
			all.Go(func() {
				for range times {
					begun := time.Now()
					p.flood(a, m.MarketID, &ids, func(x answer) bool {
						mu.Lock()
						defer mu.Unlock()
						if took = append(took, time.Since(x.begun)); x.err != nil || x.status != 201 {
							t.Errorf("a polite key was answered %d, %v", x.status, x.err)
						}
						return true
					})
					time.Sleep(pause - time.Since(begun))
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		return took
	}
	alone := ask()
	var done atomic.Bool
	var served, refused atomic.Int64
	limited := make(chan struct{})
	var once sync.Once
	var greedy sync.WaitGroup
	begun := time.Now()
	for range 50 {
		greedy.Go(func() {
			p.flood(p.account("trader"), m.MarketID, &ids, func(x answer) bool {
				switch {
				case x.err != nil || x.status != 201 && x.status != 429:
					t.Errorf("the greedy key was answered %d, %v", x.status, x.err)
					once.Do(func() { close(limited) })
					return true
				case x.status == 201:
					served.Add(1)
				default:
					refused.Add(1)
					once.Do(func() { close(limited) })
				}
				return done.Load()
			})
		})
	}
	<-limited
	beside := ask()
	done.Store(true)
	greedy.Wait()
	const burst, perSecond = 20, 20 // of a new account
	if most := burst + perSecond*time.Since(begun).Seconds(); float64(served.Load()) > most {
		t.Errorf("the greedy key had %d orders, and tokens for %.1f", served.Load(), most)
	}
	at := func(all []time.Duration, q int) time.Duration {
		return all[len(all)*q/100].Round(10 * time.Microsecond)
	}
	t.Logf("polite keys alone: p50 %v, p99 %v; beside a greedy one (%d orders, %d refused): p50 %v, p99 %v", at(alone, 50), at(alone, 99), served.Load(), refused.Load(), at(beside, 50), at(beside, 99))
	p.stop()
}
