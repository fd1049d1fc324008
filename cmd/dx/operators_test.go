package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// dxAdmin runs dx admin with the token of an operator and returns the exit code and the output.
func (p *process) dxAdmin(token, args string) (int, string) {
	p.t.Helper()
	p.t.Setenv("DX_ADMIN_URL", p.dev.Admin)
	p.t.Setenv("DX_OPERATOR_TOKEN", token)
	code, out, errs := runCommand(append([]string{"admin"}, strings.Fields(args)...)...)
	return code, out + errs
}

// expectAdmin runs dx admin, and requires its exit code and a text in its output.
func (p *process) expectAdmin(token string, code int, text, args string) {
	p.t.Helper()
	if got, out := p.dxAdmin(token, args); got != code || !strings.Contains(out, text) {
		p.t.Errorf("admin %s: exit %d, want %d and %s\n%s", args, got, code, text, out)
	}
}

// mustAdmin decodes the output of a dx admin that must succeed.
func (p *process) mustAdmin(token, args string, into any) {
	p.t.Helper()
	code, out := p.dxAdmin(token, args)
	if err := json.Unmarshal([]byte(out), into); code != 0 || err != nil {
		p.t.Fatalf("admin %s: exit %d\n%s", args, code, out)
	}
}

// addOperator adds an operator and returns the token.
func (p *process) addOperator(name, role string) string {
	p.t.Helper()
	var made struct {
		OperatorToken string `json:"operator_token"`
	}
	p.mustAdmin(p.dev.OperatorToken, "operator add "+name+" --role "+role, &made)
	return made.OperatorToken
}

// TestOperatorCommands runs the commands of dx admin about operators, accounts and approvals.
func TestOperatorCommands(t *testing.T) {
	p := start(t, t.TempDir(), "--four-eyes", "100")
	p.devFile()
	id := fmt.Sprint(p.marketFor(2*time.Minute, trades).MarketID)
	ann, bob, vera, carl := p.addOperator("ann", "admin"), p.addOperator("bob", "admin"), p.addOperator("vera", "viewer"), p.addOperator("carl", "treasurer")
	key := p.account("reader")
	for _, c := range []struct {
		token, args string
		code        int
		want        string // a regular expression
	}{
		{ann, "operator list", 0, `"name":"ann","role":"admin"`},
		{ann, "operator add ann --role viewer", 1, `duplicate_operator_name \(409\)`},
		{ann, "operator add bob --role boss", 2, `--role`},
		{ann, "operator add bob", 2, `--role`},
		{vera, "users", 0, `"users":`},
		{vera, "suspend 1", 1, `missing_scope \(403\): The key lacks`},
		{vera, fmt.Sprintf("user %d", key.UserID), 0, `"name":"reader","kind":"owner","state":"active",.*"keys":\[\{"api_key":"` + key.APIKey},
		{vera, "user 1 --ledger --limit 1", 0, `^\{"ledger":\[\{`},
		{vera, "user 1 --activity --limit 1", 0, `^\{"activity":\[\{`},
		{vera, "user 1 --activity --ledger", 2, `--`},
		{vera, "user 99", 1, `unknown_user \(404\)`},
		{vera, "search READ", 0, `"name":"reader".*"matched":"name"`},
		{vera, "search " + key.APIKey, 0, `"name":"reader".*"matched":"api_key"`},
		{vera, "feeds", 0, `"name":"BTC","stale":false`},
		{vera, "markets", 0, `"status":"trading"`},
		{vera, "withdrawals", 0, `"withdrawals":\[\]`},
		{vera, "withdrawals --status lost", 2, `--status`},
		{vera, "approvals --status pending", 0, `"approvals":\[\]`},
		{ann, fmt.Sprintf("revoke-key %d %s --reason leaked", key.UserID, key.APIKey), 0, `"revoked":true`},
		{ann, fmt.Sprintf("cancel-orders %d", key.UserID), 0, `"canceled":0`},
		{ann, fmt.Sprintf("reset-token %d", key.UserID), 0, `"account_token":"dxa_`},
		{ann, "schedule --window maintenance,2026-11-24T10:00:00Z,2026-11-24T11:00:00Z", 0, `"start_ts":"1795514400000000000","end_ts":"1795518000000000000"`},
		{ann, "schedule --window maintenance,tomorrow,2026-11-24T11:00:00Z", 2, `--window: "tomorrow" is not a time`},
		{ann, "schedule --window maintenance", 2, `is not KIND,START,END`},
		{ann, "schedule", 2, `--clear`},
		{ann, "schedule --clear", 0, `"schedule":\[\]`},
		{ann, "deposit 1 100 --id small", 0, `"amount":"1000000"`},
		{ann, "deposit 1 100.0001 --id big", 0, `"status":"pending"`},
		{ann, "void " + id, 0, `"status":"pending"`},
		{bob, "approvals", 0, `"requested_by":"ann".*"deposit_id":"big"`},
		{bob, "approvals approve 1", 1, `unknown_approval \(404\)`},
		{bob, "audit --who ann --limit 1", 0, `"who":"ann","why":"","action":"request_approval"`},
		{ann, "operator revoke bob", 0, `"revoked":true`},
		{bob, "users", 1, `unauthorized \(401\)`},
	} {
		code, out := p.dxAdmin(c.token, c.args)
		// The feed is stale for a moment if its venue was held up for 5 s.
		for end := time.Now().Add(3 * time.Minute); c.args == "feeds" && !strings.Contains(out, c.want) && time.Now().Before(end); {
			code, out = p.dxAdmin(c.token, c.args)
		}
		if ok, err := regexp.MatchString(c.want, out); code != c.code || !ok || err != nil {
			t.Errorf("%s: exit %d\n%s", c.args, code, out)
		}
	}
	var approval struct {
		ApprovalID string `json:"approval_id"`
	}
	p.mustAdmin(ann, "deposit 1 100.0001 --id big", &approval) // a repeat is the same request
	late := p.addOperator("late", "treasurer")                 // after the request
	p.expectAdmin(late, 1, "self_approval (403)", "approvals approve "+approval.ApprovalID)
	p.expectAdmin(ann, 1, "self_approval (403)", "approvals approve "+approval.ApprovalID)
	p.expectAdmin(carl, 0, `"status":"approved"`, "approvals approve "+approval.ApprovalID+" --reason seen")
	p.expectAdmin(carl, 1, "invalid_transition (409)", "approvals reject "+approval.ApprovalID)
}

