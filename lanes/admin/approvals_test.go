package admin

import (
	"fmt"
	"path"
	"strconv"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
)

// pending is the response of an action that waits for a second operator.
const pending = `^\{"approval_id":"\d+","status":"pending","expires_ts":"\d+"\}$`

// request sends an action of an operator that needs a second one, and returns the approval_id.
func (d *testOperator) request(token, target, body string) string {
	d.T.Helper()
	var made struct {
		ApprovalID string `json:"approval_id"`
	}
	status, _, got := d.send("POST", target, body, bearer(token))
	if d.read(got, &made); status != 202 || made.ApprovalID == "" {
		d.T.Fatalf("POST %s: %d %s, want 202 and an approval_id", target, status, got)
	}
	return "/admin/approvals/" + made.ApprovalID
}

func (d *testOperator) cash(u core.UserID) (cash core.Pips) {
	d.Engine.Read(func(v *venue.Venue, _ *view.View) { cash, _ = v.Balance(u) })
	return cash
}

func TestFourEyesDeposits(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	ann, bob, sue := d.add("ann", "treasurer"), d.add("bob", "treasurer"), d.add("sue", "support")
	const path = "/admin/users/1/deposits"
	d.as(ann,
		want{"POST", path, `{"deposit_id":"small","amount":"10000"}`, 201, `"amount":"10000"`},
		want{"POST", path, `{"deposit_id":"big","amount":"10001","reason":"bank"}`, 202, pending},
		want{"POST", path, `{"deposit_id":"big","amount":"10002"}`, 409, code("duplicate_deposit_id")},
		want{"POST", "/admin/users/9/deposits", `{"deposit_id":"other","amount":"10001"}`, 404, code("unknown_user")},
	)
	approval := d.request(ann, path, `{"deposit_id":"big","amount":"10001"}`) // a repeat is the same request
	if got := d.cash(1); got != lanetest.InitialCash+10_000 {
		t.Errorf("cash %d before the approval", got)
	}
	d.as(bob, want{"GET", "/admin/approvals", "", 200, `^\{"approvals":\[\{"approval_id":"\d+","status":"pending","action":"deposit","requested_by":"ann","reason":"bank","requested_ts":"\d+","expires_ts":"\d+","user_id":1,"deposit_id":"big","amount":"10001"\}\],"cursor":"","as_of_seq":"\d+"\}$`})
	d.as(ann, want{"POST", approval + "/approve", "", 403, code("self_approval")}, want{"POST", approval + "/reject", "", 403, code("self_approval")})
	d.as(sue, want{"POST", approval + "/approve", "", 403, code("missing_scope")})
	d.as(bob,
		want{"POST", "/admin/approvals/1/approve", "", 404, code("unknown_approval")},
		want{"POST", "/admin/approvals/x/approve", "", 404, code("unknown_approval")},
		want{"POST", approval + "/approve", `{"reason":"seen"}`, 200, `"status":"approved",.*"decided_by":"bob","decided_ts":"\d+"`},
		want{"POST", approval + "/approve", "", 200, `"status":"approved"`}, // again changes nothing
		want{"POST", approval + "/reject", "", 409, code("invalid_transition")},
		want{"GET", "/admin/approvals?status=pending", "", 200, `"approvals":\[\]`},
		want{"GET", "/admin/approvals?status=approved", "", 200, `"decided_by":"bob"`},
		want{"GET", "/admin/audit?who=bob&action=approve", "", 200, `"why":"seen","action":"approve","user_id":1,"detail":\{"action":"deposit","amount":"10001","approval_id":"\d+","deposit_id":"big"\}\}`},
	)
	if got := d.cash(1); got != lanetest.InitialCash+20_001 {
		t.Errorf("cash %d", got)
	}
	d.as(ann,
		want{"POST", path, `{"deposit_id":"big","amount":"10001"}`, 201, `"deposit_id":"big","amount":"10001"`}, // booked: no request
		want{"POST", path, `{"deposit_id":"big","amount":"10002"}`, 409, code("duplicate_deposit_id")},
	)
	refused := d.request(bob, path, `{"deposit_id":"refused","amount":"20000"}`)
	d.as(ann, want{"POST", refused + "/reject", "", 200, `"status":"rejected"`}, want{"POST", refused + "/approve", "", 409, code("invalid_transition")})
	late := d.request(bob, path, `{"deposit_id":"late","amount":"20000"}`)
	d.AdvanceClock(24 * time.Hour)
	d.as(ann, want{"POST", late + "/approve", "", 404, code("unknown_approval")}, want{"GET", "/admin/approvals", "", 200, `"approvals":\[\]`})
	if got := d.cash(1); got != lanetest.InitialCash+20_001 {
		t.Errorf("cash %d", got)
	}
}

