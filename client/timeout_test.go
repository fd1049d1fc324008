package client

import (
	"net/http"
	"testing"
	"time"
)

// TestTimeout tests that DX_TIMEOUT replaces the time that a request may take, and that what is no such time
// does not.
func TestTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": responseTimeout, "86400": 24 * time.Hour, "1": time.Second, "0": responseTimeout, "-1": responseTimeout, "1.5": responseTimeout, "60s": responseTimeout, "1000001": responseTimeout} {
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
