package gate_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
)

// TestFailedSignaturesSlowDown checks that wrong signatures for a key are limited by the key, known or not,
// that nobody can lock out its owner with them, and that other keys are not limited.
func TestFailedSignaturesSlowDown(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.ServeInMemory()
	h.FreezeClock()
	known, other := h.NewKey(1, core.ScopeRead), h.NewKey(1, core.ScopeRead)
	unknown := known
	unknown.ID, _, _ = h.Gate.Vault.NewKey()
	fail := func(k lanetest.Key) (int, http.Header, string) {
		r := h.SignedRequest(k, "GET", target, nil)
		r.Header.Set("DX-ACCESS-SIGNATURE", "AAAA")
		return h.Send(r)
	}
	for _, k := range []lanetest.Key{known, unknown} {
		for i := range gate.SignatureFailureBurst {
			if status, _, body := fail(k); status != 401 {
				t.Fatalf("failure %d: %d %s", i, status, body)
			}
		}
		if status, _, body := fail(k); status != 429 || !strings.Contains(body, `"retry_after_ms":"100"`) {
			t.Errorf("one failure more: %d %s", status, body)
		}
	}
	for _, k := range []lanetest.Key{known, other} {
		if status, body := h.Call(k, "GET", target, ""); status != 200 {
			t.Errorf("a valid signature: %d %s", status, body)
		}
	}
	if status, _, body := fail(other); status != 401 {
		t.Errorf("another key: %d %s", status, body)
	}
	h.AdvanceClock(100 * time.Millisecond)
	if a, _, _ := fail(known); a != 401 {
		t.Errorf("after 100 ms: %d", a)
	}
	if b, _, _ := fail(known); b != 429 {
		t.Errorf("after 100 ms, the second: %d", b)
	}
}
