package mcp

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"duplex/lanes/lanetest"
)

// twice sends the same bytes two times, and gives both answers.
func (d *desk) twice(k lanetest.Key, body string) (answers [2]string) {
	d.T.Helper()
	signed := d.Request(k, "POST", Path, []byte(body))
	signed.Header.Set("MCP-Protocol-Version", legacy)
	for i := range answers {
		r := signed.Clone(d.T.Context())
		r.Body = io.NopCloser(bytes.NewReader([]byte(body)))
		var status int
		if status, _, answers[i] = d.Send(r); status != http.StatusOK {
			d.T.Fatalf("%d %s", status, answers[i])
		}
	}
	return answers
}

// An exact repeat of a call that was refused has the same answer, its lesson too; also
// where each signature is good once, and the repeat is not even read.
func TestRepeatOfARefusedCall(t *testing.T) {
	for _, guard := range []bool{false, true} {
		d := open(t)
		d.Gate.ReplayGuard = guard
		d.use(d.alice, "place_order", order(1, ""))
		for _, call := range []string{
			`"name":"decrease_order","arguments":{"order_id":"999999","reduce_to":1}`,
			`"name":"decrease_order","arguments":{"order_id":"1","reduce_by":0}`,
			`"name":"redeem_pairs","arguments":{"market_id":1,"qty":1}`,
			`"name":"redeem_pairs","arguments":{"market_id":1,"qty":1,"more":1}`,
		} {
			got := d.twice(d.alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+call+`}}`)
			if got[0] != got[1] {
				t.Errorf("guard %t: %s is answered\n\t%s, then\n\t%s", guard, call, got[0], got[1])
			}
		}
	}
}
