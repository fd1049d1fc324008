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

func TestTraceOf(t *testing.T) {
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
		if got := traceOf(http.Header{"Traceparent": {value}}); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
	if got := traceOf(http.Header{"Traceparent": {"00-" + id + "-00f067aa0ba902b7-01", "x"}}); got != "" {
		t.Errorf("two: %q", got)
	}
}

// The log of a request has what finds it again, and nothing of its credentials.
func TestRequestLog(t *testing.T) {
	var log bytes.Buffer
	g := New(&tools.Venue{Terms: tools.DefaultTerms(func() int64 { return 0 })}, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	guard := g.Guard("admin", func(*http.Request, *Call) error { return tools.Refuse("unauthorized") }, http.NotFoundHandler())
	r := httptest.NewRequest("GET", "/admin/state?token=hush", nil)
	r.Header.Set("Authorization", "Bearer hush")
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	guard.ServeHTTP(httptest.NewRecorder(), r)
	line := log.String()
	for _, want := range []string{"request_id=", "method=GET", "path=/admin/state ", "status=401", "code=unauthorized", "trace=4bf92f3577b34da6a3ce929d0e0e4736", "took="} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if strings.Contains(line, "hush") {
		t.Error(line)
	}
}
