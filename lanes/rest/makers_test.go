package rest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
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

// TestGroupBounds checks the routes of groups: a bound counts the fills of a group's orders, trips it in the command
// that reaches it, and takes orders again after a reset.
func TestGroupBounds(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.FreezeClock()
	const orders, groups = "/v1/portfolio/orders", "/v1/portfolio/groups"
	row := func(body, want string) {
		t.Helper()
		if !strings.Contains(body, want) {
			t.Errorf("%s, want %s", body, want)
		}
	}
	group := `,"group_id":7`
	row(wants(h, alice, "GET", groups, "", 200, ""), `{"groups":[],"as_of_seq":`)
	row(wants(h, alice, "PUT", groups+"/7", `{"fill_limit":12,"window_ms":5000}`, 200, ""), `{"group_id":7,"fill_limit":12,"window_ms":5000,"filled":0,"tripped":false,"deadline_ts":"0","bound":false,"seq":"`)
	for body, code := range map[string]string{
		`{"fill_limit":0,"window_ms":5000}`: "schema_violation", `{"fill_limit":1000001,"window_ms":5000}`: "schema_violation",
		`{"fill_limit":1,"window_ms":99}`: "schema_violation", `{"fill_limit":1,"window_ms":3600001}`: "schema_violation", `{"fill_limit":1}`: "schema_violation",
	} {
		wants(h, alice, "PUT", groups+"/7", body, 400, code)
	}
	for _, id := range []string{"0", "4294967296", "x"} {
		wants(h, alice, "PUT", groups+"/"+id, `{"fill_limit":1,"window_ms":1000}`, 404, "unknown_group")
		wants(h, alice, "DELETE", groups+"/"+id, "", 404, "unknown_group")
		wants(h, alice, "POST", groups+"/"+id+"/reset", "", 404, "unknown_group")
	}
	wants(h, alice, "POST", groups+"/8/reset", "", 404, "unknown_group")

	first := field(t, wants(h, alice, "POST", orders, order(1, group), 201, ""), "order_id").(string)
	second := field(t, wants(h, alice, "POST", orders, order(2, group), 201, ""), "order_id").(string)
	other := field(t, wants(h, alice, "POST", orders, order(3, ""), 201, ""), "order_id").(string)
	buyNo := func(id, qty int) {
		t.Helper()
		wants(h, bob, "POST", orders, fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":%d}`, id, qty), 201, "")
	}
	buyNo(1, 11)
	row(wants(h, alice, "GET", groups, "", 200, ""), `"filled":11,"tripped":false`)
	buyNo(2, 1)
	row(wants(h, alice, "GET", groups, "", 200, ""), `"filled":12,"tripped":true`)
	for id, want := range map[string]string{first: `"status":"executed"`, second: `"reason":"group_limit"`, other: `"status":"resting"`} {
		row(wants(h, alice, "GET", orders+"/"+id, "", 200, ""), want)
	}
	h.AdvanceClock(time.Second) // refills tokens
	wants(h, alice, "POST", orders, order(4, group), 403, "group_tripped")
	wants(h, alice, "POST", orders+"/preview", order(5, group), 403, "group_tripped")
	wants(h, alice, "POST", orders+"/"+other+"/replace", `{"client_order_id":"6","tick":4900,"group_id":7}`, 403, "group_tripped")
	row(wants(h, alice, "POST", groups+"/7/reset", "", 200, ""), `"filled":0,"tripped":false`)
	wants(h, alice, "POST", orders, order(7, group), 201, "")
	row(wants(h, alice, "DELETE", groups+"/7", "", 200, ""), `{"group_id":7,"fill_limit":0,"window_ms":0,"filled":0,"tripped":false,"deadline_ts":"0","bound":false,"seq":"`)
	row(wants(h, alice, "GET", groups, "", 200, ""), `{"groups":[],`)
}

// TestQueueAheadOfATrip checks that an order that trips the group of another account shows its own place in the
// queue, and not that of the orders which are canceled behind it.
func TestQueueAheadOfATrip(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	wants(h, bob, "PUT", "/v1/portfolio/groups/7", `{"fill_limit":1,"window_ms":5000}`, 200, "")
	wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":3,"group_id":7}`, 201, "")
	wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"2","market_id":1,"side":"buy","outcome":"yes","tick":4900,"qty":4,"group_id":7}`, 201, "")
	placed := wants(h, alice, "POST", "/v1/portfolio/orders", order(1, ""), 201, "")
	if !strings.Contains(placed, `"resting_qty":7`) || !strings.Contains(placed, `"queue_ahead":0}`) {
		t.Errorf("%s, want 7 that rest behind none", placed)
	}
}

// TestFillsOfAGroup checks the filter of fills by the group of their order.
func TestFillsOfAGroup(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	for id, group := range map[int]int{1: 7, 2: 8, 3: 0} {
		wants(h, bob, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":2,"group_id":%d}`, id, group), 201, "")
	}
	wants(h, alice, "POST", "/v1/portfolio/orders", `{"client_order_id":"9","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":6,"group_id":5}`, 201, "")
	for query, want := range map[string]int{"group_id=7": 1, "group_id=8": 1, "group_id=5": 0, "group_id=0": 3, "group_id=7&side=sell": 0, "side=buy": 3} {
		if body := wants(h, bob, "GET", "/v1/portfolio/fills?"+query, "", 200, ""); strings.Count(body, `"role":"maker"`) != want {
			t.Errorf("%s: %s, want %d fills", query, body, want)
		}
	}
	wants(h, bob, "GET", "/v1/portfolio/fills?group_id=-1", "", 400, "schema_violation")
}