// TestApprovalsSurviveAKill checks that operators and approvals outlive kill -9, and that an approved
// deposit is booked once, whenever the venue is killed.
func TestApprovalsSurviveAKill(t *testing.T) {
	data := t.TempDir()
	run := func(f func(p *process)) {
		p := start(t, data, "--four-eyes", "1", "--no-maker")
		f(p)
		p.kill()
	}
	var ann, bob string
	var approval struct {
		ApprovalID string `json:"approval_id"`
	}
	cash := func(p *process) (out struct{ Cash string }) {
		p.mustAdmin(p.dev.OperatorToken, fmt.Sprintf("user %d", p.account("reader").UserID), &out)
		return out
	}
	approve := func(p *process) {
		p.expectAdmin(bob, 0, `"status":"approved"`, "approvals approve "+approval.ApprovalID)
	}
	deposit := func(p *process) string { return fmt.Sprintf("deposit %d 2.00 --id bank", p.account("reader").UserID) }
	run(func(p *process) {
		ann, bob = p.addOperator("ann", "treasurer"), p.addOperator("bob", "treasurer")
		p.mustAdmin(ann, deposit(p), &approval)
	})
	run(func(p *process) {
		before := cash(p)
		again := approval
		p.mustAdmin(ann, deposit(p), &again)
		if again != approval || before.Cash != "100000000" {
			t.Errorf("the deposit asked for again is %+v, want %+v, and the balance %+v, want 100000000 in cash", again, approval, before)
		}
		p.expectAdmin(ann, 1, "self_approval", "approvals approve "+approval.ApprovalID)
		approve(p)
	})
	run(func(p *process) {
		approve(p) // the response may have been lost
		if got := cash(p); got.Cash != "100020000" {
			t.Errorf("the balance after the approval was repeated: %+v, want 100020000 in cash", got)
		}
		var done struct{ Seq string }
		if p.mustAdmin(ann, deposit(p), &done); done.Seq == "" {
			t.Error("the deposit is not booked")
		}
	})
	expectCommand(t, 0, "whole: ", "verify", data)
}