// TestApprovedOnce checks that concurrent approvals of several operators execute an action once.
func TestApprovedOnce(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	var others []string
	for i := range 8 {
		others = append(others, d.add(fmt.Sprint("op", i), "treasurer"))
	}
	approval := d.request(token, "/admin/users/1/deposits", `{"deposit_id":"big","amount":"50000"}`)
	var all sync.WaitGroup
	for _, other := range others {
		all.Go(func() { d.as(other, want{"POST", approval + "/approve", "", 200, `"status":"approved"`}) })
	}
	all.Wait()
	if got := d.cash(1); got != lanetest.InitialCash+50_000 {
		t.Errorf("cash %d", got)
	}
}

func TestFourEyesWithdrawals(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	ann, bob := d.add("ann", "treasurer"), d.add("bob", "treasurer")
	ask := func(id string, amount core.Pips) string {
		return fmt.Sprintf("/admin/withdrawals/%d", d.Server.Submit(&core.RequestWithdrawal{User: 1, ClientID: id, Amount: amount, Destination: "home"}).Stamp.Seq)
	}
	small, big, gone := ask("small", 10_000), ask("big", 10_001), ask("gone", 20_000)
	d.as(ann,
		want{"POST", small + "/complete", "", 200, `"status":"completed"`},
		want{"POST", big + "/complete", "", 202, pending},
		want{"POST", "/admin/withdrawals/1/complete", "", 404, code("unknown_withdrawal")},
	)
	approval, lost := d.request(ann, big+"/complete", ""), d.request(ann, gone+"/complete", "")
	d.as(bob,
		want{"GET", "/admin/approvals", "", 200, `"action":"complete_withdrawal",.*"user_id":1,"amount":"10001","withdrawal_id":"\d+","destination":"home"`},
		want{"POST", approval + "/approve", "", 200, `"status":"approved"`},
		want{"POST", big + "/complete", "", 200, `"status":"completed"`}, // done: no request
		want{"POST", gone + "/reject", "", 200, `"status":"rejected"`},   // a rejection needs no second operator
		want{"POST", lost + "/approve", "", 409, code("invalid_transition")},
		want{"GET", "/admin/approvals?status=pending", "", 200, `"approvals":\[\{`}, // judged again: it stays
		want{"GET", "/admin/state", "", 200, `"withdrawals":"20001"\}$`},
	)
	for _, action := range []string{"complete_withdrawal", "request_approval", "approve", "reject_withdrawal"} {
		d.as(bob, want{"GET", "/admin/audit?user_id=1&action=" + action, "", 200, `"action":"` + action + `","user_id":1,`})
	}
}

// TestFourEyesMarkets checks that an approval is for the round that the request was about.
func TestFourEyesMarkets(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	ann, tom := d.add("ann", "admin"), d.add("tom", "treasurer")
	d.runCases([]want{
		{"POST", "/admin/markets/1/pause", "", 200, `"paused":true`}, // needs no second operator
		{"POST", "/admin/markets/1/resume", "", 200, `"paused":false`},
		{"POST", "/admin/markets/1/propose", `{"settle_price":"5"}`, 409, code("invalid_transition")},
		{"POST", "/admin/markets/31/void", "", 404, code("unknown_market")},
	})
	void2, void1 := d.request(token, "/admin/markets/2/void", ""), d.request(token, "/admin/markets/1/void", "")
	d.as(tom, want{"POST", void2 + "/approve", "", 403, code("missing_scope")})
	d.as(ann,
		want{"GET", "/admin/approvals", "", 200, `"action":"void_market","requested_by":"operator",.*"market_id":2,"round_number":"2"\}`},
		want{"POST", void2 + "/approve", "", 200, `"status":"approved"`},
		want{"POST", "/admin/markets/2/void", "", 409, code("invalid_transition")},
	)
	d.advance(time.Minute, d.status(1, core.Frozen))
	price := d.request(ann, "/admin/markets/1/propose", `{"settle_price":"6600000000000"}`)
	d.runCases([]want{
		{"GET", "/admin/approvals?status=pending", "", 200, `"action":"propose_price".*"market_id":1,"round_number":"1","settle_price":"6600000000000"`},
		{"POST", price + "/approve", "", 200, `"status":"approved"`},
	})
	d.advance(10*time.Second, d.status(1, core.Settled))
	d.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, _ := v.Market(1); s.Winner != core.Yes || !s.ByOperator {
			t.Errorf("the round after the approved price: %+v, want yes, by an operator", s.Round)
		}
	})
	d.as(ann, want{"POST", void1 + "/approve", "", 409, code("invalid_transition")})
}

