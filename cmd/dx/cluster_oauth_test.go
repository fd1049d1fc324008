package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestClusterOAuth checks that a grant is one over all members: the registration, the consent, the code, each
// refresh and each use of a token go to the next member at once, without a wait in between. Also while a member
// is killed and comes back, and the end of a grant that one member answered holds on the others.
func TestClusterOAuth(t *testing.T) {
	skipUnlessLong(t)
	const api, portal, redirect = "https://api.trade.example", "https://trade.example", "https://host.example/back"
	c := startCluster(t, "--oauth", "--public-url", api, "--public-portal-url", portal, "--trusted-proxies", "127.0.0.0/8")
	var user struct {
		AccountToken string `json:"account_token"`
	}
	if status, err := c.admin(t.Context(), 0, "POST", "/admin/users", map[string]string{"name": "owner"}, &user); err != nil || status != 201 {
		t.Fatal(status, err)
	}
	n := 0 // requests; each goes to the next member that runs
	next := func() int {
		for {
			n++
			if i := n % 3; c.members[i].cmd != nil {
				return i
			}
		}
	}
	send := func(i, port int, path, kind, body string, header http.Header) (int, string) {
		t.Helper()
		r, err := http.NewRequest("POST", c.url(i, port)+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if header != nil {
			r.Header = header
		}
		r.Header.Set("Content-Type", kind)
		resp, err := c.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	token := func(i int, form url.Values) int {
		t.Helper()
		status, body := send(i, 8081, "/oauth/token", "application/x-www-form-urlencoded", form.Encode(), nil)
		if status == http.StatusOK {
			if err := json.Unmarshal([]byte(body), &tokens); err != nil {
				t.Fatal(err)
			}
		}
		return status
	}
	call := func(i int) int {
		t.Helper()
		header := http.Header{"Authorization": {"Bearer " + tokens.Access}, "Mcp-Protocol-Version": {"2025-11-25"}}
		status, _ := send(i, 8080, "/v1/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","arguments":{}}}`, header)
		return status
	}
	// A member that lacks a key or a generation waits half a second for it. One that is held up for longer refuses
	// what it does not know yet, and changes nothing, so the request is sent again.
	soon := func(what string, send func() int) {
		t.Helper()
		status := 0
		if !within(3*time.Minute, func() bool { status = send(); return status == 200 }) {
			t.Fatalf("%s at the next member: %d", what, status)
		}
	}
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	connect := func(name string) (id string) {
		t.Helper()
		var made struct {
			ClientID string `json:"client_id"`
		}
		status, body := send(next(), 8081, "/oauth/register", "application/json", `{"redirect_uris":["`+redirect+`"]}`, nil)
		if err := json.Unmarshal([]byte(body), &made); err != nil || status != 201 {
			t.Fatal(status, body)
		}
		query := url.Values{"response_type": {"code"}, "client_id": {made.ClientID}, "redirect_uri": {redirect}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
		consent, err := json.Marshal(map[string]any{"request": query.Encode(), "allow": true, "agent": map[string]any{"name": name}})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ Redirect string }
		at := next()
		status, body = send(at, 8081, "/oauth/consent", "application/json", string(consent), http.Header{"Authorization": {"Bearer " + user.AccountToken}, "Origin": {portal}})
		if json.Unmarshal([]byte(body), &back) != nil || status != 200 {
			t.Fatalf("consent at %d: %d %s", at, status, body)
		}
		u, err := url.Parse(back.Redirect)
		if err != nil {
			t.Fatal(err)
		}
		code := url.Values{"grant_type": {"authorization_code"}, "code": {u.Query().Get("code")}, "client_id": {made.ClientID}, "redirect_uri": {redirect}, "code_verifier": {verifier}}
		soon("a code", func() int { return token(next(), code) })
		return made.ClientID
	}
	refresh := func(id string) url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}, "client_id": {id}}
	}
	for round := range 10 {
		id := connect(fmt.Sprint("agent-", round))
		for range 6 {
			soon("a token", func() int { return call(next()) })
			soon("a refresh", func() int { return token(next(), refresh(id)) })
		}
		if round%4 == 2 {
			c.kill(round % 3)
		} else if round%4 == 3 {
			for i := range c.members {
				if c.members[i].cmd == nil {
					c.start(i)
					c.waitServing(i)
				}
			}
		}
		if status, body := send(next(), 8081, "/oauth/revoke", "application/x-www-form-urlencoded", url.Values{"token": {tokens.Refresh}, "client_id": {id}}.Encode(), nil); status != 200 {
			t.Fatalf("a revocation: %d %s", status, body)
		}
		for i := range c.members {
			if c.members[i].cmd != nil && token(i, refresh(id)) != 400 {
				t.Errorf("round %d: a refresh after the revocation at %d", round, i)
			}
		}
		for i := range c.members {
			if c.members[i].cmd != nil && !within(3*time.Minute, func() bool { return call(i) == 401 }) {
				t.Errorf("round %d: the token works at %d after the revocation", round, i)
			}
		}
	}
}
