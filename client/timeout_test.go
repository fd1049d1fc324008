package client

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTimeoutVectors checks the values of DX_TIMEOUT that the clients take.
func TestTimeoutVectors(t *testing.T) {
	b, err := os.ReadFile("../schemas/vectors/timeouts.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Value string
		Ms    *int64
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 10 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		t.Setenv("DX_TIMEOUT", c.Value)
		_, err := New("http://127.0.0.1:1", "k", nil)
		if (err == nil) != (c.Ms != nil) || err != nil && !strings.Contains(err.Error(), "DX_TIMEOUT") {
			t.Errorf("DX_TIMEOUT=%s: %v", c.Value, err)
		}
		if got := Timeout(0); c.Ms != nil && got.Milliseconds() != *c.Ms {
			t.Errorf("DX_TIMEOUT=%s is %v, want %d ms", c.Value, got, *c.Ms)
		}
	}
}

// TestTimeout tests that DX_TIMEOUT replaces the time that a request may take.
func TestTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": responseTimeout, "86400": 24 * time.Hour, "1": time.Second, "1.5": 1500 * time.Millisecond} {
		t.Setenv("DX_TIMEOUT", value)
		if got := Must(New("http://127.0.0.1:1", "k", nil)).http.Timeout; got != want {
			t.Errorf("DX_TIMEOUT=%s: %v, want %v", value, got, want)
		}
	}
	own := &http.Client{Timeout: time.Minute}
	if got := Must(New("http://127.0.0.1:1", "k", nil, WithHTTPClient(own))).http.Timeout; got != time.Minute {
		t.Errorf("a client of the caller has %v", got)
	}
}
