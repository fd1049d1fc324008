package mcp

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"duplex/lanes/lanetest"
)

// twice sends the same bytes two times and returns both responses.
func (d *testVenue) twice(k lanetest.Key, body string) (answers [2]string) {
	d.T.Helper()
	d.FreezeClock() // the signature does not grow old
	signed := d.SignedRequest(k, "POST", Path, []byte(body))
	signed.Header.Set("MCP-Protocol-Version", legacy)
	for i := range answers {
		r := signed.Clone(d.T.Context())
		r.Body = io.NopCloser(bytes.NewReader([]byte(body)))
		var status int
		if status, _, answers[i] = d.Send(r); status != http.StatusOK {
			d.T.Fatalf("send %d of the same bytes: %d %s, want 200", i+1, status, answers[i])
		}
	}
	return answers
}

// TestRepeatOfARejectedCall tests that an exact repeat of a rejected call gets the same
// response with the same hints, also with the replay guard, which does not decode it.
func TestRepeatOfARejectedCall(t *testing.T) {
	t.Parallel()
	for _, guard := range []bool{false, true} {
		d := newTestVenue(t)
		d.Gate.ReplayGuard = guard
		d.callTool(d.alice, "place_order", order(1, ""))
		for _, call := range []string{
			`"name":"decrease_order","arguments":{"order_id":"999999","reduce_to":1}`,
			`"name":"decrease_order","arguments":{"order_id":"1","reduce_by":0}`,
			`"name":"redeem_pairs","arguments":{"market_id":1,"qty":1}`,
			`"name":"submit_forecast","arguments":{"market_id":1,"generation":1,"p":6200}`,
			`"name":"redeem_pairs","arguments":{"market_id":1,"qty":1,"more":1}`,
		} {
			got := d.twice(d.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+call+`}}`)
			if got[0] != got[1] {
				t.Errorf("guard %t: %s: first response\n\t%s, then\n\t%s", guard, call, got[0], got[1])
			}
		}
	}
}
