package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/gate"
)

// changed returns a function that makes a simulation replace the first occurrence of old by
// new, in the first answer for which where is true.
func changed(where func(*request, *reply) bool, old, new string) func(*simGate) {
	return func(d *simGate) {
		done := false
		d.tamperReply = func(q *request, r *reply) {
			if done || !where(q, r) || !bytes.Contains(r.body, []byte(old)) {
				return
			}
			done = true
			r.body = bytes.Replace(r.body, []byte(old), []byte(new), 1)
		}
	}
}

func placed(q *request, r *reply) bool {
	return q.operation.tool == "place_order" && !q.tool && r.status == 201 && q.fault == noFault
}

func reads(tool string) func(*request, *reply) bool {
	return func(q *request, r *reply) bool { return q.operation.tool == tool && !q.tool && r.status == 200 }
}

// TestCheckFindsWrongAnswers checks that the simulation detects wrong answers and a gate that accepts
// what it must reject.
func TestCheckFindsWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		name string
		tune func(*simGate)
		want string
	}{
		{"an extra fill", changed(placed, `"filled_qty":0`, `"filled_qty":1`), "none of those in the log"},
		{"another seq", changed(placed, `"seq":"`, `"seq":"1`), "none of those in the log"},
		{"a larger order replaced", changed(func(q *request, r *reply) bool {
			return q.operation.tool == "replace_order" && !q.tool && r.status == 201 && q.fault == noFault
		}, `"canceled_qty":`, `"canceled_qty":1`), "none of those in the log"},
		{"an extra member", changed(placed, `{`, `{"more":0,`), "none of those in the log"},
		{"a name twice", changed(placed, `{`, `{"status":"resting",`), "invalid JSON or a repeated name"},
		{"shed, but executed", func(d *simGate) {
			done := false
			d.tamperReply = func(q *request, r *reply) {
				if !done && placed(q, r) && q.first == nil {
					done = true
					r.status, r.body = 503, encode(object{"error": refusal("shed", nil)})
				}
			}
		}, "answered 0, not executed"},
		{"accepted, but not executed", func(d *simGate) {
			d.tamperReply = func(q *request, r *reply) {
				if q.operation.tool == "place_order" && !q.tool && r.status == 503 && bytes.Contains(r.body, []byte(`"shed"`)) {
					r.status, r.body = 201, encode(object{"order_id": "7", "seq": "7", "status": "resting"})
				}
			}
		}, "none of those in the log"},
		{"two answers for one command", func(d *simGate) {
			var first []byte
			d.tamperReply = func(q *request, r *reply) {
				switch {
				case q.operation.tool != "cancel_order" || q.tool:
				case first == nil && r.status == 200:
					first = r.body
				case first != nil && r.status == 200:
					r.body = first
				}
			}
		}, "none of those in the log"},
		{"a wrong error number", changed(func(q *request, r *reply) bool { return r.status == 409 }, `"num":259`, `"num":258`), "the error is"},
		{"a wrong status", func(d *simGate) {
			d.tamperReply = func(q *request, r *reply) {
				if r.status == 409 {
					r.status = 400
				}
			}
		}, "with status 400"},
		{"a text that differs from the content", changed(func(q *request, r *reply) bool { return q.tool }, `\"filled_qty\":0`, `\"filled_qty\":1`), "the text differs from the structured content"},
		{"a wrong balance", changed(reads("get_balance"), `"cash":"`, `"cash":"1`), "get_balance"},
		{"a wrong as_of_seq", changed(reads("get_orderbook"), `"as_of_seq":"`, `"as_of_seq":"1`), "get_orderbook"},
		{"a wrong order status", changed(reads("list_orders"), `"status":"resting"`, `"status":"canceled"`), "list_orders"},
		{"a signature outside the window", func(d *simGate) {
			d.tamperGate = func(g *gate.Gate) { g.Venue.Config.Now = func() int64 { return d.Now() + 20*core.NsPerSec } }
		}, "unauthorized"},
		{"a replay that is accepted", func(d *simGate) {
			d.replayGuard = true
			d.tamperGate = func(g *gate.Gate) { g.ReplayGuard = false }
		}, `want code "unauthorized"`},
		{"a bucket that is too large", func(d *simGate) {
			d.lowLimits = true
			d.tamperGate = func(g *gate.Gate) { g.Venue.Config.WriteFloor = 1000 }
		}, `rate_limited`}, // a missing rejection, or one with another wait
		{"a bucket of an account that is too large", func(d *simGate) {
			d.lowLimits, d.replayGuard, d.accountRate = true, false, d.floor
			d.tamperGate = func(g *gate.Gate) { g.Venue.Config.AccountRate = 1000 }
		}, `want code "rate_limited"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			for seed := uint64(1); err == nil && seed <= 40; seed++ {
				_, _, err = run(t, seed, 120, nil, c.tune)
			}
			if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("detected %v, want %q", err, c.want)
			}
		})
	}
}