// TestGroupDeadman checks that the dead-man switch of a group cancels the orders of the group alone, that the switches
// do not affect each other, and that a group with one has a row.
func TestGroupDeadman(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.FreezeClock()
	const deadman, groups, orders = "/v1/portfolio/deadman", "/v1/portfolio/groups", "/v1/portfolio/orders"
	ms := regexp.MustCompile(`("deadline_ts":"[0-9]{13})[0-9]{6}`) // each command has a stamp of its own, 1 ns later
	answer := func(method, target, body string) string {
		t.Helper()
		return ms.ReplaceAllString(wants(h, alice, method, target, body, 200, ""), "$1")
	}
	is := func(method, target, body, want string) {
		t.Helper()
		if got := answer(method, target, body); got != want {
			t.Errorf("%s %s %s: %s, want %s", method, target, body, got, want)
		}
	}
	in := func(d time.Duration) string { return fmt.Sprint((h.Now() + d.Nanoseconds()) / core.NsPerMs) }
	mine := field(t, wants(h, alice, "POST", orders, order(1, `,"group_id":7`), 201, ""), "order_id").(string)
	others := field(t, wants(h, alice, "POST", orders, order(2, `,"group_id":8`), 201, ""), "order_id").(string)
	is("POST", deadman, `{"timeout_ms":2000,"group_id":7}`, `{"timeout_ms":2000,"armed":true,"group_id":7}`)
	is("POST", deadman, `{"timeout_ms":9000,"group_id":0}`, `{"timeout_ms":9000,"armed":true,"group_id":0}`)
	is("POST", deadman, `{"timeout_ms":9000,"group_id":9}`, `{"timeout_ms":9000,"armed":true,"group_id":9}`)
	is("GET", deadman+"?group_id=7", "", `{"armed":true,"timeout_ms":2000,"deadline_ts":"`+in(2*time.Second)+`","group_id":7}`)
	is("GET", deadman+"?group_id=8", "", `{"armed":false,"timeout_ms":0,"deadline_ts":"0","group_id":8}`)
	is("GET", deadman, "", `{"armed":true,"timeout_ms":9000,"deadline_ts":"`+in(9*time.Second)+`","group_id":0}`)
	row := `{"group_id":7,"fill_limit":0,"window_ms":0,"filled":0,"tripped":false,"deadline_ts":"` + in(2*time.Second) + `","bound":false`
	if list := answer("GET", groups, ""); !strings.HasPrefix(list, `{"groups":[`+row+`},{"group_id":9,`) {
		t.Errorf("the groups: %s", list)
	}
	if got := answer("DELETE", groups+"/7", ""); !strings.HasPrefix(got, row+`,"seq":`) {
		t.Errorf("a bound that is not there is removed: %s, want %s", got, row)
	}
	is("DELETE", deadman+"?group_id=9", "", `{"armed":false,"group_id":9}`)
	is("DELETE", deadman+"?group_id=10", "", `{"armed":false,"group_id":10}`)

	h.AdvanceClock(2500 * time.Millisecond)
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { _, deadline := v.Deadman(1, 7); return deadline == 0 })
	for id, want := range map[string]string{mine: `"reason":"deadman"`, others: `"status":"resting"`} {
		if got := wants(h, alice, "GET", orders+"/"+id, "", 200, ""); !strings.Contains(got, want) {
			t.Errorf("order %s: %s, want %s", id, got, want)
		}
	}
	if got := wants(h, alice, "GET", deadman, "", 200, ""); !strings.HasPrefix(got, `{"armed":true,`) {
		t.Errorf("the switch of the account: %s", got)
	}
	if list := wants(h, alice, "GET", groups, "", 200, ""); !strings.HasPrefix(list, `{"groups":[],`) {
		t.Errorf("the groups after that: %s", list)
	}

	for _, body := range []string{`{"timeout_ms":2000,"group_id":-1}`, `{"timeout_ms":2000,"group_id":4294967296}`, `{"timeout_ms":2000,"group_id":"7"}`, `{"timeout_ms":2000,"group_id":null}`} {
		wants(h, alice, "POST", deadman, body, 400, "schema_violation")
	}
	wants(h, alice, "POST", deadman, `{"timeout_ms":1,"group_id":7}`, 400, "invalid_timeout")
	wants(h, alice, "DELETE", deadman+"?group_id=x", "", 400, "schema_violation")
	for id := range core.GroupsMax {
		h.Submit(&core.ArmDeadman{User: 1, TimeoutMs: 60_000, Group: uint32(100 + id)})
	}
	wants(h, alice, "POST", deadman, `{"timeout_ms":2000,"group_id":7}`, 403, "group_limit_reached")
	wants(h, alice, "POST", deadman, `{"timeout_ms":2000,"group_id":100}`, 200, "")
}
