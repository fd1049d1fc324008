package rest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestNotAfter checks that a placement, each item of a batch, a preview and a replace are judged by the stamp of the
// venue, and that what is too late leaves a row and uses its id up.
func TestNotAfter(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.FreezeClock()
	const orders = "/v1/portfolio/orders"
	now := h.Venue.Config.Now()
	bound := func(d time.Duration) string { return fmt.Sprintf(`,"not_after_ts":"%d"`, now+d.Nanoseconds()) }
	early, late := bound(time.Minute), bound(-time.Second)
	placed := wants(h, alice, "POST", orders, order(1, early), 201, "")
	id := field(t, placed, "order_id").(string)
	wants(h, alice, "POST", orders, order(2, late), 400, "too_late")
	wants(h, alice, "POST", orders, order(2, early), 409, "duplicate_client_order_id")
	wants(h, alice, "POST", orders, order(1, late), 409, "duplicate_client_order_id")
	wants(h, alice, "POST", orders+"/preview", order(3, late), 400, "too_late")
	wants(h, alice, "POST", orders+"/preview", order(3, early), 200, "")
	wants(h, alice, "POST", orders+"/"+id+"/replace", `{"client_order_id":"4","tick":4900`+late+`}`, 400, "too_late")
	wants(h, alice, "POST", orders+"/"+id+"/replace", `{"client_order_id":"5","tick":4900`+early+`}`, 201, "")
	_, body := h.Call(alice, "POST", orders+"/batch", `{"orders":[`+order(6, late)+`,`+order(7, early)+`,`+order(8, `,"not_after_ts":"0"`)+`]}`)
	if !strings.HasPrefix(body, `[{"error":{"code":"too_late","num":275,`) || strings.Count(body, `"status":"resting"`) != 2 {
		t.Errorf("a batch: %s", body)
	}
	wants(h, alice, "POST", orders, order(9, `,"not_after_ts":"soon"`), 400, "schema_violation")
	if _, rows := h.Call(alice, "GET", orders+"?status=rejected", ""); strings.Count(rows, `"reason":"too_late"`) != 3 {
		t.Errorf("the rows of what was too late: %s", rows)
	}
	h.AdvanceClock(2 * time.Minute)
	wants(h, alice, "POST", orders, order(10, early), 400, "too_late")
}

// TestClientRequestID checks that a decrease and a redeem with an id are executed once, whatever the second request
// says, that a rejected one leaves its id free, and that the ledger has the id.
func TestClientRequestID(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.FreezeClock()
	const orders = "/v1/portfolio/orders"
	id := field(t, wants(h, alice, "POST", orders, order(1, ""), 201, ""), "order_id").(string)
	decrease := func(body string, status int, code string) {
		t.Helper()
		wants(h, alice, "POST", orders+"/"+id+"/decrease", body, status, code)
	}
	decrease(`{"reduce_by":4,"client_request_id":"9"}`, 200, "")
	decrease(`{"reduce_by":4,"client_request_id":"9"}`, 200, "") // the same signed bytes get the first answer
	decrease(`{"client_request_id":"9","reduce_by":4}`, 409, "duplicate_client_request_id")
	decrease(`{"reduce_to":1,"client_request_id":"9"}`, 409, "duplicate_client_request_id")
	decrease(`{"reduce_by":40,"client_request_id":"10"}`, 400, "invalid_decrease")
	decrease(`{"reduce_by":1,"client_request_id":"0"}`, 400, "schema_violation")
	decrease(`{"reduce_by":1,"client_request_id":9}`, 400, "schema_violation")
	if _, body := h.Call(alice, "GET", orders+"/"+id, ""); !strings.Contains(body, `"remaining_qty":6`) {
		t.Errorf("after one decrease: %s", body)
	}
	// Bob buys the other outcome, so that both hold contracts; then alice buys it too, from bob.
	wants(h, bob, "POST", orders, `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":6}`, 201, "")
	wants(h, bob, "POST", orders, `{"client_order_id":"2","market_id":1,"side":"sell","outcome":"no","tick":4000,"qty":6}`, 201, "")
	wants(h, alice, "POST", orders, `{"client_order_id":"2","market_id":1,"side":"buy","outcome":"no","tick":4000,"qty":6}`, 201, "")
	redeem := func(qty int, request string, status int, code string) {
		t.Helper()
		wants(h, alice, "POST", "/v1/portfolio/redeem", fmt.Sprintf(`{"market_id":1,"qty":%d,"client_request_id":"%s"}`, qty, request), status, code)
	}
	redeem(2, "9", 409, "duplicate_client_request_id") // one set for both
	redeem(20, "10", 403, "insufficient_position")
	redeem(2, "10", 200, "")
	redeem(3, "10", 409, "duplicate_client_request_id")
	redeem(1, "18446744073709551615", 200, "")
	if _, body := h.Call(alice, "GET", "/v1/portfolio/ledger?kind=redeem", ""); !strings.Contains(body, `"amount":"20000"`) || !strings.Contains(body, `"ref":"10"`) || strings.Count(body, `"kind":"redeem"`) != 2 {
		t.Errorf("the ledger: %s", body)
	}
	_, body := h.Call(bob, "GET", "/v1/portfolio/ledger", "")
	if !strings.Contains(body, `"kind":"fill"`) {
		t.Errorf("bob's ledger: %s", body)
	}
}
