package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"duplex/schemas"
)

// TestOperatorsWeek is a week of a venue with forty accounts and six named operators: deposits and
// withdrawals under and over the limit of one person, trades, a leaked key, a suspended account, a void, and
// a restore in another folder. Each figure that an operator sees of an account is the one that the account
// sees, that the sum of its ledger gives, and that the restored venue shows. Each action is in the audit under
// the name of its person.
func TestOperatorsWeek(t *testing.T) {
	if !long() {
		t.Skip("forty accounts: DX_LONG=1 go test ./cmd/dx -run OperatorsWeek")
	}
	data := t.TempDir()
	p := start(t, data, "--four-eyes", "100", "--no-maker")
	p.devFile()
	tokens := map[string]string{}
	did := map[string]int{} // actions of each person
	for name, role := range map[string]string{"ann": "admin", "amy": "admin", "theo": "treasurer", "tess": "treasurer", "sam": "support", "vic": "viewer"} {
		tokens[name] = p.addOperator(name, role)
	}
	does := func(who, args, want string) string {
		t.Helper()
		did[who]++
		code, out := p.dxAdmin(tokens[who], args+" --reason "+who+"-"+strconv.Itoa(did[who]))
		if ok, err := regexp.MatchString(want, out); code != 0 || !ok || err != nil {
			t.Fatalf("%s: admin %s: exit %d\n%s", who, args, code, out)
		}
		return out
	}
	refused := func(who, args, want string) {
		t.Helper()
		if code, out := p.dxAdmin(tokens[who], args); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: admin %s: exit %d, want %s\n%s", who, args, code, want, out)
		}
	}
	read := func(out, field string) string {
		t.Helper()
		m := regexp.MustCompile(`"` + field + `":"?([^",}]+)`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("no %s in %s", field, out)
		}
		return m[1]
	}

	// Monday: the accounts and their money.
	users := make([]schemas.DevAccount, 40)
	for i := range users {
		made := does("sam", fmt.Sprintf("create-user user-%d", i), `"user_id":`)
		id, err := strconv.ParseUint(read(made, "user_id"), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		key := does("ann", fmt.Sprintf("create-key %d --scopes read,trade,withdraw", id), `"secret"`)
		users[i] = schemas.DevAccount{UserID: uint32(id), APIKey: read(key, "api_key"), Secret: read(key, "secret"), AccountToken: read(made, "account_token")}
		does("theo", fmt.Sprintf("deposit %d %d --id wire-%d", id, 500_000+10_000*i, i), `"amount"`)
	}
	big := does("theo", fmt.Sprintf("deposit %d 50000000 --id wire-big", users[0].UserID), `"status":"pending"`)
	refused("theo", "approvals approve "+read(big, "approval_id"), "self_approval (403)")
	refused("vic", "approvals approve "+read(big, "approval_id"), "missing_scope (403)")
	does("tess", "approvals approve "+read(big, "approval_id"), `"status":"approved"`)

	// Tuesday: pairs of accounts trade, and leave orders in the book.
	m := p.market(func(schemas.Market) bool { return true })
	for i := range users {
		outcome, tick := "yes", 4000
		if i%2 == 1 {
			outcome, tick = "no", 6000
		}
		p.must(users[i], "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"1","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":%d}`, m.MarketID, outcome, tick, 5+i/2), nil)
		p.must(users[i], "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"2","market_id":%d,"side":"buy","outcome":%q,"tick":100,"qty":7}`, m.MarketID, outcome), nil)
	}

	// Wednesday: withdrawals, one of them above the limit, one rejected.
	withdraw := func(i, pips int) string {
		t.Helper()
		var w schemas.Withdrawal
		p.must(users[i], "POST", "/v1/withdrawals", fmt.Sprintf(`{"client_withdrawal_id":"w","amount":"%d","destination":"iban-%d"}`, pips, i), &w)
		return fmt.Sprint(w.WithdrawalID)
	}
	small, large, wrong := withdraw(2, 200_000), withdraw(0, 2_000_000), withdraw(3, 100_000)
	waiting := p.listed(tokens["vic"], "withdrawals --status pending")
	for _, w := range []string{`"amount":"200000","destination":"iban-2"`, `"amount":"2000000","destination":"iban-0"`, `"amount":"100000","destination":"iban-3"`} {
		if !strings.Contains(waiting, w) {
			t.Errorf("no %s in %s", w, waiting)
		}
	}
	refused("sam", "complete "+small, "missing_scope (403)")
	does("theo", "complete "+small, `"status":"completed"`)
	pending := does("theo", "complete "+large, `"status":"pending"`)
	does("tess", "approvals approve "+read(pending, "approval_id"), `"status":"approved"`)
	does("tess", "reject "+wrong, `"status":"rejected"`)

	// Thursday: a key has leaked, and an account is suspended.
	leaked := users[4]
	does("sam", fmt.Sprintf("revoke-key %d %s", leaked.UserID, leaked.APIKey), `"revoked":true`)
	if status, err := p.call(leaked, "GET", "/v1/portfolio/balance", "", nil); status != 401 {
		t.Errorf("a revoked key: %d %v", status, err)
	}
	does("sam", fmt.Sprintf("cancel-orders %d", leaked.UserID), `"canceled":1`)
	does("sam", fmt.Sprintf("suspend %d", users[5].UserID), `"suspended":true`)
	order := fmt.Sprintf(`{"client_order_id":"3","market_id":%d,"side":"buy","outcome":"yes","tick":100,"qty":1}`, m.MarketID)
	if status, err := p.call(users[5], "POST", "/v1/portfolio/orders", order, nil); status != 403 {
		t.Errorf("an order of a suspended account: %d %v", status, err)
	}

	// Friday: the round is void, which two admins decide.
	void := does("ann", "void "+fmt.Sprint(m.MarketID), `"status":"pending"`)
	refused("tess", "approvals approve "+read(void, "approval_id"), "missing_scope (403)")
	does("amy", "approvals approve "+read(void, "approval_id"), `"status":"approved"`)

	// Saturday: the figures of every account, here and in a restored venue.
	figures := func(p *process) map[uint32]string {
		all := map[uint32]string{}
		for _, u := range users {
			var d schemas.UserDetail
			if err := json.Unmarshal([]byte(p.listed(tokens["vic"], fmt.Sprintf("user %d", u.UserID))), &d); err != nil {
				t.Fatal(err)
			}
			d.AsOfSeq = 0
			b, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			all[u.UserID] = string(b)
		}
		return all
	}
	here := figures(p)
	for _, u := range users {
		var d schemas.UserDetail
		if err := json.Unmarshal([]byte(here[u.UserID]), &d); err != nil {
			t.Fatal(err)
		}
		var rows schemas.LedgerList
		if err := json.Unmarshal([]byte(p.listed(tokens["vic"], fmt.Sprintf("user %d --ledger --limit 200", u.UserID))), &rows); err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, r := range rows.Ledger {
			sum += int64(r.Amount)
		}
		if sum != int64(d.Cash)+int64(d.Reserved) {
			t.Errorf("account %d: its ledger gives %d, the operator sees %d and %d", u.UserID, sum, d.Cash, d.Reserved)
		}
		if u.UserID == leaked.UserID {
			continue
		}
		var own schemas.Balance
		p.must(u, "GET", "/v1/portfolio/balance", "", &own)
		if own.Cash != d.Cash || own.Reserved != d.Reserved {
			t.Errorf("account %d sees %d and %d, the operator %d and %d", u.UserID, own.Cash, own.Reserved, d.Cash, d.Reserved)
		}
	}
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	copied(t, "backup", data, "--to", backup)
	copied(t, "restore", backup, "--data", restored)
	if key, err := os.ReadFile(filepath.Join(data, "master.key")); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(filepath.Join(restored, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, restored, "--four-eyes", "100", "--no-maker")
	if there := figures(again); !maps.Equal(here, there) {
		t.Errorf("the restored venue differs:\n%v\n%v", here, there)
	}
	again.stop()

	// Sunday: the audit names everybody.
	audited := map[string]int{}
	for who := range tokens {
		for cursor := ""; ; {
			var page schemas.ActionList
			if err := json.Unmarshal([]byte(p.listed(tokens["vic"], "audit --limit 100 --who "+who+cursor)), &page); err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Actions {
				if r.Why != "" { // refused requests gave no reason
					audited[who]++
				}
			}
			if page.Cursor == "" {
				break
			}
			cursor = " --cursor " + page.Cursor
		}
	}
	if !maps.Equal(audited, did) {
		t.Errorf("the audit has %v, done were %v by %v", audited, did, slices.Sorted(maps.Keys(tokens)))
	}
}

// listed returns the output of a dx admin that reads.
func (p *process) listed(token, args string) string {
	p.t.Helper()
	code, out := p.dxAdmin(token, args)
	if code != 0 {
		p.t.Fatalf("admin %s: exit %d\n%s", args, code, out)
	}
	return out
}
