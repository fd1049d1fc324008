package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/schemas"
)

// retryCase is a row of schemas/vectors/retries.json, which the clients in other languages pass too.
type retryCase struct {
	Name, Call, Result  string
	Answers, Signatures []string
	Sent                int
	WaitsMs             []int64 `json:"waits_ms"`
	ClockMs             int64   `json:"clock_ms"`
}

// answers plays the answers of a case.
type answers struct {
	t     *testing.T
	clock time.Duration // the local clock is ahead by so much
	left  []string
	found bool     // an order; more is read of it, which is not counted
	sent  []string // timestamp and signature of each request
	at    []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	reply := func(status int, body any) (*http.Response, error) {
		b, err := json.Marshal(body)
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b))}, err
	}
	if a.found {
		return reply(200, map[string]any{"order_id": "9", "fills": []any{}, "cursor": ""})
	}
	a.sent, a.at = append(a.sent, r.Header.Get(schemas.HeaderTimestamp)+" "+r.Header.Get(schemas.HeaderSignature)), append(a.at, time.Now())
	if len(a.left) == 0 {
		a.t.Fatalf("request %d, %s %s, has no answer", len(a.sent), r.Method, r.URL)
	}
	what := a.left[0]
	if base, again := strings.CutSuffix(what, "..."); again {
		what = base
	} else {
		a.left = a.left[1:]
	}
	word, more, _ := strings.Cut(what, " ")
	order := map[string]any{
		"client_order_id": "7", "order_id": "9", "market_id": 1, "side": "buy", "outcome": "yes", "type": "limit", "tick": 5000, "qty": 1,
		"status": "resting", "created_seq": "9", "reason": "",
	}
	approval := map[string]any{
		"approval_id": "9", "client_order_id": "7", "market_id": 1, "side": "buy", "outcome": "yes", "type": "limit", "tick": 5000, "qty": 1, "cost": "5124",
		"status": "waiting", "reason": "", "order_id": nil,
	}
	approvals := func(rows ...any) (*http.Response, error) {
		other := map[string]any{"approval_id": "8", "client_order_id": "8", "status": "waiting"}
		return reply(200, map[string]any{"approvals": append([]any{other}, rows...), "cursor": ""})
	}
	list := func(orders ...any) (*http.Response, error) {
		return reply(200, map[string]any{"orders": append([]any{}, orders...), "cursor": ""})
	}
	switch what {
	case "ok":
		return reply(200, map[string]any{})
	case "lost":
		return nil, errors.New("the connection was cut")
	case "refused":
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	case "order":
		a.found = true
		return list(order)
	case "rejected order":
		order["order_id"], order["status"], order["reason"] = nil, "rejected", "insufficient_balance"
		return list(order)
	case "another order":
		order["tick"] = 100
		return list(order)
	case "not JSON":
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<html>"))}, nil
	case "no order":
		return list()
	case "no approval":
		return approvals()
	case "another approval":
		approval["tick"] = 100
		return approvals(approval)
	case "unauthorized with a date":
		resp, err := reply(401, schemas.ErrorBody{Error: schemas.ErrorOf("unauthorized")})
		resp.Header.Set("Date", time.Now().Add(-a.clock).UTC().Format(http.TimeFormat))
		return resp, err
	}
	if ms, late := strings.CutPrefix(what, "unauthorized after "); late {
		n, err := strconv.Atoi(ms)
		if err != nil {
			a.t.Fatal(err)
		}
		time.Sleep(time.Duration(n) * time.Millisecond) // of the test's clock
		return reply(401, schemas.ErrorBody{Error: schemas.ErrorOf("unauthorized")})
	}
	number, err := strconv.Atoi(more)
	switch {
	case word == "approval":
		approval["status"] = more
		return approvals(approval)
	case word == "status":
		return reply(number, "not found")
	case word == "rate_limited":
		return reply(429, schemas.ErrorBody{Error: schemas.RateLimited(int64(number))})
	case word == "later_code":
		return reply(number, schemas.ErrorBody{Error: schemas.Error{Code: word, Origin: schemas.OriginGateway, Message: word}})
	case err == nil || !schemas.IsErrorCode(what):
		a.t.Fatalf("unknown answer %q", what)
	}
	e := schemas.ErrorOf(what)
	return reply(e.HTTP(), schemas.ErrorBody{Error: e})
}

// TestRetryVectors runs the table of retry rules that the clients share.
func TestRetryVectors(t *testing.T) {
	b, err := os.ReadFile("../schemas/vectors/retries.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []retryCase
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 30 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { synctest.Test(t, c.run) })
	}
}

