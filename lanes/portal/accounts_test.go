package portal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

func TestKeys(t *testing.T) {
	v := start(t, nil)
	if list := v.keys(carol); len(list.Keys) != 0 {
		t.Errorf("%+v", list)
	}
	plain, made := v.key(carol, "")
	reader, _ := v.key(carol, `{"label":"eyes","scopes":["read"]}`)
	if fmt.Sprint(made.Scopes) != "[read trade]" || made.CreatedTs == 0 {
		t.Errorf("%+v", made)
	}
	list := v.keys(carol).Keys
	if len(list) != 2 || list[0].APIKey != plain.ID || list[1].Label != "eyes" || fmt.Sprint(list[1].Scopes) != "[read]" {
		t.Errorf("%+v", list)
	}
	if status, body := v.Call(plain, "GET", "/v1/portfolio/balance", ""); status != 200 || !strings.Contains(body, `"cash":"0"`) {
		t.Errorf("a key signs: %d %s", status, body)
	}
	if status, _ := v.Call(reader, "DELETE", "/v1/portfolio/orders", ""); status != 403 {
		t.Errorf("a reader trades: %d", status)
	}
	if list := v.keys(dave); len(list.Keys) != 0 {
		t.Errorf("dave sees %+v", list)
	}
}

func TestKeysRefused(t *testing.T) {
	v := start(t, nil)
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
		t.Errorf("%+v", list)
	}
	v.wants(carol, "GET", "/keys", "{}", 400, "unexpected_body")
	v.wants(carol, "DELETE", "/account", "{}", 400, "unexpected_body")
	v.wants(carol, "GET", "/keys?all=1", "", 400, "unknown_field")
	v.Engine.Drain()
	v.wants(carol, "POST", "/keys", "", 503, "draining")
}

// A revoked key is refused from the moment that was answered; whose it was, and
// whether it was at all, does not show.
func TestRevoke(t *testing.T) {
	v := start(t, nil)
	hers, _ := v.key(carol, "")
	his, _ := v.key(dave, "")
	seq := v.Engine.Seq()
	for _, id := range []string{his.ID, "dxk" + strings.Repeat("0", 24), "x"} {
		if got := v.wants(carol, "DELETE", "/keys/"+id, "", 200, ""); got != `{"api_key":"`+id+`","revoked":true}` {
			t.Error(got)
		}
	}
	if v.Engine.Seq() != seq {
		t.Error("what was not hers was sequenced")
	}
	if status, body := v.Call(his, "GET", "/v1/time", ""); status != 200 {
		t.Errorf("his key: %d %s", status, body)
	}
	for range 3 {
		if got := v.wants(carol, "DELETE", "/keys/"+hers.ID, "", 200, ""); got != `{"api_key":"`+hers.ID+`","revoked":true}` {
			t.Error(got)
		}
		if status, body := v.Call(hers, "GET", "/v1/time", ""); status != 401 || codeOf(body) != "unauthorized" {
			t.Errorf("her key: %d %s", status, body)
		}
	}
	if list := v.keys(carol); len(list.Keys) != 0 {
		t.Errorf("%+v", list)
	}
	v.wants(carol, "DELETE", "/keys/"+hers.ID, "{}", 400, "unexpected_body")
}

func TestCloseAccount(t *testing.T) {
	v := start(t, nil)
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

// At most ten new keys within any minute, by the venue's clock, for each account by
// itself.
func TestTenKeysAMinute(t *testing.T) {
	v := start(t, nil)
	for range newKeys {
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
	v.Skip(30 * time.Second)
	v.wants(carol, "POST", "/keys", "", 429, "rate_limited")
	v.Skip(30 * time.Second)
	for range newKeys {
		v.key(carol, "")
	}
	v.wants(carol, "POST", "/keys", "", 429, "rate_limited")
}

// Whoever has no account's token is told the same on every path of the service,
// known or not; after too many tries from one address, to wait. Whoever has one is
// served all the same.
func TestStrangers(t *testing.T) {
	v := start(t, nil)
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
	if tries != failuresBurst || codeOf(first) != "unauthorized" {
		t.Fatalf("%d tries, %s", tries, first)
	}
	for range 10 { // what has refilled since
		if status, _, _ := v.ask("wrong", "GET", "/keys", ""); status == 429 {
			break
		}
	}
	v.wants("wrong", "GET", "/keys", "", 429, "rate_limited")
	v.keys(carol)
	v.Skip(5 * time.Second)
	v.wants("wrong", "GET", "/keys", "", 401, "unauthorized")
}

// However many addresses fail, what is remembered of them stays within bounds.
func TestStrangersAreForgotten(t *testing.T) {
	var s strangers
	now := time.Unix(1_800_000_000, 0)
	for i := range 5 * remembered {
		if err := s.fail(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.young) + len(s.old); n > 2*remembered {
		t.Errorf("%d addresses", n)
	}
	for range failuresBurst {
		_ = s.fail("[2001:db8::1]:1", now)
	}
	if err := s.fail("[2001:db8::ffff]:2", now); err == nil {
		t.Error("the neighbour in one's own network is another")
	}
	if err := s.fail("[2001:db8:0:1::1]:1", now); err != nil {
		t.Error("another network is the same")
	}
	if network("[::ffff:10.0.0.1]:1") != network("10.0.0.1:2") || network("what") != network("") {
		t.Error("one address written two ways is two")
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	v := start(t, nil)
	_, made := v.key(carol, "")
	v.wants("dxa_guessed", "GET", "/keys", "", 401, "unauthorized")
	v.wants(carol, "DELETE", "/keys/"+made.APIKey, "", 200, "")
	logs := v.logs.String()
	if !strings.Contains(logs, "portal_create_key") || !strings.Contains(logs, "user_id=3") {
		t.Errorf("nothing of it in %s", logs)
	}
	for _, secret := range []string{carol, made.Secret, "dxa_guessed"} {
		if strings.Contains(logs, secret) {
			t.Errorf("%s shows in\n%s", secret, logs)
		}
	}
	if k := v.Engine.Key(made.APIKey); k == nil || k.User != core.UserID(3) || strings.Contains(string(k.Sealed), made.Secret) {
		t.Errorf("%+v", k)
	}
}
