package portal

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// TestMoneyRoutes checks that the money routes have the bodies and errors of the API.
func TestMoneyRoutes(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.FreezeClock()
	v.Server.Submit(&core.Deposit{User: 3, DepositID: "bank-1", Amount: 5000})
	seq := v.Venue.Engine.Seq()
	if body := v.wants(carol, "POST", "/withdrawals", `{"client_withdrawal_id":"w-1","amount":"2000","destination":"iban-1"}`, 202, ""); !strings.Contains(body, `"status":"pending"`) {
		t.Error(body)
	}
	again := `{"client_withdrawal_id":"w-1","amount":"2000","destination":"iban-1"}`
	v.wants(carol, "POST", "/withdrawals", again, 202, "")

	key, _ := v.key(carol, `{"scopes":["read"]}`)
	for portal, api := range map[string]string{
		"/balance": "/v1/portfolio/balance", "/deposits?limit=5": "/v1/deposits?limit=5", "/deposit-address": "/v1/deposits/address", "/withdrawals": "/v1/withdrawals",
		fmt.Sprintf("/balance?min_seq=%d", seq): "/v1/portfolio/balance",
	} {
		status, want := v.Call(key, "GET", api, "")
		if got := v.wants(carol, "GET", portal, "", status, ""); got != want {
			t.Errorf("%s: %s, the API %s", portal, got, want)
		}
	}
	for _, c := range []struct {
		token, method, target, body string
		status                      int
		code                        string
	}{
		{carol, "POST", "/withdrawals", `{"client_withdrawal_id":"w-1","amount":"2001","destination":"iban-1"}`, 409, "duplicate_client_withdrawal_id"},
		{carol, "POST", "/withdrawals", `{"client_withdrawal_id":"w-2","amount":"3001","destination":"iban-1"}`, 403, "insufficient_balance"},
		{carol, "POST", "/withdrawals", `{"client_withdrawal_id":"w-2","amount":"0","destination":"iban-1"}`, 400, "bad_amount"},
		{carol, "POST", "/withdrawals", `{"client_withdrawal_id":"w-2","amount":"1","destination":""}`, 400, "bad_destination"},
		{carol, "GET", "/deposits?cursor=x", "", 400, "bad_cursor"},
		{carol, "GET", "/balance?currency=eur", "", 400, "unknown_field"},
		{carol, "DELETE", "/withdrawals", "", 405, "method_not_allowed"},
		{"dxa_wrong", "GET", "/balance", "", 401, "unauthorized"},
		{"", "POST", "/withdrawals", again, 401, "unauthorized"},
	} {
		v.wants(c.token, c.method, c.target, c.body, c.status, c.code)
	}
	if body := v.wants(dave, "GET", "/withdrawals", "", 200, ""); !strings.Contains(body, `"withdrawals":[]`) {
		t.Errorf("dave sees %s", body)
	}
	if body := v.wants(carol, "GET", "/balance", "", 200, ""); !strings.Contains(body, `"cash":"3000"`) {
		t.Errorf("the withdrawal was subtracted twice or not at all: %s", body)
	}
}

