package server_test

import (
	"strings"
	"testing"

	"duplex/core"
	"duplex/server"
	"duplex/server/servertest"
)

// TestOperatorsLost checks that the shared token of a live venue only reads after the first named
// admin, also after a restart, until OperatorsLost revokes the admins and no one else.
func TestOperatorsLost(t *testing.T) {
	data := t.TempDir()
	start := func(lost bool, f func(v *servertest.Venue, add func(name, role string) int)) {
		t.Helper()
		v := servertest.OpenLive(t, data, func(o *server.Options) { o.OperatorsLost = lost })
		defer v.Close()
		f(v, func(name, role string) int {
			status, _, _ := request(t, "POST", v.AdminURL()+"/admin/operators", `{"name":"`+name+`","role":"`+role+`"}`, "Authorization", "Bearer "+v.OperatorToken(), "Content-Type", "application/json")
			return status
		})
	}
	start(false, func(_ *servertest.Venue, add func(string, string) int) {
		if a, b, c := add("vera", "viewer"), add("ann", "admin"), add("bob", "admin"); a != 201 || b != 201 || c != 403 {
			t.Errorf("the shared token adds a viewer, an admin, another admin: %d, %d, %d, want 201, 201, 403", a, b, c)
		}
	})
	start(false, func(v *servertest.Venue, add func(string, string) int) {
		if got := askOperator(t, v, "GET", "/admin/operators", ""); !strings.Contains(got, `"name":"ann","role":"admin"`) || add("bob", "admin") != 403 {
			t.Error(got)
		}
		v.NewAccount("a")
		v.Submit(&core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveDeposit, User: 1, DepositID: "large", Amount: 1}, Audit: core.Audit{Who: "ann"}})
	})
	start(true, func(v *servertest.Venue, add func(string, string) int) {
		got := askOperator(t, v, "GET", "/admin/operators", "")
		if strings.Contains(got, "ann") || !strings.Contains(got, "vera") || add("bob", "admin") != 201 || add("eve", "admin") != 403 {
			t.Error(got)
		}
		if got = askOperator(t, v, "GET", "/admin/audit?action=revoke_operator", ""); !strings.Contains(got, `"who":"dx","why":"--operators-lost"`) {
			t.Error(got)
		}
		if got = askOperator(t, v, "GET", "/admin/audit?action=drop_approval", ""); !strings.Contains(got, `"who":"dx","why":"--operators-lost","action":"drop_approval"`) || !strings.Contains(got, `"requested_by":"ann"`) {
			t.Error(got)
		}
	})
}