func (c *retryCase) run(t *testing.T) {
	a := &answers{t: t, clock: time.Duration(c.ClockMs) * time.Millisecond, left: slices.Clone(c.Answers)}
	client := Must(New("http://venue.test", "k", make([]byte, schemas.SecretLen), WithHTTPClient(&http.Client{Transport: a}), WaitForTokens(), RepeatPlacements()))
	client.sameBytes = markedTime
	client.jitter = func(d time.Duration) time.Duration { return d }
	ctx, begun, one := t.Context(), time.Now(), schemas.Ptr(schemas.Int(1))
	var order schemas.Placed
	var err error
	switch c.Call {
	case "read":
		_, err = client.Time(ctx)
	case "place":
		order, err = client.PlaceOrder(ctx, limit(7, "yes", 5000, 1))
	case "replace":
		order.OrderID, err = replaced(client.Replace(ctx, schemas.ReplaceOrder{OrderID: 9, ClientOrderID: 7, Tick: schemas.Ptr(schemas.Int(5000))}))
	case "cancel":
		_, err = client.Cancel(ctx, 9)
	case "cancel_all":
		_, err = client.CancelAll(ctx, schemas.CancelAll{})
	case "decrease":
		_, err = client.Decrease(ctx, schemas.DecreaseOrder{OrderID: 9, ReduceBy: one})
	case "redeem":
		_, err = client.Redeem(ctx, schemas.Redeem{MarketID: 1, Qty: 1})
	case "quote":
		var results any // an object here
		err = client.Do(ctx, "PUT", routeQuotes, schemas.PutQuotes{Quotes: []schemas.Quote{{MarketID: 1, Generation: 1, GroupID: 7}}}, &results)
	case "forecast":
		_, err = client.SubmitForecast(ctx, schemas.SubmitForecast{MarketID: 1, Generation: 1, P: 6000})
	case "deadman":
		_, err = client.ArmDeadman(ctx, 5000)
	case "withdraw":
		_, err = client.Withdraw(ctx, schemas.RequestWithdrawal{ClientWithdrawalID: "w", Amount: 1, Destination: "d"})
	default:
		t.Fatal(c.Call)
	}
	if got := resultOf(c, &order, err); got != c.Result {
		t.Errorf("the result is %s, %v, want %s", got, err, c.Result)
	}
	if len(a.sent) != c.Sent {
		t.Errorf("%d requests, want %d", len(a.sent), c.Sent)
	}
	if took := time.Since(begun); took > callTimeout {
		t.Errorf("the call took %v, want at most %v", took, callTimeout)
	}
	for i, want := range c.Signatures {
		if got := i > 0 && i < len(a.sent) && a.sent[i] == a.sent[i-1]; got != (want == "same") {
			t.Errorf("request %d is signed anew: %v, want %s", i+1, !got, want)
		}
	}
	for i, want := range c.WaitsMs {
		if got := a.at[i+1].Sub(a.at[i]).Milliseconds(); got != want {
			t.Errorf("the wait after request %d is %d ms, want %d", i+1, got, want)
		}
	}
}

func replaced(r schemas.Replacement, err error) (schemas.U64, error) { return r.OrderID, err }

// resultOf names the result of a call as the table does.
func resultOf(c *retryCase, order *schemas.Placed, err error) string {
	e, isError := errors.AsType[*Error](err)
	switch {
	case err == nil && order.Waiting != nil:
		return order.Waiting.Status
	case err == nil && order.OrderID == 9:
		return "order"
	case err == nil:
		return "ok"
	case isError && e.Code == "":
		return fmt.Sprint("status ", e.Status)
	case isError && !MayBeDone(err):
		return e.Code
	case wasNotSent(err):
		return "refused"
	case c.Call == "read":
		return "lost"
	default:
		return "unknown"
	}
}

// TestClientOrderIDs checks the ids of texts that the clients share.
func TestClientOrderIDs(t *testing.T) {
	b, err := os.ReadFile("../schemas/vectors/client_order_ids.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text string
		ID   schemas.U64
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 10 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		if got, err := ClientOrderID(c.Text); err != nil || got != c.ID {
			t.Errorf("%q is %d, %v, want %d", c.Text, got, err, c.ID)
		}
	}
	if id, err := ClientOrderID(""); err == nil {
		t.Errorf("an empty text is %d", id)
	}
}

// TestBaseURLs checks the addresses that the clients take.
func TestBaseURLs(t *testing.T) {
	b, err := os.ReadFile("../schemas/vectors/base_urls.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		URL      string
		Accepted bool
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 10 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		if _, err := New(c.URL, "k", nil); (err == nil) != c.Accepted {
			t.Errorf("%q: %v, want accepted %v", c.URL, err, c.Accepted)
		} else if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error %v shows its secret", c.URL, err)
		}
	}
}
