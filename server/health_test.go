package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// TestHealthOfTheAPI checks what the API listener says without a signature, and that it says no more.
func TestHealthOfTheAPI(t *testing.T) {
	v := servertest.New(t)
	for _, x := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/livez", 200, `{"status":"ok","phase":"serving"}`},
		{"GET", "/readyz", 200, `{"status":"ok","phase":"serving"}`},
		{"GET", "/readyz?x=1", 200, `{"status":"ok","phase":"serving"}`},
		{"HEAD", "/readyz", 200, ""},
		{"POST", "/readyz", 401, ""},
		{"GET", "/readyz/", 401, ""},
		{"GET", "/readyzx", 401, ""},
		{"GET", "/metrics", 401, ""},
	} {
		status, header, body := request(t, x.method, v.APIURL()+x.path, "")
		if status != x.status || x.body != "" && strings.TrimSpace(body) != x.body || header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %d %q, want %d %q", x.method, x.path, status, body, x.status, x.body)
		}
	}
}

// TestDrainWait checks what a venue does between the beginning of its stop and the end of its drain: readiness fails,
// writes are draining, reads go on, sockets get a notice, and every response ends its connection.
func TestDrainWait(t *testing.T) {
	const wait = 2 * time.Second
	v := servertest.New(t, func(o *server.Options) { o.DrainWait = wait })
	c := v.Client("alice", client.MaxAttempts(1))
	notices := make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open, stream := make(chan struct{}), make(chan error, 1)
	s := c.Stream(client.StreamOptions{Channels: []string{"user"}, OnEvent: func(e client.StreamEvent) {
		var msg struct {
			CloseTs int64 `json:"close_ts,string"`
		}
		if e.Type == "draining" && json.Unmarshal(e.Msg, &msg) == nil {
			notices <- time.Unix(0, msg.CloseTs)
		}
		if e.Type == "user_snapshot" {
			close(open)
		}
	}})
	go func() { stream <- s.Run(ctx) }()
	<-open
	for _, url := range []string{v.APIURL() + "/livez", v.PortalURL() + "/venue.json"} {
		if !keepsConnection(t, url) {
			t.Errorf("%s does not keep its connection", url)
		}
	}
	clock := func() time.Time { return v.Gate().Venue.Config.Wall().Time() }
	begun, now := time.Now(), clock()
	closed := make(chan struct{})
	go func() {
		v.Close()
		close(closed)
	}()
	for phase := ""; phase != "draining"; {
		var body struct{ Status, Phase string }
		status, _, text := request(t, "GET", v.APIURL()+"/readyz", "")
		if err := json.Unmarshal([]byte(text), &body); err != nil || status == http.StatusOK != (body.Status == "ok") {
			t.Fatal(status, text, err)
		}
		phase = body.Phase
	}
	if status, _, _ := request(t, "GET", v.APIURL()+"/livez", ""); status != 200 {
		t.Errorf("/livez while it drains: %d", status)
	}
	for _, url := range []string{v.APIURL() + "/livez", v.PortalURL() + "/venue.json"} {
		if keepsConnection(t, url) {
			t.Errorf("%s keeps its connection while it drains", url)
		}
	}
	if _, err := c.Balance(ctx); err != nil {
		t.Errorf("a read while it drains: %v", err)
	}
	if _, err := c.CancelAll(ctx, schemas.CancelAll{}); err == nil || !strings.Contains(err.Error(), "draining") {
		t.Errorf("a write while it drains: %v, want draining", err)
	}
	select {
	case at := <-notices:
		if sent := at.Add(-wait); sent.Before(now) || sent.After(clock()) {
			t.Errorf("the socket is closed at %s, it says, %s after the venue began to drain", at, at.Sub(now))
		}
	case <-closed:
		t.Error("the socket got no notice")
	}
	<-closed
	cancel()
	<-stream
	if took := time.Since(begun); took < wait {
		t.Errorf("it stopped after %s, want at least %s", took, wait)
	}
}

// keepsConnection reports whether the connection of a GET can be used again.
func keepsConnection(t *testing.T, url string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return !resp.Close
}
