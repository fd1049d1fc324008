package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAdmin runs every command of dx admin.
func TestAdmin(t *testing.T) {
	p := start(t, t.TempDir())
	p.devFile()
	m := p.marketFor(2*time.Minute, trades)
	id, series := fmt.Sprint(m.MarketID), p.series(m)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"admin create-user alice --reason test", 0, `{"user_id":7,"account_token":"dxa_`},
		{"admin create-user bob --referrer 7", 0, `{"user_id":8,`},
		{"admin create-user eve --referrer 99", 1, "unknown_user (404)"},
		{"admin users", 0, `"referrer_id":7`},
		{"admin create-key 7 --scopes read,withdraw --label desk", 0, `"scopes":["read","withdraw"]`},
		{"admin create-key 7 --scopes fly", 1, "schema_violation (400)"},
		{"admin deposit 7 0.50 --id one", 0, `"amount":"5000"`},
		{"admin deposit 7 5000pips --id one", 0, `"amount":"5000"`},
		{"admin deposit 7 5000", 2, "--id"},
		{"admin deposit 7 0 --id two", 1, "bad_amount"},
		{"admin deposit 7 10000000000001pips --id two", 1, "bad_amount"},
		{"admin deposit 7 1000000 --id two", 2, "1000000.00"},
		{"admin suspend 7", 0, `"suspended":true`},
		{"admin resume 7", 0, `"suspended":false`},
		{"admin pause " + id, 0, `"paused":true`},
		{"admin unpause " + id, 0, `"paused":false`},
		{"admin pause " + series, 0, `"market_id":` + id + `,"status":"trading","paused":true`},
		{"admin unpause " + strings.ToUpper(series), 0, `"market_id":` + id + `,"status":"trading","paused":false`},
		{"admin pause eth-5m", 1, series},
		{"admin propose " + id + " 6500000000000", 1, "invalid_transition (409)"},
		{"admin void " + id + " --reason test", 0, `"status":"void"`},
		{"admin pause 33", 1, "unknown_market (404)"},
		{"admin fees --maker 1 --taker 300 --rebate 10", 0, `"taker_rate":300`},
		{"admin fees --maker 5 --taker 3", 1, "schema_violation"},
		{"admin complete 1", 1, "unknown_withdrawal (404)"},
		{"admin reject 1", 1, "unknown_withdrawal (404)"},
		{"admin tick 0 desk 0", 1, "schema_violation"},
		{"admin tick wti desk 0", 1, "schema_violation"},
		{"admin tick oil desk 1", 2, `"oil" is not BTC, gold or WTI`},
		{"admin snapshot", 0, `"state_hash":"`},
		{"admin state", 0, `"deposits":"`},
		{"admin audit --user 7 --action suspend_user", 0, `"who":"operator","why":"","action":"suspend_user","user_id":7}],"cursor":""`},
		{"admin audit --who operator --limit 1", 0, `"action":"reject_withdrawal","detail":{"withdrawal_id":"1"},"refused":"unknown_withdrawal"}],"cursor":"`},
		{"admin audit --cursor x", 1, "bad_cursor"},
		{"admin users --limit 2", 0, `"user_id":2`},
	} {
		// A market stays paused while its feed is stale, and a series names its market once the round before is over.
		if strings.HasPrefix(c.args, "admin unpause") || c.args == "admin pause "+series {
			within(3*time.Minute, func() bool {
				_, out, _ := runCommand(strings.Fields(c.args)...)
				return strings.Contains(out, c.want)
			})
		}
		expectCommand(t, c.code, c.want, strings.Fields(c.args)...)
	}
	t.Setenv("DX_ADMIN_URL", p.dev.Admin)
	t.Setenv("DX_OPERATOR_TOKEN", "wrong")
	expectCommand(t, 1, "unauthorized (401)", "admin", "state")
}
