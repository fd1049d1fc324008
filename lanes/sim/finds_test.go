package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/gate"
)

// changed replaces the first such text in an answer, once, where the test says so.
func changed(where func(*request, *reply) bool, old, new string) func(*door) {
	return func(d *door) {
		done := false
		d.spoil = func(q *request, r *reply) {
			if done || !where(q, r) || !bytes.Contains(r.body, []byte(old)) {
				return
			}
			done = true
			r.body = bytes.Replace(r.body, []byte(old), []byte(new), 1)
		}
	}
}

func placed(q *request, r *reply) bool {
	return q.form.tool == "place_order" && !q.tool && r.status == 201 && q.fate == whole
}

func reads(tool string) func(*request, *reply) bool {
	return func(q *request, r *reply) bool { return q.form.tool == tool && !q.tool && r.status == 200 }
}

// A venue that lies is found out: in what it answers, in what it says was not done, in
// what it lets in.
func TestTheCheckFinds(t *testing.T) {
	for _, c := range []struct {
		name string
		tune func(*door)
		want string
	}{
		{"a fill too many", changed(placed, `"filled_qty":0`, `"filled_qty":1`), "none of those in the log"},
		{"another seq", changed(placed, `"seq":"`, `"seq":"1`), "none of those in the log"},
		{"a field too many", changed(placed, `{`, `{"more":0,`), "none of those in the log"},
		{"a name twice", changed(placed, `{`, `{"status":"resting",`), "no JSON, or a name twice"},
		{"not done, and yet done", func(d *door) {
			done := false
			d.spoil = func(q *request, r *reply) {
				if !done && placed(q, r) && q.first == nil {
					done = true
					r.status, r.body = 503, encode(obj{"error": refusal("shed", nil)})
				}
			}
		}, "in the log 1 times: sent 1, answered 0, refused 1"},
		{"done, and yet not done", func(d *door) {
			d.spoil = func(q *request, r *reply) {
				if q.form.tool == "place_order" && !q.tool && r.status == 503 && bytes.Contains(r.body, []byte(`"shed"`)) {
					r.status, r.body = 201, encode(obj{"order_id": "7", "seq": "7", "status": "resting"})
				}
			}
		}, "none of those in the log"},
		{"one order told of twice", func(d *door) {
			var first []byte
			d.spoil = func(q *request, r *reply) {
				switch {
				case q.form.tool != "cancel_order" || q.tool:
				case first == nil && r.status == 200:
					first = r.body
				case first != nil && r.status == 200:
					r.body = first
				}
			}
		}, "none of those in the log"},
		{"a wrong number", changed(func(q *request, r *reply) bool { return r.status == 409 }, `"num":259`, `"num":258`), "the error is"},
		{"a wrong status", func(d *door) {
			d.spoil = func(q *request, r *reply) {
				if r.status == 409 {
					r.status = 400
				}
			}
		}, "with status 400"},
		{"text that is not the content", changed(func(q *request, r *reply) bool { return q.tool }, `\"filled_qty\":0`, `\"filled_qty\":1`), "the text is not the structured content"},
		{"money from nowhere", changed(reads("get_balance"), `"cash":"`, `"cash":"1`), "get_balance"},
		{"a read of yesterday", changed(reads("get_orderbook"), `"as_of_seq":"`, `"as_of_seq":"1`), "get_orderbook"},
		{"an order that is gone", changed(reads("list_orders"), `"status":"resting"`, `"status":"canceled"`), "list_orders"},
		{"a signature of another time", func(d *door) {
			d.lie = func(g *gate.Gate) { g.Venue.Terms.Now = func() int64 { return d.Now() + 20*core.NsPerSec } }
		}, "unauthorized"},
		{"bytes that are good twice", func(d *door) {
			d.guard = true
			d.lie = func(g *gate.Gate) { g.ReplayGuard = false }
		}, `the door must say "unauthorized"`},
		{"a bucket without a floor", func(d *door) {
			d.tight = true
			d.lie = func(g *gate.Gate) { g.Venue.Terms.WriteFloor = 1000 }
		}, `the door must say "rate_limited"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			for seed := uint64(1); err == nil && seed <= 12; seed++ {
				_, _, err = run(t, seed, 120, nil, c.tune)
			}
			if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("found %v, not %q", err, c.want)
			}
		})
	}
}
