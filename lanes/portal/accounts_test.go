package portal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	if list := v.keys(carol); len(list.Keys) != 0 {
		t.Errorf("a new account has keys: %+v", list)
	}
	plain, made := v.key(carol, "")
	reader, _ := v.key(carol, `{"label":"eyes","scopes":["read"]}`)
	if fmt.Sprint(made.Scopes) != "[read trade]" || made.CreatedTs == 0 {
		t.Errorf("POST /keys without a body: %+v, want the scopes read and trade and a time", made)
	}
	list := v.keys(carol).Keys
	if len(list) != 2 || list[0].APIKey != plain.ID || list[1].Label != "eyes" || fmt.Sprint(list[1].Scopes) != "[read]" {
		t.Errorf("GET /keys: %+v, want key %s first, then eyes with scope read", list, plain.ID)
	}
	if status, body := v.Call(plain, "GET", "/v1/portfolio/balance", ""); status != 200 || !strings.Contains(body, `"cash":"0"`) {
		t.Errorf("a request of the new key: %d %s", status, body)
	}
	if status, _ := v.Call(reader, "DELETE", "/v1/portfolio/orders", ""); status != 403 {
		t.Errorf("a read-only key cancels: %d", status)
	}
	if list := v.keys(dave); len(list.Keys) != 0 {
		t.Errorf("dave sees %+v", list)
	}
}

func TestKeysRefused(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"scopes":["withdraw"]}`, 403, "missing_scope"},
		{`{"scopes":["read","trade","withdraw"]}`, 403, "missing_scope"},
		{`{"scopes":["operator"]}`, 400, "schema_violation"},
		{`{"scopes":[]}`, 400, "schema_violation"},
		{`{"scopes":null}`, 400, "schema_violation"},
		{`{"label":"` + strings.Repeat("x", 65) + `"}`, 400, "schema_violation"},
		{`{"label":"a","user_id":1}`, 400, "unknown_field"},
		{`{"label":"a","label":"b"}`, 400, "malformed_json"},
		{`[]`, 400, "malformed_json"},
		{`{"label":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "body_too_large"},
	} {
		v.wants(carol, "POST", "/keys", c.body, c.status, c.code)
	}
	if list := v.keys(carol); len(list.Keys) != 0 {
		t.Errorf("the refused requests left keys: %+v", list)
	}
	v.wants(carol, "GET", "/keys", "{}", 400, "unexpected_body")
	v.wants(carol, "DELETE", "/account", "{}", 400, "unexpected_body")
	v.wants(carol, "GET", "/keys?all=1", "", 400, "unknown_field")
	v.Engine.Drain()
	v.wants(carol, "POST", "/keys", "", 503, "draining")
}

// TestRevoke checks that a revoked key is unauthorized at once, and that the response does
// not reveal whether a key exists or whose it is.
func TestRevoke(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	hers, _ := v.key(carol, "")
	his, _ := v.key(dave, "")
	seq := v.Engine.Seq()
	for _, id := range []string{his.ID, "dxk" + strings.Repeat("0", 24), "x"} {
		if got := v.wants(carol, "DELETE", "/keys/"+id, "", 200, ""); got != `{"api_key":"`+id+`","revoked":true}` {
			t.Error(got)
		}
	}
	if v.Engine.Seq() != seq {
		t.Error("the revocation of another account's key was sequenced")
	}
	if status, body := v.Call(his, "GET", "/v1/time", ""); status != 200 {
		t.Errorf("dave's key: %d %s", status, body)
	}
	for range 3 {
		if got := v.wants(carol, "DELETE", "/keys/"+hers.ID, "", 200, ""); got != `{"api_key":"`+hers.ID+`","revoked":true}` {
			t.Error(got)
		}
		if status, body := v.Call(hers, "GET", "/v1/time", ""); status != 401 || codeOf(body) != "unauthorized" {
			t.Errorf("carol's key: %d %s", status, body)
		}
	}
	if list := v.keys(carol); len(list.Keys) != 0 {
		t.Errorf("the revoked keys are listed: %+v", list)
	}
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		for k := range m.Keys() {
			if k.ID == hers.ID {
				t.Error("the revoked key is still in the state")
			}
		}
	})
	v.wants(carol, "DELETE", "/keys/"+hers.ID, "{}", 400, "unexpected_body")
}

