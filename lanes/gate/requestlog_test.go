package gate

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"duplex/tools"
)

func TestTraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for value, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                       id,
		"01-" + id + "-00f067aa0ba902b7-00":                       id,
		"ff-" + id + "-00f067aa0ba902b7-01":                       "",
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01":  "",
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":      "",
		"00-" + id + "-00f067aa0ba902b7":                          "",
		"00-" + id + "-00f067aa0ba902b7-01-and more":              "",
		"00-" + strings.Repeat("\n", 32) + "-00f067aa0ba902b7-01": "",
		"": "",
	} {
		if got := traceID(http.Header{"Traceparent": {value}}); got != want {
			t.Errorf("traceID of %q: %q, want %q", value, got, want)
		}
	}
	if got := traceID(http.Header{"Traceparent": {"00-" + id + "-00f067aa0ba902b7-01", "x"}}); got != "" {
		t.Errorf("two headers: %q", got)
	}
}

// TestRequestLog checks the attributes of a request's log line, and that it has no
// credentials.
func TestRequestLog(t *testing.T) {
	var log bytes.Buffer
	g := New(&tools.Venue{Config: tools.DefaultConfig(func() int64 { return 0 })}, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	guard := g.Guard("admin", func(*http.Request, *Call) error { return tools.NewError("unauthorized") }, http.NotFoundHandler())
	r := httptest.NewRequest("GET", "/admin/state?token=hush", nil)
	r.Header.Set("Authorization", "Bearer hush")
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	guard.ServeHTTP(httptest.NewRecorder(), r)
	line := log.String()
	for _, want := range []string{"request_id=", "method=GET", "path=/admin/state ", "status=401", "error_code=unauthorized", "cause=token", "trace_id=4bf92f3577b34da6a3ce929d0e0e4736", "duration="} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if strings.Contains(line, "hush") {
		t.Error(line)
	}
}
