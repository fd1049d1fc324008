package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/schemas"
)

// script is a venue that checks every signature and responds from a list: "lost" closes
// the connection without a response, a code is its error, any other text is the body of
// a 200.
type script struct {
	t       *testing.T
	mu      sync.Mutex
	answers []string
	got     []string // method and target of each request
	bodies  []string
	signed  []string // the signatures
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !schemas.Verify(make([]byte, schemas.SecretLen), r.Header.Get(schemas.HeaderTimestamp), r.Method, r.RequestURI, body, r.Header.Get(schemas.HeaderSignature)) {
		s.t.Errorf("%s %s: wrong signature", r.Method, r.RequestURI)
	}
	s.mu.Lock()
	s.got, s.bodies = append(s.got, r.Method+" "+r.RequestURI), append(s.bodies, string(body))
	s.signed = append(s.signed, r.Header.Get(schemas.HeaderTimestamp)+" "+r.Header.Get(schemas.HeaderSignature))
	answer := "shed"
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	w.Header()["Date"] = nil // else a client that is held up takes its clock for wrong
	switch {
	case answer == "lost":
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(answer, "{"), strings.HasPrefix(answer, "["):
		_, _ = io.WriteString(w, answer)
	default:
		e := schemas.ErrorOf(answer)
		if answer == "rate_limited" {
			e = schemas.RateLimited(5)
		}
		b, _ := schemas.Append(nil, schemas.ErrorBody{Error: e})
		w.Header().Set("X-Request-Id", "r-1")
		w.WriteHeader(e.HTTP())
		_, _ = w.Write(b)
	}
}

// seen returns the requests so far.
func (s *script) seen() (got, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got), slices.Clone(s.bodies)
}

// scripted returns a client of a scripted venue.
func scripted(t *testing.T, answers []string, opts ...Option) (*script, *Client) {
	s := &script{t: t, answers: answers}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, Must(New(h.URL, "k", make([]byte, schemas.SecretLen), opts...))
}

const placed = `{"order_id":"9","client_order_id":"1","status":"resting","seq":"9","filled_qty":0,"resting_qty":1,"fills":[]}`

func TestRetryRules(t *testing.T) {
	place := func(c *Client) error {
		_, err := c.PlaceOrder(context.Background(), limit(1, "yes", 5000, 1))
		return err
	}
	cancel := func(c *Client) error { _, err := c.Cancel(context.Background(), 9); return err }
	cancelByClientID := func(c *Client) error { _, err := c.CancelByClientOrderID(context.Background(), 7); return err }
	read := func(c *Client) error { _, err := c.Time(context.Background()); return err }
	decrease := func(c *Client) error {
		_, err := c.Decrease(context.Background(), schemas.DecreaseOrder{OrderID: 9, ReduceBy: schemas.Ptr(schemas.Int(1))})
		return err
	}
	now := `{"server_time":"1"}`
	done := `{"status":"canceled","canceled_qty":1,"seq":"2"}`
	for _, c := range []struct {
		name    string
		do      func(*Client) error
		opts    []Option
		answers []string
		want    string // the code; "" means success
		sent    int
		maybe   bool
	}{
		{"a read", read, nil, []string{"shed", "lost", "sequencing_timeout", now}, "", 4, false},
		{"a read that is always shed", read, []Option{MaxAttempts(4)}, []string{"shed", "shed", "shed", "shed", now}, "shed", 4, false},
		{"a lost read whose repeat is rejected", read, nil, []string{"lost", "round_not_found", now}, "round_not_found", 2, false},
		{"a single attempt", read, []Option{MaxAttempts(1)}, []string{"shed", now}, "shed", 1, false},
		{"a placement that was not executed", place, nil, []string{"shed", "draining", placed}, "", 3, false},
		{"a cancel that was not executed", cancel, nil, []string{"shed", done}, "", 2, false},
		{"a placement of unknown outcome", place, nil, []string{"sequencing_timeout", placed}, "sequencing_timeout", 1, true},
		{"a lost placement", place, nil, []string{"lost", placed}, "transport", 1, true},
		{"a placement of unknown outcome with RepeatPlacements", place, []Option{RepeatPlacements()}, []string{"sequencing_timeout", "lost", placed}, "", 3, false},
		{"a cancel by client_order_id that was not executed", cancelByClientID, nil, []string{"shed", done}, "", 2, false},
		{"a lost decrease", decrease, []Option{RepeatPlacements()}, []string{"lost", done}, "transport", 1, true},
		{"nor does a key that was revoked in between", place, []Option{RepeatPlacements()}, []string{"lost", "unauthorized"}, "transport", 2, true},
		{"a rejection by the core is final", place, []Option{RepeatPlacements()}, []string{"lost", "market_paused"}, "market_paused", 2, false},
		{"rate limited", place, nil, []string{"rate_limited", placed}, "rate_limited", 1, false},
		{"rate limited with WaitForTokens", place, []Option{WaitForTokens(), MaxAttempts(1)}, []string{"rate_limited", "rate_limited", placed}, "", 3, false},
		{"rejected", place, []Option{RepeatPlacements()}, []string{"market_paused", placed}, "market_paused", 1, false},
		{"an internal error", place, nil, []string{"internal", placed}, "internal", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, cl := scripted(t, c.answers, c.opts...)
			err := c.do(cl)
			sent, bodies := s.seen()
			if got := codeOf(err); got != c.want || len(sent) != c.sent || err != nil && MayBeDone(err) != c.maybe {
				t.Errorf("%q after %d requests: %v, may be done %v", got, len(sent), err, MayBeDone(err))
			}
			// Each attempt comes after a wait. net/http itself sends a GET again, at once.
			if distinct := slices.Compact(slices.Sorted(slices.Values(s.signed))); len(distinct) != len(sent) && !strings.HasPrefix(sent[0], "GET") {
				t.Errorf("a signature is sent again, which may be too old or a replay by then: %v", s.signed)
			}
			for _, b := range bodies[1:] {
				if b != bodies[0] {
					t.Errorf("the repeat has another body: %s", b)
				}
			}
		})
	}
}