// TestFourEyesTicks checks that a price by hand needs a second operator where prices have sources.
func TestFourEyesTicks(t *testing.T) {
	const tick = `{"feed":0,"source":"desk","price":"6600000000000"}`
	d := newTestOperator(t, fourEyes)
	d.runCases([]want{{"POST", "/admin/oracle/ticks", tick, 200, `"indexed":true`}})

	d = newTestOperator(t, func(o *Options) { fourEyes(o); o.Oracle = "live" })
	ann := d.add("ann", "admin")
	approval := d.request(token, "/admin/oracle/ticks", tick)
	d.as(ann,
		want{"GET", "/admin/approvals", "", 200, `"action":"post_tick",.*"feed":0,"source":"desk","price":"6600000000000"`},
		want{"POST", approval + "/approve", "", 200, `"status":"approved"`},
		want{"POST", approval + "/approve", "", 200, `"status":"approved"`},
		want{"GET", "/admin/audit?action=post_tick", "", 200, `^\{"actions":\[\{[^}]*"who":"ann",[^}]*\}\}\],`},
	)
	d.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if x, _, _, _ := v.Index(core.BTC); x.Price != 6_600_000_000_000 || !x.Manual {
			t.Errorf("the index after the approved tick: %+v, want 6600000000000 by hand", x)
		}
	})
}

// TestApprovedTickIsPostedByARepeat checks that a repeat of an approval posts the price if the venue ended
// between the approval and the post, once, and not after a minute.
func TestApprovedTickIsPostedByARepeat(t *testing.T) {
	const tick, posted = `{"feed":0,"source":"desk","price":"6600000000000"}`, `"who":"ann","why":"approval `
	for _, late := range []bool{false, true} {
		d := newTestOperator(t, func(o *Options) { fourEyes(o); o.Oracle = "live" })
		ann := d.add("ann", "admin")
		approval := d.request(token, "/admin/oracle/ticks", tick)
		id, err := strconv.ParseUint(path.Base(approval), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		d.Server.Submit(&core.DecideApproval{
			Approval: id, Approve: true, Audit: core.Audit{Who: "ann"},
			Action: core.ApprovalAction{Kind: core.ApproveTick, Feed: core.BTC, Source: "desk", Price: 6_600_000_000_000},
		})
		if late {
			d.AdvanceClock(2 * time.Minute)
			d.as(ann, want{"POST", approval + "/approve", "", 409, code("invalid_transition")}, want{"GET", "/admin/audit?action=post_tick", "", 200, `"actions":\[\]`})
			continue
		}
		d.as(ann,
			want{"POST", approval + "/approve", `{"reason":"seen"}`, 200, `"status":"approved"`},
			want{"GET", "/admin/audit?action=post_tick", "", 200, posted},
			want{"POST", approval + "/approve", "", 200, `"status":"approved"`},
			want{"GET", "/admin/audit?action=post_tick", "", 200, `^\{"actions":\[\{[^}]*` + posted + `[^}]*: seen"[^}]*\}\}\],`},
		)
		d.AdvanceClock(2 * time.Minute)
		d.as(ann, want{"POST", approval + "/approve", "", 200, `"status":"approved"`}) // posted: again changes nothing
	}
}

// TestNewOperatorDoesNotApprove checks that an operator who was added after a request cannot approve it, so
// that an admin gets no second person by adding one.
func TestNewOperatorDoesNotApprove(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	ann, bob := d.add("ann", "admin"), d.add("bob", "admin")
	approval := d.request(ann, "/admin/users/1/deposits", `{"deposit_id":"big","amount":"50000"}`)
	eve := d.add("eve", "admin")
	d.as(eve, want{"POST", approval + "/approve", "", 403, code("self_approval")})
	if got := d.cash(1); got != lanetest.InitialCash {
		t.Errorf("cash %d", got)
	}
	d.as(ann, want{"DELETE", "/admin/operators/bob", "", 200, ""})
	again := d.add("bob", "admin") // a name that is added again is a new operator
	d.as(again, want{"POST", approval + "/approve", "", 403, code("self_approval")})
	d.as(bob, want{"POST", approval + "/approve", "", 401, code("unauthorized")})
	d.as(eve, want{"POST", approval + "/reject", "", 200, `"status":"rejected"`})
	approval = d.request(ann, "/admin/users/1/deposits", `{"deposit_id":"big","amount":"50000"}`)
	d.as(eve, want{"POST", approval + "/approve", "", 200, `"status":"approved"`})
}
