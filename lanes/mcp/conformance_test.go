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

// With DX_CONFORMANCE=FILE this serves the lane with the fixtures of the protocol's
// conformance suites until it is interrupted, and writes into FILE, in the form of
// a dev file, where it is and with which key; its first line says that it is there
// (.ci/conformance).
func TestConformanceFixtures(t *testing.T) {
	file := os.Getenv("DX_CONFORMANCE")
	if file == "" {
		t.Skip("serves until interrupted, and only where DX_CONFORMANCE names a file")
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	h := lanetest.New(t)
	h.Skip(max(0, time.Duration(time.Now().UnixNano()-h.Now()))) // those who sign live in the present
	l := Mount(h.Routes, h.Gate, "conformance")
	t.Cleanup(l.Close)
	mountFixtures(l)
	h.Serve()
	k := h.Key(1, everyone)
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
	<-told
}

// An answer that was told something ahead is a stream, with the answer last; without
// it is what it always is.
func TestToldAheadOfTheAnswer(t *testing.T) {
	d := open(t)
	mountTools(d.lane)
	status, head, body := d.progress(`"progressToken":"p"`)
	events := eventsOf(body)
	if status != 200 || head.Get("Content-Type") != "text/event-stream" || len(events) != 4 {
		t.Fatalf("%d %s", status, body)
	}
	for i, done := range []float64{0, 50, 100} {
		if e := events[i]; at(t, e, "method") != "notifications/progress" || at(t, e, "params", "progress") != done || at(t, e, "params", "progressToken") != "p" {
			t.Errorf("event %d: %s", i, e)
		}
	}
	if last := events[3]; at(t, last, "id") != 7.0 || at(t, last, "result", "resultType") != "complete" {
		t.Errorf("the answer: %s", last)
	}
	if _, head, body := d.progress(`"x":1`); head.Get("Content-Type") != "application/json" || at(t, body, "id") != 7.0 {
		t.Errorf("nobody asked for progress: %s", body)
	}
}

// A refusal after something was told is an event as well: the status has gone out.
func TestToldAheadOfARefusal(t *testing.T) {
	d := open(t)
	d.lane.methods["tools/call"] = method{answer: func(_ *Lane, c *call) (jsontext.Value, *protocolFault) {
		c.events.notify("notifications/progress", struct{}{})
		return nil, badParams("for the test")
	}}
	status, _, body := d.progress(`"x":1`)
	events := eventsOf(body)
	if status != 200 || len(events) != 2 || at(t, events[1], "error", "code") != -32602.0 || at(t, events[1], "id") != 7.0 {
		t.Errorf("%d %s", status, body)
	}
}

// progress calls the fixture that tells of its progress, with a member more in _meta.
func (d *desk) progress(meta string) (int, http.Header, string) {
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
