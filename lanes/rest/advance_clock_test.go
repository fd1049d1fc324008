package rest

import "testing"

// TestAdvanceClockIsForArenas tests that a venue whose clock is the machine's has no route that lets
// time pass (docs/rules/operation.md#venue-time).
func TestAdvanceClockIsForArenas(t *testing.T) {
	h, alice, _ := newServer(t)
	for _, method := range []string{"POST", "GET"} {
		if status, body := h.Call(alice, method, "/v1/arena/advance", map[string]string{"POST": `{"by_ms":1000}`}[method]); status != 404 || code(body) != "not_found" {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
}
