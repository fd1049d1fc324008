package admin

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTextsOnTheWire sends texts that would look like something else to every route that stores one,
// and checks that nothing of them is in the audit or the log.
func TestTextsOnTheWire(t *testing.T) {
	d := newTestOperator(t, nil)
	hostile := []string{"line\nforged", "bell\a", "esc\x1b[2J", "rtl\u202egpj", "isolate\u2066x", "mark\u200fx", "line\u2028x", "par\u2029x"}
	for _, text := range hostile {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		s := string(b)
		d.runCases([]want{
			{"POST", "/admin/users", `{"name":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/users", `{"name":"a","reason":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/users/1/keys", `{"label":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/users/1/deposits", `{"amount":"1","deposit_id":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/users/1/deposits", `{"amount":"1","deposit_id":"d","reason":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/users/1/suspend", `{"reason":` + s + `}`, 400, code("schema_violation")},
			{"DELETE", "/admin/users/1/orders", `{"reason":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/markets/1/void", `{"reason":` + s + `}`, 400, code("schema_violation")},
			{"PUT", "/admin/schedule", `{"schedule":[{"start_ts":"1","end_ts":"2","kind":` + s + `}]}`, 400, code("schema_violation")},
			{"POST", "/admin/oracle/ticks", `{"feed":0,"price":"1","source":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/withdrawals/1/reject", `{"reason":` + s + `}`, 400, code("schema_violation")},
			{"POST", "/admin/operators", `{"name":` + s + `,"role":"viewer"}`, 400, code("schema_violation")},
			{"POST", "/admin/snapshot", `{"reason":` + s + `}`, 400, code("schema_violation")},
		})
		_, audit := d.do("GET", "/admin/audit?limit=1000", "")
		if log := d.logs.String(); strings.Contains(audit, text) || strings.Contains(audit, s[1:len(s)-1]) || strings.Contains(log, text) {
			t.Errorf("%q is stored:\n%s\n%s", text, audit, log)
		}
	}
}