// TestSignUp checks who may open an account in each mode, and what bounds the number of accounts.
func TestSignUp(t *testing.T) {
	t.Parallel()
	const name = `{"name":"erin"}`
	closed := newTestPortal(t, nil)
	closed.wants("", "POST", "/accounts", name, 404, "not_found")

	guarded := newTestPortal(t, func(o *Options) { o.SignUp, o.SignUpToken = SignUpToken, "sesame" })
	guarded.wants("", "POST", "/accounts", name, 401, "unauthorized")
	guarded.wants("open", "POST", "/accounts", name, 401, "unauthorized")
	guarded.wants("sesame", "POST", "/accounts", name, 201, "")

	v := newTestPortal(t, func(o *Options) { o.SignUp = SignUpOpen })
	v.FreezeClock()
	users := func() (n int) {
		v.Venue.Engine.Read(func(m *venue.Venue, _ *view.View) {
			for range m.Users() {
				n++
			}
		})
		return n
	}
	before := users()
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":"` + strings.Repeat("x", 65) + `"}`, `{"name":"erin","referrer_id":1}`, `{"name":"er\u0007in"}`, `[]`} {
		v.AdvanceClock(time.Minute)
		if status, _, got := v.request("", "POST", "/accounts", body); status != 400 {
			t.Errorf("POST /accounts %s: %d %s, want 400", body, status, got)
		}
	}
	v.wants("", "POST", "/accounts", strings.Repeat("x", 64<<10+1), 413, "body_too_large")
	if now := users(); now != before {
		t.Errorf("bad requests opened %d accounts", now-before)
	}
	v.AdvanceClock(time.Hour)
	var made struct {
		UserID       uint32 `json:"user_id"`
		AccountToken string `json:"account_token"`
	}
	for range signUpBurst {
		v.ask("", "POST", "/accounts", name, 201, &made)
	}
	v.wants("", "POST", "/accounts", name, 429, "rate_limited")
	v.AdvanceClock(time.Minute)
	v.wants("", "POST", "/accounts", name, 201, "")
	if body := v.wants(made.AccountToken, "GET", "/balance", "", 200, ""); !strings.Contains(body, `"cash":"0"`) {
		t.Error(body)
	}
	if strings.Contains(v.logs.String(), made.AccountToken) {
		t.Error("the log has the new token")
	}
}

// TestSignUpOfAForeignPage checks that a page of another site opens no account in its visitor's browser, and
// uses up nothing of the visitor's limit; and that the portal's own page and allowed origins do.
func TestSignUpOfAForeignPage(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.SignUp = SignUpOpen })
	v.FreezeClock()
	v.Gate.Origins = []string{"https://venue.example"}
	for range 2 {
		for _, c := range []struct {
			origins []string
			status  int
		}{
			{[]string{"https://evil.example"}, 403}, {[]string{"null"}, 403}, {[]string{""}, 403}, {[]string{"https://venue.example.evil"}, 403},
			{[]string{v.url, "https://evil.example"}, 403}, {[]string{"https://evil.example"}, 403}, {[]string{"https://evil.example"}, 403},
			{nil, 201}, {[]string{v.url}, 201}, {[]string{"https://venue.example"}, 201},
		} {
			h := http.Header{}
			if c.origins != nil {
				h["Origin"] = c.origins
			}
			status, _, body := v.send("POST", "/accounts", `{"name":"erin"}`, h)
			if status != c.status || status == 403 && codeOf(body) != "forbidden_origin" {
				t.Errorf("Origin %q: %d %s, want %d", c.origins, status, body, c.status)
			}
		}
		v.AdvanceClock(time.Hour)
	}
}

// TestSignUpsOfManyNetworks checks that the venue bounds its accounts, wherever the requests come from.
func TestSignUpsOfManyNetworks(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.SignUp = SignUpOpen })
	v.FreezeClock()
	v.Gate.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	from := func(i, j int) http.Header {
		return http.Header{"X-Forwarded-For": {fmt.Sprintf("10.%d.%d.%d", i, j/250, j%250+1)}}
	}
	for i := range venueSignUpBurst + 10 { // what opens no account takes nothing from the others
		if status, _, body := v.send("POST", "/accounts", `{"name":""}`, from(1, i)); status != 400 {
			t.Fatal(status, body)
		}
	}
	n := 0
	for i := range venueSignUpBurst + 10 {
		h := from(0, i)
		status, _, body := v.send("POST", "/accounts", `{"name":"erin"}`, h)
		switch status {
		case 201:
			n++
		case 429:
		default:
			t.Fatal(status, body)
		}
	}
	if n != venueSignUpBurst {
		t.Errorf("%d accounts, not %d", n, venueSignUpBurst)
	}
}
