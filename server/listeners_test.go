package server_test

import (
	"strings"
	"testing"

	"duplex/server/servertest"
)

// TestConnectionsAreCounted checks the metrics of each listener's connections
// (docs/rules/limits.md#connections).
func TestConnectionsAreCounted(t *testing.T) {
	v := servertest.New(t)
	page := askOperator(t, v, "GET", "/metrics", "")
	for _, want := range []string{
		`duplex_connections{listener="admin"} 1`, `duplex_connections{listener="api"} 0`, `duplex_connections{listener="portal"} 0`,
		`duplex_connections_rejected_total{listener="api"} 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no %s in the metrics", want)
		}
	}
}
