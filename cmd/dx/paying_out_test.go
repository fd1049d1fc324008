package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"duplex/schemas"
)

// runbook returns the commands of dx admin in the runbook of a withdrawal, without a repeated one.
func runbook(t *testing.T) (commands []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), `<a id="paying-out"></a>`)
	steps, _, found := strings.Cut(section, "The amount stays")
	if !found {
		t.Fatal("docs/operations/README.md has no runbook of a withdrawal")
	}
	for _, m := range regexp.MustCompile("`dx admin ([^`]+)`").FindAllStringSubmatch(steps, -1) {
		commands = append(commands, m[1])
	}
	return commands
}

// TestPayingOut walks the runbook of a withdrawal above the limit of two persons against a venue. Each command of the
// runbook is tried by one person in each state: what is not the next step is refused and changes nothing, and where
// money would leave or come back, the step waits for the second person. The money is back in the account exactly if
// the withdrawal is rejected or failed, and a kill -9 in each state changes nothing.
func TestPayingOut(t *testing.T) {
	data := t.TempDir()
	p := start(t, data, "--four-eyes", "100", "--no-maker")
	ann, bob := p.addOperator("ann", "treasurer"), p.addOperator("bob", "treasurer")
	const list, approve, second, reject, send, complete, fail = "withdrawals --status pending", "approve ID", "approvals approve APPROVAL_ID", "reject ID", "send ID --reference PAYMENT", "complete ID", "fail ID"
	if got, want := runbook(t), []string{list, approve, second, reject, send, complete, fail}; strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Fatalf("the runbook has the commands %q, want %q", got, want)
	}

	var approval string // that was requested last
	command := func(text, id string) string {
		return strings.NewReplacer("APPROVAL_ID", approval, "ID", id, "PAYMENT", "wire-7").Replace(text)
	}
	state := func(id string) string {
		t.Helper()
		var all struct{ Withdrawals []schemas.UserWithdrawal }
		p.mustAdmin(ann, "withdrawals", &all)
		for _, w := range all.Withdrawals {
			if fmt.Sprint(w.WithdrawalID) == id {
				return w.State
			}
		}
		t.Fatalf("there is no withdrawal %s", id)
		return ""
	}
	waits := func(text, id string) {
		t.Helper()
		var made struct {
			ApprovalID string `json:"approval_id"`
			Status     string
		}
		if p.mustAdmin(ann, command(text, id), &made); made.Status != "pending" || made.ApprovalID == "" {
			t.Fatalf("%s of %s does not wait for a second person: %+v", text, id, made)
		}
		approval = made.ApprovalID
		p.expectAdmin(ann, 1, "self_approval (403)", command(second, id))
	}
	bySecond := func(text string) func(string) {
		return func(id string) {
			t.Helper()
			waits(text, id)
			p.expectAdmin(bob, 0, `"status":"approved"`, command(second, id))
		}
	}
	alone := func(text string) func(string) {
		return func(id string) {
			t.Helper()
			p.expectAdmin(ann, 0, `"withdrawal_id":"`+id+`"`, command(text, id))
		}
	}
	const amount = 500
	customer := p.account("treasurer")
	cash := func() int {
		t.Helper()
		var out struct{ Cash string }
		p.mustAdmin(ann, fmt.Sprintf("user %d", customer.UserID), &out)
		pips, err := strconv.Atoi(out.Cash)
		if err != nil {
			t.Fatal(err)
		}
		return pips / 10_000
	}
	n := 0
	request := func() string {
		t.Helper()
		n++
		var made schemas.Withdrawal
		p.must(customer, "POST", "/v1/withdrawals", fmt.Sprintf(`{"client_withdrawal_id":"w%d","amount":"%d","destination":"home"}`, n, amount*10_000), &made)
		return fmt.Sprint(made.WithdrawalID)
	}

	for _, x := range []struct {
		state string
		way   []func(string)
		waits string // the steps that wait for the second person
		moves map[string]string
	}{
		{"pending", nil, approve, map[string]string{reject: "rejected"}},
		{"approved", []func(string){bySecond(approve)}, reject, map[string]string{approve: "approved", send: "sent"}},
		{"sent", []func(string){bySecond(approve), alone(send)}, fail, map[string]string{send: "sent", complete: "completed"}},
		{"completed", []func(string){bySecond(approve), alone(send), alone(complete)}, "", map[string]string{complete: "completed"}},
		{"failed", []func(string){bySecond(approve), alone(send), bySecond(fail)}, "", map[string]string{fail: "failed"}},
		{"rejected", []func(string){bySecond(approve), bySecond(reject)}, "", map[string]string{reject: "rejected"}},
	} {
		for _, text := range []string{approve, reject, send, complete, fail} {
			before, id := cash(), request()
			for _, step := range x.way {
				step(id)
			}
			want := x.state
			switch to, moves := x.moves[text]; {
			case x.waits == text:
				waits(text, id)
			case moves:
				want = to
				alone(text)(id)
			default:
				p.expectAdmin(ann, 1, "invalid_transition (409)", command(text, id))
			}
			held := before - amount
			if want == "rejected" || want == "failed" {
				held = before
			}
			if got, has := state(id), cash(); got != want || has != held {
				t.Errorf("%s of one that is %s: it is %s and the account has $%d, want %s and $%d", text, x.state, got, has, want, held)
			}
		}
		p.kill()
		was := p.dev
		p = start(t, data, "--four-eyes", "100", "--no-maker")
		if p.dev.OperatorToken != was.OperatorToken {
			t.Fatal("the venue has another operator's token after a restart")
		}
	}
	p.expectAdmin(ann, 0, `"status":"pending"`, list)
	p.kill()
	expectCommand(t, 0, "whole: ", "verify", data)
}
