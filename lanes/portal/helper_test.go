package portal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"duplex/core"
	"duplex/internal/logbuffer"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

// Account tokens of carol (user 3) and dave (user 4).
const (
	carol = "dxa_of-carol"
	dave  = "dxa_of-dave"
)

// testPortal sends requests to the listeners of a venue.
type testPortal struct {
	*lanetest.Server
	url  string
	logs *logbuffer.Buffer
}

// newTestPortal opens the API and the portal; with may change the options.
func newTestPortal(t *testing.T, with func(*Options)) *testPortal {
	v := &testPortal{Server: lanetest.New(t), logs: &logbuffer.Buffer{}}
	v.Gate.Log = slog.New(slog.NewTextHandler(v.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, token := range []string{carol, dave} {
		v.Server.Submit(&core.CreateUser{Name: token[len("dxa_of-"):], TokenHash: sha256.Sum256([]byte(token))})
	}
	lane := rest.Mount(v.Routes, v.Gate, "test")
	v.Serve()
	o := Options{Venue: v.Venue, Gate: v.Gate, OpenAPI: lane.OpenAPI, Changelog: []byte(changes), API: v.URL}
	if with != nil {
		with(&o)
	}
	v.url = v.ServeHandler(New(o), v.Gate.Log)
	return v
}

// request sends a request, with a bearer token unless it is "".
func (v *testPortal) request(token, method, target, body string) (int, http.Header, string) {
	v.T.Helper()
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return v.send(method, target, body, h)
}

func (v *testPortal) send(method, target, body string, h http.Header) (int, http.Header, string) {
	v.T.Helper()
	return v.Request(method, v.url+target, body, h)
}

// wants sends a request and checks status and error code; code may be "". It returns the
// body.
func (v *testPortal) wants(token, method, target, body string, status int, code string) string {
	v.T.Helper()
	got, _, answer := v.request(token, method, target, body)
	if got != status || code != "" && codeOf(answer) != code {
		v.T.Errorf("%s %s %s: %d %s, want %d %s", method, target, body, got, answer, status, code)
	}
	return answer
}

func codeOf(body string) string {
	var e schemas.ErrorBody
	_ = json.Unmarshal([]byte(body), &e) // a response that is not an object has no code
	return e.Error.Code
}

// key creates a key at the portal.
func (v *testPortal) key(token, body string) (lanetest.Key, schemas.NewKey) {
	v.T.Helper()
	return v.keyAt(token, "/keys", body)
}

// keyAt creates a key by a route of the portal.
func (v *testPortal) keyAt(token, target, body string) (lanetest.Key, schemas.NewKey) {
	v.T.Helper()
	var made schemas.NewKey
	v.ask(token, "POST", target, body, 201, &made)
	secret, err := hex.DecodeString(made.Secret)
	if err != nil || len(secret) != schemas.SecretLen {
		v.T.Fatalf("%v in %+v", err, made)
	}
	return lanetest.Key{ID: made.APIKey, Secret: secret}, made
}

func (v *testPortal) keys(token string) schemas.KeyList {
	v.T.Helper()
	var list schemas.KeyList
	answer := v.wants(token, "GET", "/keys", "", 200, "")
	if err := json.Unmarshal([]byte(answer), &list); err != nil || strings.Contains(answer, "secret") || list.Keys == nil {
		v.T.Fatalf("%v in %s", err, answer)
	}
	return list
}
