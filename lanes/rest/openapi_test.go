package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// document returns the lane's document as published and as parsed by a validator.
func document(t *testing.T, l *Lane) ([]byte, *openapi3.T) {
	t.Helper()
	raw, err := json.MarshalIndent(l.OpenAPI(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, doc
}

// TestDocumentGolden makes every change of the document a diff to review, since clients are
// generated from it.
func TestDocumentGolden(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	raw, _ := document(t, Mount(h.Routes, h.Gate, "0.0.0"))
	path := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(bytes.TrimSpace(want), raw) {
		t.Errorf("the document differs from %s (%v); -update rewrites it", path, err)
	}
}

// TestDocumentIsForGenerators checks that a generator has a name for every type, the values of every string
// with a fixed set of them, and a semantic version.
func TestDocumentIsForGenerators(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	raw, doc := document(t, Mount(h.Routes, h.Gate, "dev"))
	lanetest.CheckSchemas(t, raw, false)
	if !lanetest.IsSemantic(doc.Info.Version) {
		t.Errorf("the version %q is not semantic", doc.Info.Version)
	}
	batch := doc.Paths.Find("/v1/portfolio/orders/batch")
	placed := batch.Post.Responses.Status(200).Value.Content["application/json"].Schema.Value
	canceled := batch.Delete.Responses.Status(200).Value.Content["application/json"].Schema.Value
	for want, got := range map[string]string{
		"PlaceResult": placed.Items.Ref, "CancelResult": canceled.Properties["results"].Value.Items.Ref,
		"ReplaceOrder": doc.Paths.Find("/v1/portfolio/orders/{order_id}/replace").Post.RequestBody.Value.Content["application/json"].Schema.Ref,
	} {
		if got != "#/components/schemas/"+want {
			t.Errorf("%q, want the component %s", got, want)
		}
	}
}

// TestDocumentIsComplete checks that the document has every error code of a route and an
// example of every body, that every tag has a description, and that request schemas are closed and response schemas open.
func TestDocumentIsComplete(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	raw, doc := document(t, Mount(h.Routes, h.Gate, "test"))
	elsewhere := map[string]bool{ // codes of other lanes and listeners, or of requests without a route
		"not_found": true, "method_not_allowed": true, "forbidden_origin": true, "too_many_connections": true,
		"unknown_user": true, "unknown_key": true, "duplicate_deposit_id": true, "invalid_transition": true,
		"unknown_agent": true, "duplicate_agent_name": true, "duplicate_client_transfer_id": true, "stale_mandate": true, "agent_limit": true, "too_many_keys": true, "bad_mandate": true,
		"self_approval": true, "unknown_approval": true, "duplicate_operator_name": true,
		"crossed_quote": true, // of an item of quotes
	}
	for _, code := range schemas.Codes() {
		if !elsewhere[code] && !bytes.Contains(raw, []byte("`"+code+"`")) {
			t.Errorf("no route documents %s", code)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, tag := range op.Tags {
				if doc.Tags.Get(tag) == nil {
					t.Errorf("%s %s: the tag %s has no description", method, path, tag)
				}
			}
			if op.RequestBody != nil {
				if example := op.RequestBody.Value.Content["application/json"].Example; example == nil {
					t.Errorf("%s %s: no example", method, path)
				}
				s := op.RequestBody.Value.Content["application/json"].Schema.Value
				if s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has {
					t.Errorf("%s %s: the request schema is open", method, path)
				}
			}
			for status, r := range op.Responses.Map() {
				if s := r.Value.Content["application/json"].Schema.Value; s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has {
					t.Errorf("%s %s: the schema of response %s is closed", method, path, status)
				}
			}
		}
	}
}

// TestExamplesAreValid checks that the venue accepts the form of every example body. It may
// reject one for the state of the venue, such as an unknown order.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	_, doc := document(t, Mount(h.Routes, h.Gate, "test"))
	h.Serve()
	k := h.NewKey(1, allScopes)
	var n int
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			body, err := json.Marshal(op.RequestBody.Value.Content["application/json"].Example)
			if err != nil {
				t.Fatal(err)
			}
			n++
			status, got := h.Call(k, method, strings.Replace(path, "{order_id}", "1", 1), string(body))
			if status == 400 || status > 409 {
				t.Errorf("the example of %s %s, %s: %d %s, want a status up to 409 other than 400", method, path, body, status, got)
			}
		}
	}
	if n < 8 {
		t.Errorf("%d examples", n)
	}
}