func codeOf(err error) string {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return "transport"
	}
}

// TestRepeatFindsTheFirst tests that a repeat that is a duplicate returns the outcome of
// the first attempt.
func TestRepeatFindsTheFirst(t *testing.T) {
	row := func(id, status, reason string) string {
		return fmt.Sprintf(`{"orders":[{"order_id":%s,"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","type":"limit","tick":5000,"qty":3,"status":%q,"reason":%q,"filled_qty":2,"remaining_qty":1,"created_seq":"9"}],"cursor":"","as_of_seq":"12"}`, id, status, reason)
	}
	fills := `{"fills":[{"tick_yes":5100,"qty":1,"path":"mint"},{"tick_yes":5000,"qty":1,"path":"direct"}],"cursor":"","as_of_seq":"12"}`
	s, c := scripted(t, []string{"lost", "duplicate_client_order_id", row(`"9"`, "partially_filled", ""), fills}, RepeatPlacements())
	o, err := c.PlaceOrder(context.Background(), limit(1, "yes", 5000, 3))
	if err != nil || o.OrderID != 9 || o.Seq != 9 || o.RestingQty != 1 {
		t.Errorf("the repeated order is %+v, %v, want order 9 of seq 9 with 1 resting", o, err)
	}
	if len(o.Fills) != 2 || o.Fills[0].TickYes != 5000 {
		t.Errorf("the fills of the repeated order are %+v, want two, that at 5000 first", o.Fills)
	}
	if got, _ := s.seen(); !slices.Equal(got[2:], []string{"GET /v1/portfolio/orders?client_order_id=1", "GET /v1/portfolio/fills?order_id=9"}) {
		t.Errorf("lookups: %v", got)
	}
	_, c = scripted(t, []string{"lost", "duplicate_client_order_id", row("null", "rejected", "insufficient_balance")}, RepeatPlacements())
	if _, err := c.PlaceOrder(context.Background(), limit(1, "yes", 5000, 3)); codeOf(err) != "insufficient_balance" {
		t.Errorf("the first attempt was rejected: %v", err)
	}
	_, c = scripted(t, []string{"lost", "duplicate_client_order_id", "rate_limited"}, RepeatPlacements())
	if _, err := c.PlaceOrder(context.Background(), limit(1, "yes", 5000, 3)); err == nil || !MayBeDone(err) {
		t.Errorf("a placed order that cannot be read: %v", err)
	}
	twice, _ := schemas.Append(nil, schemas.PlaceResults{Results: []schemas.PlaceResult{{Error: schemas.Ptr(schemas.ErrorOf(codeDuplicateID))}, {Error: schemas.Ptr(schemas.ErrorOf("bad_qty"))}}})
	list := strings.TrimSuffix(strings.TrimPrefix(string(twice), `{"results":`), "}")
	_, c = scripted(t, []string{"sequencing_timeout", list, row(`"9"`, "resting", ""), fills}, RepeatPlacements())
	out, err := c.PlaceOrders(context.Background(), []schemas.PlaceOrder{limit(1, "yes", 5000, 3), limit(2, "yes", 5000, 3)})
	if err != nil || len(out) != 2 {
		t.Fatalf("the repeated batch is %+v, %v, want two results", out, err)
	}
	if out[0].Placed == nil || out[0].OrderID != 9 {
		t.Errorf("the first result is %+v, want order 9", out[0])
	}
	if out[1].Error == nil || out[1].Error.Code != "bad_qty" {
		t.Errorf("the second result is %+v, want bad_qty", out[1])
	}
	open, _ := schemas.Append(nil, schemas.PlaceResults{Results: []schemas.PlaceResult{{Error: schemas.Ptr(schemas.ErrorOf("sequencing_timeout"))}, {Error: schemas.Ptr(schemas.ErrorOf("sequencing_timeout"))}}})
	list = strings.TrimSuffix(strings.TrimPrefix(string(open), `{"results":`), "}")
	batch := []schemas.PlaceOrder{limit(1, "yes", 5000, 3), limit(2, "yes", 5000, 3)}
	s, c = scripted(t, []string{list, codeDuplicateID, row(`"9"`, "resting", ""), fills, "market_paused"}, RepeatPlacements())
	out, err = c.PlaceOrders(context.Background(), batch)
	if err != nil || out[0].Placed == nil || out[0].OrderID != 9 || out[1].Error.Code != "market_paused" {
		t.Errorf("items of unknown outcome: %+v, %v", out, err)
	}
	if got, _ := s.seen(); len(got) != 5 || got[1] != "POST /v1/portfolio/orders" || got[4] != got[1] {
		t.Errorf("sent %v", got)
	}
	s, c = scripted(t, []string{list})
	if out, err = c.PlaceOrders(context.Background(), batch); err != nil || out[0].Error.Retry() != schemas.Unknown || len(s.got) != 1 {
		t.Errorf("items of unknown outcome, which are not repeated: %+v, %v", out, err)
	}
	other := strings.Replace(row(`"9"`, "resting", ""), `"qty":3`, `"qty":4`, 1)
	_, c = scripted(t, []string{"sequencing_timeout", strings.Replace(list, "sequencing_timeout", codeDuplicateID, 1), other}, RepeatPlacements())
	if out, err = c.PlaceOrders(context.Background(), batch[:1]); err != nil || len(out) == 0 || out[0].Error == nil || out[0].Error.Code != codeDuplicateID {
		t.Errorf("an item whose client_order_id another order has: %+v, %v", out, err)
	}
	_, c = scripted(t, []string{"duplicate_client_order_id"}, RepeatPlacements())
	if _, err := c.PlaceOrder(context.Background(), limit(1, "yes", 5000, 3)); codeOf(err) != codeDuplicateID {
		t.Errorf("a duplicate at the first attempt: %v", err)
	}
}

