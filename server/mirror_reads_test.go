package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// tinyCaps keep so few rows in memory that nearly every list is in the mirror.
func tinyCaps(o *server.Options) {
	o.Mirror, o.ReadRate, o.WriteFloor = "sqlite", 1_000_000, 1_000_000
	o.TuneEngine = func(e *engine.Options) {
		e.Caps = view.RetentionCaps{
			Tape: 2, Terminal: 3, Rejects: 1, Fills: 2, Settlements: 1, Events: 50, Rounds: 4, Actions: 2, Routine: 2, Ledger: 3, AccountRounds: 1, Deposits: 1,
		}
	}
}

// TestListsBeyondMemory trades for three rounds on a venue that keeps few rows in memory, and reads
// every list to its end in pages of several sizes. A venue that keeps everything in memory, started
// from the same journal, shows the same rows.
func TestListsBeyondMemory(t *testing.T) {
	data := t.TempDir()
	v := servertest.New(t, tinyCaps, func(o *server.Options) { o.Data = data })
	trade(t, v)
	lists := []string{
		"/v1/portfolio/orders", "/v1/portfolio/orders?status=executed", "/v1/portfolio/orders?market_id=1", "/v1/portfolio/orders?status=rejected,canceled",
		"/v1/portfolio/orders?client_order_id=18446744073709551615", "/v1/portfolio/fills", "/v1/portfolio/fills?market_id=2",
		"/v1/portfolio/settlements", "/v1/portfolio/ledger", "/v1/portfolio/ledger?kind=fee,settlement", "/v1/portfolio/ledger?market_id=1", "/v1/portfolio/rounds",
		"/v1/portfolio/rounds?category=1", "/v1/deposits", "/v1/markets/1/trades", "/v1/rounds", "/v1/rounds?category=1",
	}
	read := func(v *servertest.Venue) map[string][]string {
		if m := v.Mirror(); m != nil {
			for m.Wait(v.Engine().Seq()) > 0 {
				if err := m.LastError(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
		}
		out := map[string][]string{}
		for _, account := range []string{"alice", "bob"} {
			for _, list := range lists {
				for _, size := range []int{1, 3, 1000} {
					name := fmt.Sprintf("%s %s by %d", account, list, size)
					out[name] = readAll(t, v, account, list, size)
				}
			}
		}
		return out
	}
	got := read(v)
	v.Close()
	if err := os.RemoveAll(filepath.Join(data, "journal", "snapshots")); err != nil { // they have few rows
		t.Fatal(err)
	}
	whole := servertest.Open(t, server.Options{Data: data, Environment: "dev", Accounts: servertest.Accounts, DisputeWindow: time.Duration(core.DefaultRules().DisputeNs), Now: v.Clock.Time, ReadRate: 1_000_000})
	whole.Clock = v.Clock
	want, longest := read(whole), 0
	for name, rows := range want {
		if strings.Join(got[name], "\n") != strings.Join(rows, "\n") {
			t.Errorf("%s: with a mirror\n%s\nin memory\n%s", name, strings.Join(got[name], "\n"), strings.Join(rows, "\n"))
		}
		longest = max(longest, len(rows))
	}
	if longest < 40 {
		t.Errorf("the longest list has only %d rows", longest)
	}
}

// trade lets alice and bob trade in three rounds of a minute that end one after the other.
func trade(t *testing.T, v *servertest.Venue) {
	alice, bob := v.Client("alice"), v.Client("bob")
	id := uint64(1) << 63
	place := func(c *client.Client, market int, outcome string, tick, qty int) {
		t.Helper()
		id++
		_, err := c.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: schemas.Int(market), Side: "buy", Outcome: outcome, Type: "limit", Tick: schemas.Ptr(schemas.Int(tick)), Qty: schemas.Int(qty), TIF: "gtc"})
		if err != nil && tick != 7777 {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		v.Submit(&core.Deposit{User: core.UserID(1 + i%2), DepositID: fmt.Sprint("more", i), Amount: core.Pips(1000 + i), Audit: core.Audit{Who: "operator"}})
	}
	for range 3 {
		market := 0
		v.WaitUntil(func(m *venue.Venue, _ *view.View) bool {
			for slot := core.MarketID(1); slot < 20 && market == 0; slot++ {
				if s, ok := m.Market(slot); ok && s.Status == core.Trading && s.Category == 1 {
					market = int(slot)
				}
			}
			return market != 0
		})
		for i := range 5 {
			place(alice, market, "yes", 5000, 2+i)
			place(bob, market, "no", 5000, 1+i)
			place(bob, 2, "no", 4000, 3)
			place(alice, 2, "yes", 6000, 2)
			place(alice, 2, "yes", 7777, 1) // off the grid
		}
		if _, err := alice.CancelAll(t.Context(), schemas.CancelAll{}); err != nil {
			t.Fatal(err)
		}
		for range 70 {
			v.Advance(time.Second)
			v.PostPrice(core.BTC, core.Price(6_500_000_000_000+v.Clock.Now()%7))
		}
	}
	id = 1<<64 - 2
	place(bob, 2, "yes", 100, 1)
}

// clockRunning matches the one member of a row that depends on when it is read.
var clockRunning = regexp.MustCompile(`,"secs_to_close":\d+`)

// readAll reads a list to its end and returns its rows as JSON.
func readAll(t *testing.T, v *servertest.Venue, account, list string, size int) (rows []string) {
	t.Helper()
	c := v.Client(account)
	path, query, _ := strings.Cut(list, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q.Set("limit", fmt.Sprint(size))
	for {
		status, _, body, err := c.Call(t.Context(), "GET", path+"?"+q.Encode(), nil)
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %s %v", list, status, body, err)
		}
		var page map[string]json.RawMessage
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		var cursor string
		for name, value := range page {
			switch name {
			case "cursor":
				err = json.Unmarshal(value, &cursor)
			case "as_of_seq":
			default:
				var list []json.RawMessage
				err = json.Unmarshal(value, &list)
				for _, x := range list {
					rows = append(rows, clockRunning.ReplaceAllString(string(x), ""))
				}
				if len(list) > size || len(list) == 0 && len(rows) > 0 {
					t.Fatalf("%s: a page of %d rows", path, len(list))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if cursor == "" {
			return rows
		}
		q.Set("cursor", cursor)
	}
}
