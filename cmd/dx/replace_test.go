package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"duplex/schemas"
	"duplex/server/servertest"
)

// TestReplace runs dx replace against a venue: the old order ends, the new one rests with the terms of the
// line, and a replace that the venue rejects changes nothing.
func TestReplace(t *testing.T) {
	v := servertest.New(t)
	alice := v.Account("alice")
	// dx sets its clock by the header Date, which is that of the machine without this proxy.
	api, err := url.Parse(v.APIURL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(api) }, ModifyResponse: func(r *http.Response) error {
		r.Header.Set("Date", v.Clock.Time().UTC().Format(http.TimeFormat))
		return nil
	}})
	t.Cleanup(proxy.Close)
	t.Setenv("DX_URL", proxy.URL)
	t.Setenv("DX_KEY", alice.APIKey)
	t.Setenv("DX_SECRET", alice.Secret)
	c := v.Client("alice")
	old, err := c.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "no", Tick: schemas.Ptr(schemas.Int(4000)), Qty: 10})
	if err != nil {
		t.Fatal(err)
	}
	replace := func(id schemas.U64, args string) (int, string) {
		code, out, errs := runCommand(append([]string{"replace", fmt.Sprint(id)}, strings.Fields(args)...)...)
		return code, out + errs
	}
	resting := func() string {
		t.Helper()
		l, err := c.Orders(t.Context(), schemas.ListOrders{Status: "resting"})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, o := range l.Orders {
			out = append(out, fmt.Sprintf("%d: %s %s %d at %d, group %d, client_order_id %d", *o.OrderID, o.Side, o.Outcome, o.RemainingQty, o.Tick, o.GroupID, o.ClientOrderID))
		}
		return strings.Join(out, "; ")
	}

	before := resting()
	for args, want := range map[string]string{
		"5 @50.5":                   "dx: --price: prices are 1 to 99.9 cents",
		"900000 @50":                "insufficient_balance",
		"5 @41 --client-order-id 1": "duplicate_client_order_id",
	} {
		if code, text := replace(old.OrderID, args); code == 0 || !strings.Contains(text, want) || resting() != before {
			t.Errorf("dx replace with %s: exit %d %s, want %q; the orders are %s, want %s", args, code, text, want, resting(), before)
		}
	}

	code, text := replace(old.OrderID, "4 @41.0 --group 7 --post-only --client-order-id 2")
	var now schemas.Replacement
	if err := json.Unmarshal([]byte(text), &now); err != nil || code != 0 {
		t.Fatalf("dx replace: exit %d %s, want 0 and JSON", code, text)
	}
	if now.Replaced.OrderID != old.OrderID || now.Replaced.CanceledQty != 10 || now.Status != "resting" || now.RestingQty != 4 {
		t.Errorf("dx replace: %s, want 10 canceled of the old order and 4 resting", text)
	}
	if got, want := resting(), fmt.Sprintf("%d: buy no 4 at 4100, group 7, client_order_id 2", now.OrderID); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if ended, err := c.Order(t.Context(), old.OrderID); err != nil || ended.Status != "canceled" || ended.Reason != "replaced" {
		t.Errorf("the old order is %+v, %v, want it canceled as replaced", ended, err)
	}
	if code, text := replace(old.OrderID, "4 @42"); code != 1 || !strings.Contains(text, "unknown_order") {
		t.Errorf("a second replace of the old order: exit %d %s, want 1 unknown_order", code, text)
	}
}