// TestRepeatFindsWhatWaits tests that a repeat that is a duplicate returns the order that waits for the owner, alone and
// in a batch, from whichever page of the approvals, and that an order that was approved meanwhile is found as an order.
func TestRepeatFindsWhatWaits(t *testing.T) {
	const (
		orders  = "GET /v1/portfolio/orders?client_order_id=1"
		asked   = "GET /v1/portfolio/approvals"
		noOrder = `{"orders":[],"cursor":"","as_of_seq":"12"}`
		other   = `{"approvals":[{"approval_id":"11","client_order_id":"3","status":"waiting"}],"cursor":"next","as_of_seq":"12"}`
		order   = `{"orders":[{"order_id":"13","client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","type":"limit","tick":5000,"qty":3,"status":"resting","remaining_qty":3,"created_seq":"13"}],"cursor":"","as_of_seq":"14"}`
		noFill  = `{"fills":[],"cursor":"","as_of_seq":"14"}`
	)
	approval := func(status string) string {
		return fmt.Sprintf(`{"approvals":[{"approval_id":"9","client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","type":"limit","tick":5000,"qty":3,"cost":"15372","expires_ts":"300","status":%q}],"cursor":"","as_of_seq":"12"}`, status)
	}
	want := schemas.Waiting{Status: "waiting", ApprovalID: 9, ClientOrderID: 1, Cost: 15372, ExpiresTs: 300, Seq: 9}
	in := limit(1, "yes", 5000, 3)
	s, c := scripted(t, []string{"lost", codeDuplicateID, noOrder, other, approval("waiting")}, RepeatPlacements())
	o, err := c.PlaceOrder(t.Context(), in)
	if err != nil || o.Waiting == nil || *o.Waiting != want || o.OrderID != 0 || o.Status != "waiting" {
		t.Errorf("the repeated order is %+v, %v, want %+v", o, err, want)
	}
	if got, _ := s.seen(); !slices.Equal(got[2:], []string{orders, asked, asked + "?cursor=next"}) {
		t.Errorf("lookups: %v", got)
	}
	_, c = scripted(t, []string{noOrder, approval("expired")})
	if o, err = c.Placed(t.Context(), 1); err != nil || o.Waiting == nil || o.Waiting.Status != "expired" {
		t.Errorf("an order that has ended waiting is %+v, %v, want expired", o, err)
	}
	_, c = scripted(t, []string{"lost", codeDuplicateID, noOrder, approval("placed"), order, noFill}, RepeatPlacements())
	if o, err = c.PlaceOrder(t.Context(), in); err != nil || o.Waiting != nil || o.OrderID != 13 || o.RestingQty != 3 {
		t.Errorf("an order that was approved meanwhile is %+v, %v, want order 13", o, err)
	}
	_, c = scripted(t, []string{"lost", codeDuplicateID, noOrder, approval("waiting")}, RepeatPlacements())
	if _, err = c.PlaceOrder(t.Context(), limit(1, "yes", 5000, 4)); codeOf(err) != codeDuplicateID || MayBeDone(err) {
		t.Errorf("another order that waits: %v, want %s", err, codeDuplicateID)
	}
	_, c = scripted(t, []string{"lost", codeDuplicateID, noOrder, "rate_limited"}, RepeatPlacements())
	if _, err = c.PlaceOrder(t.Context(), in); err == nil || !MayBeDone(err) {
		t.Errorf("approvals that cannot be read: %v", err)
	}
	twice, _ := schemas.Append(nil, []schemas.PlaceResult{{Error: schemas.Ptr(schemas.ErrorOf(codeDuplicateID))}})
	waits := `[{"status":"waiting","approval_id":"9","client_order_id":"1","cost":"15372","expires_ts":"300","approve_url":"http://portal/#/approvals/9","seq":"9"}]`
	for name, answers := range map[string][]string{
		"a batch that waits":                       {waits},
		"a repeated batch that waits":              {"lost", string(twice), noOrder, approval("waiting")},
		"a batch whose item is of unknown outcome": {strings.Replace(string(twice), codeDuplicateID, "sequencing_timeout", 1), waits[1 : len(waits)-1]},
	} {
		_, c = scripted(t, answers, RepeatPlacements())
		out, err := c.PlaceOrders(t.Context(), []schemas.PlaceOrder{in})
		if err != nil || len(out) != 1 || out[0].Placed == nil || out[0].Waiting == nil || out[0].Waiting.ApprovalID != 9 || out[0].Waiting.Cost != 15372 {
			t.Errorf("%s: %+v, %v, want approval 9", name, out, err)
		}
	}
}