func TestCloseAccount(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	one, _ := v.key(carol, "")
	two, _ := v.key(carol, "")
	his, _ := v.key(dave, "")
	for range 2 {
		if got := v.wants(carol, "DELETE", "/account", "", 200, ""); got != `{"revoked":true}` {
			t.Error(got)
		}
	}
	for key, want := range map[*lanetest.Key]int{&one: 401, &two: 401, &his: 200} {
		if status, body := v.Call(*key, "GET", "/v1/time", ""); status != want {
			t.Errorf("%s: %d %s, want %d", key.ID, status, body, want)
		}
	}
}

// TestTenKeysAMinute checks that each account creates at most ten keys within any minute of
// the venue's clock (docs/rules/accounts.md#new-keys).
func TestTenKeysAMinute(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.FreezeClock()
	for range newKeysPerMinute {
		v.key(carol, "")
	}
	var e schemas.ErrorBody
	answer := v.wants(carol, "POST", "/keys", "", 429, "rate_limited")
	if err := json.Unmarshal([]byte(answer), &e); err != nil {
		t.Fatal(err)
	}
	if ms, ok := e.Error.RetryAfterMs(); !ok || ms < 1 || ms > 60_000 || e.Error.Message != "rate limited" {
		t.Error(answer)
	}
	v.key(dave, "")
	v.AdvanceClock(30 * time.Second)
	v.wants(carol, "POST", "/keys", "", 429, "rate_limited")
	v.AdvanceClock(30 * time.Second)
	for range newKeysPerMinute {
		v.key(carol, "")
	}
	v.wants(carol, "POST", "/keys", "", 429, "rate_limited")
}

// TestTooManyKeys checks that an account creates no key beyond Options.AccountKeys live ones, of which those
// of the operator count, that a revoked key does not count, and that an agent has a number of its own
// (docs/rules/accounts.md#number-of-keys).
func TestTooManyKeys(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.AccountKeys = 3 })
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	v.NewKey(3, core.ScopeRead)
	first, _ := v.key(carol, "")
	v.key(carol, "")
	answer := v.wants(carol, "POST", "/keys", "", 403, "too_many_keys")
	var e schemas.ErrorBody
	if err := json.Unmarshal([]byte(answer), &e); err != nil || e.Error.Num != nil || e.Error.Origin != schemas.OriginGateway {
		t.Errorf("POST /keys past the limit: %s, %v, want an error without a num from the gateway", answer, err)
	}
	v.NewKey(3, core.ScopeRead) // the operator's own is not refused
	v.wants(carol, "DELETE", "/keys/"+first.ID, "", 200, "")
	v.wants(carol, "POST", "/keys", "", 403, "too_many_keys") // two of the operator, one of carol
	v.key(dave, "")

	id, _ := v.newAgent("scout", `{}`) // with one key
	agent := fmt.Sprintf("/agents/%d/keys", id)
	v.keyAt(carol, agent, "")
	v.keyAt(carol, agent, "")
	v.wants(carol, "POST", agent, "", 403, "too_many_keys")
}

// TestTooManyKeysAtOnce checks that of requests which arrive at once, at one key below the number, one
// creates a key.
func TestTooManyKeysAtOnce(t *testing.T) {
	t.Parallel()
	const most = 50
	v := newTestPortal(t, func(o *Options) { o.AccountKeys = most })
	for range most - 1 {
		v.NewKey(3, core.ScopeRead)
	}
	var statuses [8]int
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() { statuses[i], _, _ = v.request(carol, "POST", "/keys", "") })
	}
	all.Wait()
	slices.Sort(statuses[:])
	if want := [8]int{201, 403, 403, 403, 403, 403, 403, 403}; statuses != want || len(v.keys(carol).Keys) != most {
		t.Errorf("%v, and %d keys", statuses, len(v.keys(carol).Keys))
	}
}

