package mcp

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// TestConformanceFixtures serves the lane with the fixtures of the protocol's conformance
// suites until it is interrupted, if DX_CONFORMANCE=FILE is set. It writes its address and
// key to FILE, in the form of a dev file (.ci/conformance).
func TestConformanceFixtures(t *testing.T) {
	file := os.Getenv("DX_CONFORMANCE")
	if file == "" {
		t.Skip("serves until interrupted, and only where DX_CONFORMANCE names a file")
	}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM)
	h := lanetest.New(t)
	h.AdvanceClock(max(0, time.Duration(time.Now().UnixNano()-h.Now()))) // clients sign with the real time
	l := Mount(h.Routes, h.Gate, "conformance")
	t.Cleanup(l.Close)
	mountFixtures(l)
	h.Serve()
	k := h.NewKey(1, everyone)
	b, err := json.Marshal(schemas.DevFile{API: h.URL, MCP: h.URL + Path, Accounts: []schemas.DevAccount{{
		Name: "trader", UserID: uint32(k.User), APIKey: k.ID, Secret: hex.EncodeToString(k.Secret), Scopes: core.Scopes(everyone).Names(),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	fmt.Println(h.URL + Path)
	<-interrupt
}

// TestNotificationBeforeResult tests that a response with notifications is a stream that
// ends with the result, and that one without is plain JSON.
func TestNotificationBeforeResult(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	mountTools(d.lane)
	status, head, body := d.progress(`"progressToken":"p"`)
	events := eventsOf(body)
	if status != 200 || head.Get("Content-Type") != "text/event-stream" || len(events) != 4 {
		t.Fatalf("a call with a progress token: %d %s, want 200 and a stream with four events", status, body)
	}
	for i, done := range []float64{0, 50, 100} {
		if e := events[i]; at(t, e, "method") != "notifications/progress" || at(t, e, "params", "progress") != done || at(t, e, "params", "progressToken") != "p" {
			t.Errorf("event %d: %s", i, e)
		}
	}
	if last := events[3]; at(t, last, "id") != 7.0 || at(t, last, "result", "resultType") != "complete" {
		t.Errorf("the last event: %s", last)
	}
	if _, head, body := d.progress(`"x":1`); head.Get("Content-Type") != "application/json" || at(t, body, "id") != 7.0 {
		t.Errorf("progress without a token: %s", body)
	}
}

// TestNotificationBeforeError tests that an error after a notification is an event too,
// because the status was already sent.
func TestNotificationBeforeError(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.lane.methods["tools/call"] = method{answer: func(_ *Lane, c *call) (jsontext.Value, *protocolFault) {
		c.events.notify("notifications/progress", struct{}{})
		return nil, badParams("for the test")
	}}
	status, _, body := d.progress(`"x":1`)
	events := eventsOf(body)
	if status != 200 || len(events) != 2 || at(t, events[1], "error", "code") != -32602.0 || at(t, events[1], "id") != 7.0 {
		t.Errorf("a call that notifies and then fails: %d %s, want 200, the notification and error -32602 of id 7", status, body)
	}
}

// progress calls the fixture that reports progress, with an additional member in _meta.
func (d *testVenue) progress(meta string) (int, http.Header, string) {
	d.T.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_tool_with_progress",` + strings.TrimSuffix(modernMeta, "}") + `,` + meta + `}}}`
	return d.post(d.alice, body, "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "test_tool_with_progress")
}

func eventsOf(body string) (out []string) {
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}
