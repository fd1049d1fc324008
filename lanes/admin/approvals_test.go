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
	d.as(ann, want{"POST", approval + "/approve", "", 403, code("self_approval")})
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
	const reference = `{"reference":"bank-1"}`
	small, big, gone, back := ask("small", 10_000), ask("big", 10_001), ask("gone", 20_000), ask("back", 20_000)
	d.as(ann,
		want{"POST", small + "/complete", "", 200, `"status":"completed"`},
		want{"POST", big + "/complete", "", 409, code("invalid_transition")}, // one person never takes all steps of a large one
		want{"POST", big + "/send", reference, 409, code("invalid_transition")},
		want{"POST", big + "/approve", "", 202, pending},
		want{"POST", "/admin/withdrawals/1/approve", "", 404, code("unknown_withdrawal")},
	)
	approval := d.request(ann, big+"/approve", "") // the same request
	d.as(ann, want{"POST", approval + "/approve", "", 403, code("self_approval")})
	d.as(bob,
		want{"POST", big + "/reject", "", 409, `"details":\{"approval_id":"\d+","reason":"approval \d+ is open: reject that first","state":"pending"\}`},
		want{"GET", "/admin/approvals", "", 200, `"action":"approve_withdrawal",.*"user_id":1,"amount":"10001","withdrawal_id":"\d+","destination":"home"`},
		want{"POST", approval + "/approve", "", 200, `"status":"approved"`},
		want{"POST", big + "/approve", "", 200, `"status":"pending","state":"approved"`}, // done: no request
		want{"GET", "/admin/audit?who=bob&limit=1", "", 200, `"action":"approve_withdrawal","user_id":1,"detail":\{"amount":"10001","no_change":"true",`},
		want{"POST", big + "/reject", "", 202, pending}, // what two approved, two reject
	)
	d.as(ann, want{"POST", d.request(bob, big+"/reject", "") + "/reject", "", 200, `"status":"rejected"`})
	d.as(ann, want{"POST", big + "/send", reference, 200, `"state":"sent","reference":"bank-1"`}, want{"POST", big + "/fail", "", 202, pending})
	failure := d.request(ann, big+"/fail", "")
	d.as(bob,
		want{"POST", failure + "/approve", "", 200, `"action":"fail_withdrawal"`},
		want{"GET", "/admin/withdrawals?status=rejected", "", 200, `"status":"rejected","state":"failed","reference":"bank-1"`},
		want{"POST", gone + "/reject", "", 200, `"status":"rejected"`}, // a pending one is rejected by one
		want{"POST", gone + "/approve", "", 409, code("invalid_transition")},
	)
	// What no approval could execute any more is dropped.
	d.as(bob, want{"POST", d.request(ann, back+"/approve", "") + "/approve", "", 200, `"status":"approved"`})
	twice := d.request(ann, back+"/reject", "")
	d.as(bob,
		want{"POST", back + "/send", reference, 200, `"state":"sent"`},
		want{"POST", twice + "/approve", "", 404, code("unknown_approval")},
		want{"GET", "/admin/audit?action=drop_approval", "", 200, `"who":"bob",.*"action":"reject_withdrawal",.*"requested_by":"ann"`},
		want{"POST", back + "/send", `{"reference":"bank-2"}`, 409, `"details":\{"reason":"it is sent with another reference","state":"sent"\}`},
		want{"POST", back + "/complete", "", 200, `"state":"completed"`},
		want{"GET", "/admin/state", "", 200, `"withdrawals":"30000"\}$`},
	)
	for _, action := range []string{"complete_withdrawal", "send_withdrawal", "request_approval", "approve", "reject_withdrawal"} {
		d.as(bob, want{"GET", "/admin/audit?user_id=1&action=" + action, "", 200, `"action":"` + action + `","user_id":1,`})
	}
}