// TestInvalidTokens checks that requests without a valid token get the same response on
// every path of the service, then rate_limited after too many from one address, while a
// valid token still passes.
func TestInvalidTokens(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.FreezeClock() // no failure expires, however slow the machine
	var first string
	tries := 0
	for _, h := range []http.Header{{}, {"Authorization": {"Bearer wrong"}}, {"Authorization": {carol}}, {"Authorization": {"Basic " + carol}}, {"Authorization": {"Bearer " + carol, "Bearer " + carol}}} {
		for _, c := range [][2]string{{"GET", "/keys"}, {"POST", "/keys"}, {"DELETE", "/keys/x"}, {"DELETE", "/account"}, {"GET", "/keys/x/y"}, {"PUT", "/account"}} {
			status, header, body := v.send(c[0], c[1], "", h.Clone())
			if tries++; first == "" {
				first = body
			}
			if status != 401 || body != first || header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s with %v: %d %s", c[0], c[1], h, status, body)
			}
		}
	}
	if tries != authFailureBurst || codeOf(first) != "unauthorized" {
		t.Fatalf("%d tries, %s", tries, first)
	}
	v.wants("wrong", "GET", "/keys", "", 429, "rate_limited")
	v.keys(carol)
	v.AdvanceClock(5 * time.Second)
	v.wants("wrong", "GET", "/keys", "", 401, "unauthorized")
}

// authFailureBurst is the burst of gate.AuthFailures.
const authFailureBurst = 30

// TestFailuresBehindAProxy checks that each client behind a trusted proxy has its own limit
// and cannot evade it with a forged X-Forwarded-For. An untrusted proxy is one client.
func TestFailuresBehindAProxy(t *testing.T) {
	t.Parallel()
	const ann, ben = "198.51.100.1", "2001:db8::2"
	for name, c := range map[string]struct {
		proxies []netip.Prefix
		other   int // the status of the other client
	}{
		"trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}, 401},
		"not":     {nil, 429},
	} {
		t.Run(name, func(t *testing.T) {
			v := newTestPortal(t, nil)
			v.FreezeClock()
			v.Gate.TrustedProxies = c.proxies
			fails := func(forwarded ...string) int {
				status, _, _ := v.send("GET", "/keys", "", http.Header{"X-Forwarded-For": forwarded})
				return status
			}
			for n := range authFailureBurst {
				if got := fails(fmt.Sprintf("192.0.2.%d, %s", n, ann)); got != 401 { // the proxy appends to the client's header
					t.Fatalf("failure %d: %d", n, got)
				}
			}
			if got := fails(ben+", "+ann, "10.1.2.3"); got != 429 {
				t.Errorf("the client that failed too often: %d", got)
			}
			if got := fails(ann + "," + ben); got != c.other {
				t.Errorf("the other client: %d", got)
			}
			v.keys(carol)
		})
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	_, made := v.key(carol, "")
	if k := v.Engine.Key(made.APIKey); k == nil || k.User != core.UserID(3) || strings.Contains(string(k.Sealed), made.Secret) {
		t.Errorf("the stored key is %+v, want one of account 3 that does not hold the plain secret", k)
	}
	v.wants("dxa_guessed", "GET", "/keys", "", 401, "unauthorized")
	v.wants(carol, "DELETE", "/keys/"+made.APIKey, "", 200, "")
	logs := v.logs.String()
	if !strings.Contains(logs, "portal_create_key") || !strings.Contains(logs, "user_id=3") {
		t.Errorf("the action is not in %s", logs)
	}
	for _, secret := range []string{carol, made.Secret, "dxa_guessed"} {
		if strings.Contains(logs, secret) {
			t.Errorf("%s appears in\n%s", secret, logs)
		}
	}
}

// TestAccountOfAToken tests that a token's owner can read whose it is.
func TestAccountOfAToken(t *testing.T) {
	v := newTestPortal(t, nil)
	var got schemas.AccountIdentity
	v.ask(dave, "GET", "/account", "", 200, &got)
	if got.UserID != 4 || got.Name != "dave" || got.CreatedTs == 0 {
		t.Errorf("%+v", got)
	}
	v.wants("dxa_nobody", "GET", "/account", "", 401, "unauthorized")
}
