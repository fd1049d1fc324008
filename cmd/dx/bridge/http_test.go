package bridge

import (
	"net/http"
	"testing"
	"time"
)

// TestTimeout tests that the bridge waits for an answer for as long as DX_TIMEOUT says.
func TestTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": responseHeaderTimeout, "86400": 24 * time.Hour} {
		t.Setenv("DX_TIMEOUT", value)
		if got := NewHTTPClient().Transport.(*http.Transport).ResponseHeaderTimeout; got != want {
			t.Errorf("DX_TIMEOUT=%q: %v, want %v", value, got, want)
		}
	}
}
