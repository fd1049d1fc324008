package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/internal/logbuffer"
	"duplex/lanes/portal/web"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// ask sends one request unsigned and returns status and body.
func ask(t *testing.T, method, url string, header ...string) (int, string) {
	t.Helper()
	return send(t, method, url, "", header...)
}

// send is ask with a body.
func send(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
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

// TestNothingWithoutAKey requests every route without a key, and some that do not exist:
// each response is the same 401, but for the two questions about health.
func TestNothingWithoutAKey(t *testing.T) {
	p := plainVenue.of(t)
	_, document := ask(t, "GET", p.dev.Portal+"/openapi.json")
	var doc struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(document), &doc); err != nil || len(doc.Paths) < 25 {
		t.Fatal(err, len(doc.Paths))
	}
	paths := []string{
		"/", "/docs", "/openapi.json", "/asyncapi.json", "/llms.txt", "/errors", "/changelog.atom", "/keys", "/account", "/venue.json", "/dev/key", "/metrics", "/livez", "/readyz",
		"/debug/pprof", "/debug/pprof/heap", "/admin/users", "/admin/state", "/healthz", "/robots.txt", "/favicon.ico", "/.well-known/security.txt", "/v1/ws", "/v1/mcp", "/v1", "/v2/markets", "/.env", "/.git/config",
	}
	for path := range doc.Paths {
		paths = append(paths, strings.NewReplacer("{market_id}", "1", "{order_id}", "1", "{withdrawal_id}", "1").Replace(path))
	}
	err := fs.WalkDir(web.Files(), ".", func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, "/"+path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, path := range paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
			status, body := ask(t, method, p.dev.API+path)
			if (path == "/livez" || path == "/readyz") && (method == "GET" || method == "HEAD") {
				if status != 200 || body != "" && strings.TrimSpace(body) != `{"status":"ok","phase":"serving"}` {
					t.Errorf("%s %s: %d %s", method, path, status, body)
				}
				continue
			}
			if status != 401 {
				t.Errorf("%s %s without a key: %d %s, want 401", method, path, status, body)
			}
			if method == "HEAD" || path == "/v1/mcp" { // HEAD has no body, and the agent lane responds in JSON-RPC
				continue
			}
			if want == "" {
				want = body
			}
			if body != want || !strings.Contains(body, `"code":"unauthorized"`) {
				t.Errorf("%s %s without a key: %s, want the same unauthorized as everywhere: %s", method, path, body, want)
			}
		}
	}
}

// TestListenersRefuseEachOther tests that no listener accepts the credentials of another.
func TestListenersRefuseEachOther(t *testing.T) {
	p := plainVenue.of(t)
	a := p.dev.Accounts[0]
	signed := func(method, path string) []string {
		k := signer{key: a.APIKey}
		var err error
		if k.secret, err = hex.DecodeString(a.Secret); err != nil {
			t.Fatal(err)
		}
		return k.headers(method, path)
	}
	operator, owner := []string{"Authorization", "Bearer " + p.dev.OperatorToken}, []string{"Authorization", "Bearer " + a.AccountToken}
	for _, c := range []struct {
		name, base, method, path string
		header                   []string
		status                   int
	}{
		{"the key opens the API", p.dev.API, "GET", "/v1/portfolio/balance", signed("GET", "/v1/portfolio/balance"), 200},
		{"the operator opens his", p.dev.Admin, "GET", "/admin/state", operator, 200},
		{"the account opens the portal", p.dev.Portal, "GET", "/keys", owner, 200},
		{"a key at the operator's", p.dev.Admin, "GET", "/admin/state", signed("GET", "/admin/state"), 401},
		{"a key at the accounts", p.dev.Portal, "GET", "/keys", signed("GET", "/keys"), 401},
		{"the operator at the API", p.dev.API, "GET", "/v1/portfolio/balance", operator, 401},
		{"the operator at the accounts", p.dev.Portal, "GET", "/keys", operator, 401},
		{"an account at the API", p.dev.API, "GET", "/v1/portfolio/balance", owner, 401},
		{"an account at the operator's", p.dev.Admin, "GET", "/admin/state", owner, 401},
		{"the operator's paths on the API", p.dev.API, "GET", "/admin/state", signed("GET", "/admin/state"), 404},
		{"the API's paths at the operator's", p.dev.Admin, "GET", "/v1/markets", operator, 404},
		{"the API's paths on the portal", p.dev.Portal, "GET", "/v1/markets", owner, 404},
		{"metrics on the portal", p.dev.Portal, "GET", "/metrics", operator, 404},
		{"metrics without the operator", p.dev.Admin, "GET", "/metrics", nil, 401},
		{"profiles without the operator", p.dev.Admin, "GET", "/debug/pprof/heap", nil, 401},
	} {
		status, body := ask(t, c.method, c.base+c.path, c.header...)
		if status != c.status || strings.Contains(body, a.Secret) || strings.Contains(body, p.dev.OperatorToken) {
			t.Errorf("%s: %d %s, want %d without a secret", c.name, status, body, c.status)
		}
	}
}