// TestAnotherOrder tests which rows are another order than the one that was sent.
func TestAnotherOrder(t *testing.T) {
	refused := &Error{Wire: schemas.ErrorOf(codeDuplicateID)}
	id := schemas.U64(9)
	row := schemas.Order{OrderID: &id, ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Type: "limit", Tick: 5000, Qty: 3, FilledQty: 2}
	market := limit(1, "yes", 0, 3)
	market.Type, market.Tick, market.MaxCost = "market", nil, 1000
	for name, c := range map[string]struct {
		order  schemas.PlaceOrder
		change func(*schemas.Order)
		other  bool
	}{
		"the same":                       {limit(1, "yes", 5000, 3), func(*schemas.Order) {}, false},
		"another market":                 {limit(1, "yes", 5000, 3), func(o *schemas.Order) { o.MarketID = 2 }, true},
		"another side":                   {limit(1, "yes", 5000, 3), func(o *schemas.Order) { o.Side = "sell" }, true},
		"another outcome":                {limit(1, "no", 5000, 3), func(*schemas.Order) {}, true},
		"another price":                  {limit(1, "yes", 5100, 3), func(*schemas.Order) {}, true},
		"another quantity":               {limit(1, "yes", 5000, 4), func(*schemas.Order) {}, true},
		"another type":                   {market, func(*schemas.Order) {}, true},
		"a market order":                 {market, func(o *schemas.Order) { o.Type, o.Tick, o.MaxCost = "market", 4900, 990 }, false},
		"a rejected order without those": {limit(1, "yes", 5000, 3), func(o *schemas.Order) { o.OrderID, o.Status, o.Tick, o.Qty = nil, "rejected", 0, 0 }, false},
		"one that waits":                 {limit(1, "yes", 5000, 3), func(o *schemas.Order) { o.OrderID, o.Status = nil, waiting }, false},
		"another one that waits":         {limit(1, "yes", 5000, 4), func(o *schemas.Order) { o.OrderID, o.Status = nil, waiting }, true},
		"a rejected order of a side":     {limit(1, "yes", 5000, 3), func(o *schemas.Order) { o.OrderID, o.Status, o.Side = nil, "rejected", "sell" }, true},
	} {
		o := row
		c.change(&o)
		if err := differs(&c.order, &o, refused); (err != nil) != c.other || c.other && (codeOf(err) != codeDuplicateID || MayBeDone(err)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		replace schemas.ReplaceOrder
		other   bool
	}{
		"what remains":       {schemas.ReplaceOrder{Tick: schemas.Ptr(schemas.Int(5000))}, false},
		"another price":      {schemas.ReplaceOrder{Tick: schemas.Ptr(schemas.Int(5100))}, true},
		"another quantity":   {schemas.ReplaceOrder{Qty: schemas.Ptr(schemas.Int(4))}, true},
		"a total of another": {schemas.ReplaceOrder{Qty: schemas.Ptr(schemas.Int(4)), KeepTotal: true}, false},
	} {
		if err := differsReplaced(&c.replace, &row, refused); (err != nil) != c.other {
			t.Errorf("a replace with %s: %v", name, err)
		}
	}
}

// TestReplaceWithALostAnswer tests that a replace whose response is lost is sent again with the same
// id, and that the duplicate returns what the first attempt did to both orders.
func TestReplaceWithALostAnswer(t *testing.T) {
	found := `{"orders":[{"order_id":"9","client_order_id":"1","type":"limit","tick":5100,"qty":5,"status":"resting","filled_qty":0,"remaining_qty":5,"created_seq":"9"}],"cursor":"","as_of_seq":"12"}`
	none := `{"fills":[],"cursor":"","as_of_seq":"12"}`
	old := `{"order_id":"4","status":"canceled","reason":"replaced","qty":10,"filled_qty":3,"remaining_qty":0,"as_of_seq":"12"}`
	in := schemas.ReplaceOrder{OrderID: 4, ClientOrderID: 1, Tick: schemas.Ptr(schemas.Int(5100)), Qty: schemas.Ptr(schemas.Int(5))}
	replace := func(answers ...string) (*script, schemas.Replacement, error) {
		s, c := scripted(t, answers, RepeatPlacements())
		r, err := c.Replace(context.Background(), in)
		return s, r, err
	}
	s, r, err := replace("lost", codeDuplicateID, found, none, old)
	if err != nil || r.OrderID != 9 || r.Seq != 9 || r.RestingQty != 5 {
		t.Errorf("the repeated replace is %+v, %v, want order 9 of seq 9 with 5 resting", r, err)
	}
	if want := (schemas.Replaced{OrderID: 4, CanceledQty: 7}); r.Replaced != want {
		t.Errorf("the old order is %+v, want %+v", r.Replaced, want)
	}
	got, bodies := s.seen()
	const target = "POST /v1/portfolio/orders/4/replace"
	if want := []string{target, target, "GET /v1/portfolio/orders?client_order_id=1", "GET /v1/portfolio/fills?order_id=9", "GET /v1/portfolio/orders/4"}; !slices.Equal(got, want) || bodies[0] != bodies[1] {
		t.Errorf("sent %v, want %v, with the bodies %s and %s", got, want, bodies[0], bodies[1])
	}
	// The first attempt did not arrive, and the old order filled before the second one.
	if _, _, err = replace("lost", "unknown_order"); codeOf(err) != "unknown_order" {
		t.Errorf("a replace of an order that is gone: %v", err)
	}
	if _, _, err = replace("lost", codeDuplicateID, found, none, "rate_limited"); err == nil || codeOf(err) == "rate_limited" {
		t.Errorf("a replace whose old order cannot be read: %v", err)
	}
	if _, _, err = replace(codeDuplicateID); codeOf(err) != codeDuplicateID {
		t.Errorf("a duplicate at the first attempt: %v", err)
	}
}

// TestSignsWhatIsSent tests that the signature covers the target as net/http sends it.
func TestSignsWhatIsSent(t *testing.T) {
	s, c := scripted(t, []string{"{}", "{}", "{}", "{}"})
	for _, target := range []string{"/v1/markets?status=trading,frozen&x=%C3%A9", "/v1//time?", "/v1/x/../time", "/v1/a b?q=é"} {
		if status, _, _, err := c.Call(context.Background(), "GET", target, nil); err != nil || status != 200 {
			t.Errorf("GET %s: %d, %v, want 200", target, status, err)
		}
	}
	if got, _ := s.seen(); got[1] != "GET /v1//time?" || got[2] != "GET /v1/x/../time" {
		t.Errorf("it sent %v", got)
	}
}

func TestErrorFields(t *testing.T) {
	_, c := scripted(t, []string{"rate_limited", "insufficient_balance"})
	_, err := c.Balance(context.Background())
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("the rate limit is %v, want an Error", err)
	}
	if e.Status != 429 || e.RequestID != "r-1" {
		t.Errorf("the rate limit is %+v, want 429 of request r-1", e)
	}
	if e.RetryAfter() != 5*time.Millisecond || e.Retry() != schemas.Safe {
		t.Errorf("the rate limit may be repeated after %v, %v, want 5 ms, %v", e.RetryAfter(), e.Retry(), schemas.Safe)
	}
	_, err = c.Balance(context.Background())
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "GET /v1/portfolio/balance") {
		t.Fatalf("the rejection is %v, want an Error that names the route", err)
	}
	if *e.Num != 257 || e.Origin != schemas.OriginCore || e.Retry() != schemas.Never {
		t.Errorf("the rejection is %+v, want number 257 of the core, never to repeat", e)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }))
	defer proxy.Close()
	if _, err = Must(New(proxy.URL, "k", nil, MaxAttempts(1))).Balance(context.Background()); !errors.As(err, &e) || e.Status != 502 || e.Code != "" || !MayBeDone(err) {
		t.Errorf("a proxy's 502: %v, want no code, and that it may be done", err)
	}
	proxy.Close()
	if _, err = Must(New(proxy.URL, "k", nil, MaxAttempts(1))).Cancel(context.Background(), 1); err == nil || MayBeDone(err) {
		t.Errorf("no listener: %v", err)
	}
}

// TestWaitsEndWithTheContext tests that a wait ends with its context.
func TestWaitsEndWithTheContext(t *testing.T) {
	_, c := scripted(t, nil, MaxAttempts(100))
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer stop()
	start := time.Now()
	if _, err := c.Time(ctx); err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// TestWaitAfter tests that a repeat waits as long as the venue says.
func TestWaitAfter(t *testing.T) {
	behind := schemas.ErrorOf("history_behind")
	behind.Details = &schemas.Details{"retry_after_ms": "1000"}
	c := Must(New("http://venue.test", "k", nil))
	if wait, counts := c.waitAfter(&Error{Wire: behind}, 1); wait != time.Second || !counts {
		t.Errorf("history_behind: %v, %v", wait, counts)
	}
	if wait, counts := c.waitAfter(&Error{Wire: schemas.RateLimited(5)}, 1); wait != 5*time.Millisecond || counts {
		t.Errorf("rate_limited: %v, %v", wait, counts)
	}
	if wait, counts := c.waitAfter(&Error{Wire: schemas.ErrorOf("shed")}, 1); wait > minBackoff || !counts {
		t.Errorf("shed: %v, %v", wait, counts)
	}
}
