package trading

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

func TestOrderFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		cmd  Order
		want string // part of the body, or of the error
	}{
		{"a limit in cents", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55"}, `"tick":5500,"qty":10`},
		{"to the pip", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "96.1"}, `"tick":9610`},
		{"pips are not cents", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@5500"}, "--price: prices are in cents"},
		{"off the grid", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@50.5"}, "the nearest to 50.5¢: 50¢ and 51¢"},
		{"below the grid", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@0.47"}, "the nearest to 0.47¢: 1¢"},
		{"--worst off the grid", Order{Side: "buy", Outcome: "yes", Qty: 10, Worst: "50.5"}, `"worst_tick":5050`},
		{"finer than a pip", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@5.555"}, "--price: prices are in cents"},
		{"not a number", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "much"}, "--price: prices are in cents"},
		{"a market order", Order{Side: "buy", Outcome: "no", Qty: 10}, `"type":"market","qty":10,"max_cost":"103000"`},
		{"--max-cost", Order{Side: "buy", Outcome: "no", Qty: 10, Market: true, MaxCost: "4.5"}, `"max_cost":"45000"`},
		{"--worst", Order{Side: "sell", Outcome: "no", Qty: 10, Worst: "40"}, `"type":"market","worst_tick":4000`},
		{"a price and --market", Order{Side: "sell", Outcome: "no", Qty: 10, Price: "@40", Market: true}, "--price: a market order has no limit price"},
		{"a time in force without a price", Order{Side: "buy", Outcome: "yes", Qty: 10, TIF: "ioc"}, "--tif: is for an order with a price, such as @55"},
		{"a post-only order without a price", Order{Side: "buy", Outcome: "yes", Qty: 10, PostOnly: true}, "--post-only: is for an order with a price"},
		{"a time in force", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55", TIF: "ioc"}, `"tif":"ioc"`},
		{"gtt", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55", TIF: "gtt", Expires: time.Minute, PostOnly: true}, `"tif":"gtt"`},
		{"gtt without a time", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55", TIF: "gtt"}, "--expires: --tif gtt needs the time"},
		{"a time without gtt", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55", Expires: time.Minute}, "--expires: is for --tif gtt"},
		{"ioc and post-only", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55", TIF: "ioc", PostOnly: true}, "--post-only: is for an order that can rest"},
		{"--max-cost 0 is no bound of a market order", Order{Side: "buy", Outcome: "no", Qty: 1, Market: true, MaxCost: "0"}, "--max-cost"},
		{"--max-cost 0 is none of a limit order", Order{Side: "buy", Outcome: "no", Qty: 1, Price: "@55", MaxCost: "0.00"}, "--max-cost"},
		{"--max-cost is not a number", Order{Side: "buy", Outcome: "no", Qty: 1, MaxCost: "lots"}, "--max-cost"},
	} {
		in, err := c.cmd.buildOrder()
		body, _ := schemas.Body(in)
		text := string(body)
		if err != nil {
			text = err.Error()
		} else if f := schemas.Decode(body, new(schemas.PlaceOrder)); f != nil && f.Field != "market_id" && f.Field != "expiry_ts" { // Run sets these
			t.Errorf("%s: the venue would reject %s: %v", c.name, body, f)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// TestExpiryByTheVenuesClock checks that --expires counts from venue time, which in an arena is not the
// clock of its machine.
func TestExpiryByTheVenuesClock(t *testing.T) {
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/time" {
			_, _ = io.WriteString(w, `{"server_time":"9000000000","clock":"virtual","venue_time":"5000000000"}`)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"market_id":1,"generation":7}`)
			return
		}
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"order_id":"9","client_order_id":"1","status":"resting","seq":"9","filled_qty":0,"resting_qty":1,"fills":[]}`)
	}))
	defer s.Close()
	o := Order{ClientFlags: cli.ClientFlags{URL: s.URL, Key: "k", Secret: strings.Repeat("0", 64)}, Side: "buy", Outcome: "yes", Qty: 1, Price: "@55", MarketID: 1, TIF: "gtt", Expires: time.Minute}
	if err := o.Run(t.Context(), io.Discard); err != nil || !strings.Contains(string(body), `"expiry_ts":"65000000000"`) {
		t.Errorf("%v, the order is %s, want it to expire a minute after the venue's 5 s", err, body)
	}
}

// TestOrderNamesItsGeneration places and previews an order in a slot whose round ends after the command has
// read it: the order names the generation that was read, and the venue's refusal is the result.
func TestOrderNamesItsGeneration(t *testing.T) {
	for _, preview := range []bool{false, true} {
		var body []byte
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `{"market_id":1,"generation":7}`)
				return
			}
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":{"code":"stale_generation","num":null,"origin":"core","message":"stale","details":null}}`)
		}))
		o := Order{ClientFlags: cli.ClientFlags{URL: s.URL, Key: "k", Secret: strings.Repeat("0", 64)}, Side: "buy", Outcome: "yes", Qty: 1, Price: "@55", MarketID: 1, Preview: preview}
		err := o.Run(t.Context(), io.Discard)
		s.Close()
		if !strings.Contains(string(body), `"generation":7`) {
			t.Errorf("preview %v: the order is %s, want generation 7", preview, body)
		}
		if err == nil || !strings.Contains(err.Error(), "stale_generation") {
			t.Errorf("preview %v: the error is %v, want stale_generation", preview, err)
		}
	}
}

// TestCancelTriesEveryBatch checks that a batch of cancels that fails does not keep back the next one.
func TestCancelTriesEveryBatch(t *testing.T) {
	var sent []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if sent = append(sent, string(body)); len(sent) == 1 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"code":"missing_scope","num":null,"origin":"gateway","message":"missing_scope","details":null}}`)
			return
		}
		_, _ = io.WriteString(w, `{"results":[{"status":"canceled","canceled_qty":1,"seq":"2"}]}`)
	}))
	defer s.Close()
	c := Cancel{ClientFlags: cli.ClientFlags{URL: s.URL, Key: "k", Secret: strings.Repeat("0", 64)}}
	for id := range uint64(schemas.BatchCap + 1) {
		c.IDs = append(c.IDs, id+1)
	}
	var out strings.Builder
	err := c.Run(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "missing_scope") {
		t.Errorf("the error is %v, want that of the first batch", err)
	}
	if len(sent) != 2 || !strings.Contains(sent[1], `["21"]`) {
		t.Errorf("sent %q, want two batches, the second with order 21", sent)
	}
	if !strings.Contains(out.String(), "canceled_qty") {
		t.Errorf("printed %q, want the result of the second batch", &out)
	}
}

// TestSlippageOfTheScreen checks that the trading screen has the same slippage.
func TestSlippageOfTheScreen(t *testing.T) {
	b, err := os.ReadFile("../../../lanes/portal/web/src/ticket/pricing.ts")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\nexport const SLIP = %d ", Slippage); !strings.Contains(string(b), want) {
		t.Errorf("pricing.ts has no %q", want)
	}
}

// TestDefaultWorst checks the worst price of a market order that names none: 2 cents beyond the best
// of the other side, within the prices that exist.
func TestDefaultWorst(t *testing.T) {
	book := &schemas.Orderbook{Yes: []schemas.Level{{5000, 3}, {4900, 9}}, No: []schemas.Level{{4400, 3}}}
	for _, c := range []struct {
		side, outcome string
		book          *schemas.Orderbook
		want          schemas.Int // 0 for none
	}{
		{"buy", "yes", book, 5800}, {"sell", "yes", book, 4800}, {"buy", "no", book, 5200}, {"sell", "no", book, 4200},
		{"buy", "yes", &schemas.Orderbook{No: []schemas.Level{{10, 1}}}, 9999}, {"sell", "no", &schemas.Orderbook{No: []schemas.Level{{150, 1}}}, 1},
		{"buy", "yes", &schemas.Orderbook{Yes: book.Yes}, 0}, {"sell", "yes", &schemas.Orderbook{No: book.No}, 0},
	} {
		got := worstTick(&schemas.PlaceOrder{Side: c.side, Outcome: c.outcome}, c.book)
		if (got == nil) != (c.want == 0) || got != nil && *got != c.want {
			t.Errorf("%s %s: %v, want %d", c.side, c.outcome, got, c.want)
		}
	}
}

func TestDefaultClientOrderIDs(t *testing.T) {
	c := Order{Side: "buy", Outcome: "yes", Qty: 1, Price: "@50"}
	a, _ := c.buildOrder()
	b, _ := c.buildOrder()
	if a.ClientOrderID == 0 || a.ClientOrderID == b.ClientOrderID {
		t.Errorf("%d and %d", a.ClientOrderID, b.ClientOrderID)
	}
	c.ClientOrderID = 7
	if a, _ = c.buildOrder(); a.ClientOrderID != 7 {
		t.Errorf("the client_order_id is %d, want the 7 of the flag", a.ClientOrderID)
	}
}

func TestPricesInCents(t *testing.T) {
	for pips, want := range map[int64]string{0: "-", 100: "1¢", 350: "3.5¢", 5347: "53.47¢", 5500: "55¢", 9990: "99.9¢", 9999: "99.99¢"} {
		if got := Cents(pips); got != want {
			t.Errorf("%d pips are shown as %s, want %s", pips, got, want)
		}
	}
}

// TestDefaultWorstOfAnAgent checks that a market order names no worst price where the price collar of
// the mandate is tighter than the default, because the venue then applies the collar, and that no
// other rejection of the preview removes it.
func TestDefaultWorstOfAnAgent(t *testing.T) {
	const book = `{"market_id":1,"generation":2,"yes":[[5000,3]],"no":[[4400,3]],"as_of_seq":"1"}`
	const empty = `{"market_id":1,"generation":2,"yes":[[5000,3]],"no":[],"as_of_seq":"1"}`
	violates := func(rule string) string {
		return `{"error":{"code":"mandate_violation","message":"no","details":{"rule":"` + rule + `"}}}`
	}
	for _, c := range []struct {
		name, book    string
		status        int
		preview, want string // want is a tick, "" for none, or part of the error
	}{
		{"a wide collar", book, 200, `{"status":"executed","fills":[]}`, "5800"},
		{"a tight collar", book, 403, violates("price_collar"), ""},
		{"another bound", book, 403, violates("max_order_cost"), "5800"},
		{"another error", book, 403, `{"error":{"code":"insufficient_balance","message":"no","details":{"rule":"price_collar"}}}`, "5800"},
		{"nobody offers", empty, 200, `{}`, "nobody offers YES now; with --worst the order is placed anyway"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == "GET" {
				_, _ = io.WriteString(w, c.book)
				return
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.preview)
		}))
		got, err := defaultWorst(t.Context(), client.Must(client.New(s.URL, "key", []byte("secret"))), schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Qty: 3, Type: "market"})
		s.Close()
		said := ""
		if err != nil {
			said = err.Error()
		} else if got != nil {
			said = strconv.Itoa(int(*got))
		}
		if said != c.want {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
	}
}