// signer returns the three headers that sign a request without a body.
type signer struct {
	key    string
	secret []byte
}

func (s signer) headers(method, path string) []string {
	ts := stamp()
	return []string{schemas.HeaderKey, s.key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(s.secret, ts, method, path, nil)}
}

// TestNoSecretAnywhere tests that the files, logs, metrics and responses of a venue contain
// no secret or token in any encoding. It also searches for the public key, which must be
// found: that shows that the search works.
func TestNoSecretAnywhere(t *testing.T) {
	dir := t.TempDir()
	log := &logbuffer.Buffer{}
	h := servertest.OpenLive(t, dir, func(o *server.Options) {
		o.OperatorToken = "dxo_" + strings.Repeat("5a", 32)
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	operator := []string{"Authorization", "Bearer " + h.OperatorToken()}
	var user schemas.NewUser
	var key schemas.NewKey
	with(t, h.OperatorToken(), "POST", h.AdminURL()+"/admin/users", `{"name":"alice","reason":"test"}`, &user)
	with(t, h.OperatorToken(), "POST", h.AdminURL()+"/admin/users/1/keys", `{"label":"desk"}`, &key)
	with(t, h.OperatorToken(), "POST", h.AdminURL()+"/admin/users/1/deposits", `{"deposit_id":"d","amount":"100000"}`, nil)
	said := &bytes.Buffer{}
	keep := func(_ int, body string) { said.WriteString(body) }
	secret, err := hex.DecodeString(key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	sign := signer{key.APIKey, secret}
	servertest.CheckKey(t, h, key)
	keep(ask(t, "GET", h.APIURL()+"/v1/portfolio/orders?limit=zz", sign.headers("GET", "/v1/portfolio/orders?limit=zz")...))
	keep(ask(t, "GET", h.APIURL()+"/v1/portfolio/orders", schemas.HeaderKey, key.APIKey, schemas.HeaderTimestamp, stamp(), schemas.HeaderSignature, key.Secret))
	keep(ask(t, "GET", h.PortalURL()+"/keys", "Authorization", "Bearer "+user.AccountToken))
	keep(ask(t, "GET", h.PortalURL()+"/keys?token="+user.AccountToken, "Authorization", "Bearer x"+user.AccountToken))
	keep(ask(t, "GET", h.AdminURL()+"/metrics", operator...))
	keep(ask(t, "GET", h.AdminURL()+"/admin/users", operator...))
	keep(ask(t, "GET", h.AdminURL()+"/admin/nothing", operator...))
	if _, err := h.Engine().Snapshot(); err != nil {
		t.Fatal(err)
	}
	h.Close()

	places := map[string][]byte{"the log": []byte(log.String()), "the answers": said.Bytes()}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "master.key" {
			return err
		}
		b, err := os.ReadFile(path)
		places[path] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := func(raw []byte) (where []string) {
		for name, b := range places {
			for _, form := range [][]byte{
				raw, []byte(hex.EncodeToString(raw)), []byte(strings.ToUpper(hex.EncodeToString(raw))), []byte(base64.RawStdEncoding.EncodeToString(raw)), []byte(base64.RawURLEncoding.EncodeToString(raw)),
			} {
				if bytes.Contains(b, form) {
					where = append(where, name)
				}
			}
		}
		return where
	}
	if len(found([]byte(key.APIKey))) == 0 {
		t.Error("the search finds not even the public key")
	}
	for name, raw := range map[string][]byte{
		"the secret": secret, "the secret's text": []byte(key.Secret), "the account token": []byte(user.AccountToken), "the operator's token": []byte(h.OperatorToken()), "the master key": servertest.MasterKey(t, dir),
	} {
		if where := found(raw); len(where) > 0 {
			t.Errorf("%s is in %v", name, where)
		}
	}
}

func stamp() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }
