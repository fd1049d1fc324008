package bridge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"duplex/cmd/dx/bridge"
	"duplex/server"
	"duplex/server/servertest"
)

// TestOAuthDoctor tests what the doctor finds at a venue, while an owner allows or denies, and at which step it
// stops if something is wrong.
func TestOAuthDoctor(t *testing.T) {
	v := servertest.New(t, func(o *server.Options) { o.OAuth = true })
	without := servertest.New(t)
	lane := v.APIURL() + "/v1/mcp"
	for name, x := range map[string]struct {
		lane  string
		allow bool
		last  string
		found string // of the last step
		ok    bool
	}{
		"allowed":        {lane, true, "revocation", "the grant has ended; its agent is still there", true},
		"denied":         {lane, false, "consent", "access_denied: the owner denied it", false},
		"without OAuth":  {without.APIURL() + "/v1/mcp", true, "challenge", `status 401 with WWW-Authenticate "", not 401 with resource_metadata`, false},
		"another name":   {strings.Replace(lane, "127.0.0.1", "localhost", 1), true, "resource", "the venue calls itself " + lane + ", not " + strings.Replace(lane, "127.0.0.1", "localhost", 1), false},
		"not the lane":   {v.PortalURL() + "/v1/mcp", true, "challenge", `status 404 with WWW-Authenticate "", not 401 with resource_metadata`, false},
		"another server": {"http://127.0.0.1:1/v1/mcp", true, "challenge", "refused", false},
	} {
		var steps []string
		var last bridge.Finding
		bridge.OAuthDoctor(t.Context(), nil, x.lane, func(page string) { go decide(t, nil, page, v.Account("alice").AccountToken, "doctor", x.allow) }, func(f bridge.Finding) {
			last = f
			steps = append(steps, fmt.Sprintf("%s: %s", f.Check, f.Detail))
		})
		if last.Check != x.last || last.OK != x.ok || !strings.Contains(last.Detail, x.found) || !x.ok && last.Fix == "" {
			t.Errorf("%s: %s", name, strings.Join(steps, "\n"))
		}
	}
}

// decide answers the page of consent as an owner, with a new agent, and follows the redirect as the browser does.
func decide(t *testing.T, transport http.RoundTripper, page, accountToken, agent string, allow bool) {
	issuer, query, _ := strings.Cut(page, "/oauth/authorize?")
	body, err := json.Marshal(map[string]any{"request": query, "allow": allow, "agent": map[string]any{"name": agent}})
	if err != nil {
		t.Error(err)
		return
	}
	r, err := http.NewRequest(http.MethodPost, issuer+"/oauth/consent", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header = http.Header{"Authorization": {"Bearer " + accountToken}, "Origin": {issuer}, "Content-Type": {"application/json"}}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	var out struct{ Redirect string }
	text, err := io.ReadAll(resp.Body)
	if err != nil || json.Unmarshal(text, &out) != nil || out.Redirect == "" {
		t.Errorf("consent: %d %s %v", resp.StatusCode, text, err)
		return
	}
	back, err := http.Get(out.Redirect)
	if err != nil || back.StatusCode != http.StatusOK {
		t.Errorf("the redirect: %v", err)
		return
	}
	_ = back.Body.Close()
}