// TestAlone checks that what one operator does alone is bounded in sum: by operator, by account, at once, and
// for each UTC day. What was approved does not count, and a funding service has no sum.
func TestAlone(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	d.FreezeClock()
	ann, bob, service := d.add("ann", "treasurer"), d.add("bob", "treasurer"), d.add("funding", "service")
	n := 0
	deposit := func(token string, user int, amount core.Pips) (status int, approval string) {
		t.Helper()
		n++
		var made struct {
			ApprovalID string `json:"approval_id"`
		}
		status, _, got := d.send("POST", fmt.Sprintf("/admin/users/%d/deposits", user), fmt.Sprintf(`{"deposit_id":"d%d","amount":"%d"}`, n, amount), bearer(token))
		d.read(got, &made)
		return status, "/admin/approvals/" + made.ApprovalID
	}
	for i, x := range []struct {
		token  string
		user   int
		amount core.Pips
		want   int
	}{
		{ann, 1, 6_000, 201}, {ann, 2, 4_001, 202}, {ann, 2, 4_000, 201}, {ann, 2, 1, 202}, // by operator
		{bob, 1, 4_001, 202}, {bob, 1, 4_000, 201}, {bob, 1, 1, 202}, // by account
		{service, 1, 10_000, 201}, {service, 1, 10_000, 201}, {service, 1, 10_001, 202}, // by action alone
		{bob, 2, 6_000, 201}, {bob, 2, 1, 202},
	} {
		if got, approval := deposit(x.token, x.user, x.amount); got != x.want {
			t.Errorf("deposit %d: %d, want %d", i, got, x.want)
		} else if got == 202 && x.token == ann {
			d.as(bob, want{"POST", approval + "/approve", "", 200, `"status":"approved"`})
		}
	}
	d.AdvanceClock(24 * time.Hour)
	if got, _ := deposit(ann, 1, 10_000); got != 201 {
		t.Errorf("on the next day: %d", got)
	}
	d.AdvanceClock(24 * time.Hour)
	var all sync.WaitGroup
	before := d.cash(2)
	for i := range 40 {
		all.Go(func() {
			status, _, got := d.send("POST", "/admin/users/2/deposits", fmt.Sprintf(`{"deposit_id":"at once %d","amount":"1000"}`, i), bearer(bob))
			if status != 201 && status != 202 {
				t.Errorf("%d %s", status, got)
			}
		})
	}
	all.Wait()
	if got := d.cash(2) - before; got != 10_000 {
		t.Errorf("forty at once booked %d pips, want 10000", got)
	}
	// Withdrawals count with deposits, and what is given back by itself.
	d.AdvanceClock(24 * time.Hour)
	ask := func(id string, amount core.Pips) string {
		return fmt.Sprintf("/admin/withdrawals/%d", d.Server.Submit(&core.RequestWithdrawal{User: 1, ClientID: id, Amount: amount, Destination: "home"}).Stamp.Seq)
	}
	w, x, y := ask("w", 7_000), ask("x", 3_001), ask("y", 3_000)
	const sent = `{"reference":"bank-1"}`
	d.as(ann,
		want{"POST", w + "/approve", "", 200, `"state":"approved"`},
		want{"POST", x + "/approve", "", 202, pending},
		want{"POST", x + "/complete", "", 409, `"details":\{"reason":"it is more than one person pays alone, by itself or with what was paid today: approve it first","state":"pending"\}`},
		want{"GET", "/admin/audit?who=ann&action=approve_withdrawal", "", 200, `^\{"actions":\[\{[^}]*"withdrawal_id":"\d+"\}\}\]`}, // what is requested is not refused before
		want{"POST", y + "/complete", "", 200, `"state":"completed"`},
		want{"POST", w + "/send", sent, 200, `"state":"sent"`},
		want{"POST", w + "/fail", "", 200, `"state":"failed"`},
		want{"GET", "/admin/whoami", "", 200, `"four_eyes":"10000","paid_alone":"10000","returned_alone":"7000"`},
	)
	d.as(service, want{"GET", "/admin/whoami", "", 200, `"paid_alone":"0","returned_alone":"0"`})
}

// TestRequestsTakenBack checks that operators take back requests of their own, and that a request is void once its
// operator may not do the action any more: the shared token is a viewer once there is an admin.
func TestRequestsTakenBack(t *testing.T) {
	d := newTestOperator(t, func(o *Options) {
		fourEyes(o)
		o.KeepShared = false
	})
	ann, bob := d.add("ann", "treasurer"), d.add("bob", "treasurer")
	own := d.request(ann, "/admin/users/1/deposits", `{"deposit_id":"a","amount":"20000"}`)
	d.as(ann,
		want{"POST", own + "/reject", `{"reason":"a typo"}`, 200, `"status":"rejected",.*"decided_by":"ann","decided_ts":"\d+"`},
		want{"GET", "/admin/approvals", "", 200, `^\{"approvals":\[\]`},
	)
	shared := d.request(token, "/admin/users/1/deposits", `{"deposit_id":"b","amount":"20000"}`)
	cash := d.cash(1)
	eve := d.add("eve", "admin")
	d.as(bob, want{"POST", shared + "/approve", "", 404, code("unknown_approval")})
	d.as(eve,
		want{"GET", "/admin/audit?action=drop_approval", "", 200, `"who":"operator",.*"requested_by":"operator".*"who":"ann","why":"a typo","action":"drop_approval"`},
		want{"GET", "/admin/approvals", "", 200, `^\{"approvals":\[\]`},
	)
	if got := d.cash(1); got != cash {
		t.Errorf("cash %d, want %d", got, cash)
	}
}

