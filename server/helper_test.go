package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"duplex/core/engine"
	"duplex/server"
	"duplex/server/servertest"
)

const operatorToken = "t"

// startError returns the error with which a live venue does not start; nil if it starts.
func startError(t *testing.T, data string, change func(*server.Options)) error {
	t.Helper()
	v, err := server.Open(t.Context(), servertest.LiveOptions(data, change))
	if err == nil {
		if err := v.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

// request sends a request and returns status, header and body.
func request(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// askOperator sends a request with the operator's token and returns the body.
func askOperator(t *testing.T, v *servertest.Venue, method, path, body string) string {
	t.Helper()
	status, _, got := request(t, method, v.AdminURL()+path, body, "Authorization", "Bearer "+v.OperatorToken(), "Content-Type", "application/json")
	if status != http.StatusOK {
		t.Fatalf("%s %s as the operator: %d %s, want 200", method, path, status, got)
	}
	return got
}

// waitState waits until a member has a state.
func waitState(t *testing.T, e *engine.Engine, want engine.State) {
	t.Helper()
	var s engine.Status
	var ok bool
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s, ok = e.MemberStatus(); ok && s.State == want {
			return
		}
	}
	t.Fatalf("the member is %v, not %v", s.State, want)
}

// eventually waits until ok holds, for at most three minutes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within three minutes", what)
		}
	}
}