// TestRetirement checks the headers and the document of an operation that will be removed.
func TestRetirement(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	l := Mount(h.Routes, h.Gate, "test")
	old := *tools.GetTime
	announced := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	old.Spec.Name, old.Spec.Path, old.Retirement = "old_time", "/v1/old_time", &tools.Retirement{Announced: announced, Removed: announced.Add(tools.MinRetirementNotice)}
	l.register(&old)
	h.Serve()
	k := h.NewKey(1, core.ScopeRead)
	for target, status := range map[string]int{"/v1/old_time": 200, "/v1/old_time?x=1": 400} {
		got, header, body := h.Send(h.SignedRequest(k, "GET", target, nil))
		if got != status || header.Get("Deprecation") != "@1798761600" || header.Get("Sunset") != "Thu, 01 Apr 2027 00:00:00 GMT" {
			t.Errorf("GET %s: %d %v %s, want %d with Deprecation @1798761600 and Sunset on 1 April 2027", target, got, header, body, status)
		}
	}
	if _, header, _ := h.Send(h.SignedRequest(k, "GET", "/v1/time", nil)); header.Get("Deprecation")+header.Get("Sunset") != "" {
		t.Errorf("GET /v1/time is not retired, but its header has Deprecation or Sunset: %v", header)
	}
	if paths := l.OpenAPI().Paths; !paths["/v1/old_time"].Get.Deprecated || paths["/v1/time"].Get.Deprecated {
		t.Error("wrong deprecated flags in the document")
	}
	defer func() {
		if recover() == nil {
			t.Error("a retirement without due notice is accepted")
		}
	}()
	old.Path, old.Retirement = "/v1/older_time", &tools.Retirement{Announced: announced, Removed: announced.Add(tools.MinRetirementNotice - 1)}
	l.register(&old)
}

// validatedCall sends a request and validates request and response against the document.
func validatedCall(t *testing.T, h *lanetest.Server, router routers.Router, k lanetest.Key, method, target, body string) (int, string) {
	t.Helper()
	req := h.SignedRequest(k, method, target, []byte(body))
	status, header, got := h.Send(h.SignedRequest(k, method, target, []byte(body)))
	route, params, err := router.FindRoute(req)
	if err != nil {
		t.Errorf("%s %s is not in the document: %v", method, target, err)
		return status, got
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: options}
	if status < 300 {
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			t.Errorf("%s %s: accepted, but invalid by the document: %v", method, target, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: status, Header: header, Body: io.NopCloser(strings.NewReader(got)), Options: options}
	if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
		t.Errorf("%s %s: the response is invalid by the document: %v\n%s", method, target, err, got)
	}
	return status, got
}

func TestResponsesMatchDocument(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	_, doc := document(t, Mount(h.Routes, h.Gate, "test"))
	h.Serve()
	doc.Servers = openapi3.Servers{{URL: h.URL}}
	router, err := legacy.NewRouter(doc, openapi3.DisableExamplesValidation())
	if err != nil {
		t.Fatal(err)
	}
	alice, bob, reader := h.NewKey(1, allScopes), h.NewKey(2, readTrade), h.NewKey(1, core.ScopeRead)
	call := func(k lanetest.Key, method, target, body string) string {
		_, got := validatedCall(t, h, router, k, method, target, body)
		return got
	}
	placed := call(alice, "POST", "/v1/portfolio/orders", order(1, `,"tif":"gtc","group_id":3,"post_only":true`))
	id := field(t, placed, "order_id").(string)
	call(bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":4}`)
	call(alice, "POST", "/v1/portfolio/orders", order(2, `,"tif":"ioc"`))
	call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	call(alice, "POST", "/v1/portfolio/orders", `{"qty":"x"}`)
	call(reader, "POST", "/v1/portfolio/orders", order(5, ""))
	call(alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+order(6, "")+`,`+order(6, "")+`]}`)
	call(alice, "POST", "/v1/portfolio/orders/preview", order(7, ""))
	call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_to":3}`)
	call(alice, "POST", "/v1/portfolio/deadman", `{"timeout_ms":60000}`)
	call(alice, "POST", "/v1/portfolio/deadman", `{"timeout_ms":1}`)
	call(alice, "POST", "/v1/portfolio/redeem", `{"market_id":1,"qty":1}`)
	call(alice, "POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":6200}`)
	call(alice, "POST", "/v1/forecasts", `{"market_id":1,"generation":9,"p":6200}`)
	withdrawal := call(alice, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"5","destination":"d"}`)
	ids := strings.NewReplacer("{order_id}", id, "{market_id}", "1", "{withdrawal_id}", field(t, withdrawal, "withdrawal_id").(string))
	for path, item := range doc.Paths.Map() {
		if item.Get != nil {
			call(alice, "GET", ids.Replace(path), "")
		}
	}
	for _, target := range []string{
		"/v1/portfolio/orders?status=resting,canceled,rejected&limit=2", "/v1/portfolio/ledger?kind=fill,fee,deposit", "/v1/portfolio/ledger?kind=x", "/v1/portfolio/rounds?category=1",
		"/v1/deposits?limit=1", "/v1/forecasts?market_id=x", "/v1/markets/1/orderbook?depth=2", "/v1/rounds/77/history", "/v1/oracle/history?step_secs=10", "/v1/markets/77", "/v1/rounds/77",
		"/v1/portfolio/fills?cursor=zz", "/v1/time?x=1",
	} {
		call(alice, "GET", target, "")
	}
	call(alice, "DELETE", "/v1/portfolio/orders/batch", `{"order_ids":["`+id+`","1"]}`)
	call(alice, "DELETE", "/v1/portfolio/orders/"+id, "")
	call(alice, "DELETE", "/v1/portfolio/orders", "")
	call(alice, "DELETE", "/v1/portfolio/deadman", "")
}