// TestFourEyesFees checks that high fees need a second operator.
func TestFourEyesFees(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	ann := d.add("ann", "admin")
	fees := func(maker, taker, rebate, referral int) string {
		return fmt.Sprintf(`{"maker_rate":%d,"taker_rate":%d,"maker_rebate_pct":%d,"referral_pct":%d}`, maker, taker, rebate, referral)
	}
	d.as(ann,
		want{"PUT", "/admin/fees", fees(1000, 1000, 25, 25), 200, `"taker_rate":1000`},
		want{"PUT", "/admin/fees", fees(0, 1001, 0, 0), 202, pending},
		want{"PUT", "/admin/fees", fees(0, 250, 26, 25), 202, pending},
		want{"PUT", "/admin/fees", fees(0, 250, 100, 1), 400, code("schema_violation")},
		want{"GET", "/admin/approvals", "", 200, `"action":"set_fees",.*"fees":\{"maker_rate":0,"taker_rate":1001,"maker_rebate_pct":0,"referral_pct":0\}`},
	)
	bob := d.add("bob", "admin")
	_, _, got := d.send("PUT", "/admin/fees", fees(0, 10000, 0, 100), bearer(ann))
	var made struct {
		ApprovalID string `json:"approval_id"`
	}
	d.read(got, &made)
	approval := "/admin/approvals/" + made.ApprovalID
	d.as(bob, want{"GET", "/admin/approvals", "", 200, `"action":"set_fees"`})
	d.runCases([]want{{"POST", approval + "/approve", "", 200, `"action":"set_fees"`}, {"GET", "/admin/audit?action=approve", "", 200, `"taker_rate":"10000"`}})
	if rate := d.fees().Taker; rate != 10000 {
		t.Errorf("the taker rate is %d", rate)
	}
}

func (d *testOperator) fees() (f core.Fees) {
	d.Engine.Read(func(v *venue.Venue, _ *view.View) { f = v.Fees() })
	return f
}

// TestRevokedOperatorsRequests checks that what a revoked operator asked for is dropped, and that it is said.
func TestRevokedOperatorsRequests(t *testing.T) {
	d := newTestOperator(t, fourEyes)
	ann, bob := d.add("ann", "treasurer"), d.add("bob", "treasurer")
	first := d.request(ann, "/admin/users/1/deposits", `{"deposit_id":"a","amount":"20000"}`)
	second := d.request(ann, "/admin/users/2/deposits", `{"deposit_id":"b","amount":"20000"}`)
	kept := d.request(bob, "/admin/users/2/deposits", `{"deposit_id":"c","amount":"20000"}`)
	cash := d.cash(1)
	d.do("DELETE", "/admin/operators/ann", `{"reason":"left"}`)
	d.as(bob,
		want{"POST", first + "/approve", "", 404, code("unknown_approval")},
		want{"POST", second + "/approve", "", 404, code("unknown_approval")},
		want{"GET", "/admin/approvals", "", 200, `^\{"approvals":\[\{[^{]*"deposit_id":"c","amount":"20000"\}\]`},
		want{"GET", "/admin/audit?action=drop_approval", "", 200, `"why":"left","action":"drop_approval","user_id":2,"detail":\{"action":"deposit","amount":"20000","approval_id":"` + path.Base(second) + `","deposit_id":"b","requested_by":"ann"\}\}.*"approval_id":"` + path.Base(first) + `"`},
	)
	d.runCases([]want{{"POST", kept + "/approve", "", 200, `"status":"approved"`}})
	if got := d.cash(1); got != cash {
		t.Errorf("cash %d, want %d", got, cash)
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
