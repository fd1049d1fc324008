package schemas

import (
	"reflect"
	"testing"
)

// requests are all request types.
var requests = []any{
	PlaceOrder{}, PlaceOrders{}, CancelOrders{}, CancelAll{}, CancelOrder{}, DecreaseOrder{}, ArmDeadman{}, ListOrders{}, GetOrder{},
	None{}, Now{}, ListFills{}, ListPositions{}, ListSettlements{}, Redeem{}, ListMarkets{}, GetMarket{}, GetOrderbook{}, ListTrades{},
	ListRounds{}, GetRound{}, GetOraclePrice{}, CreateKey{}, RevokeKey{}, RequestWithdrawal{}, ListWithdrawals{}, GetWithdrawal{},
	WaitForEvent{}, CreateUser{}, CreateUserKey{}, Deposit{}, SuspendUser{}, ActOnMarket{}, Propose{}, SetFees{}, SetSchedule{},
	DecideWithdrawal{}, Tick{},
}

// TestPlans: every tag reads, every code is in the table, no field is named twice,
// and nothing travels in query and body at once, so that Check sees all it joins.
func TestPlans(t *testing.T) {
	for _, r := range requests {
		typ := reflect.TypeOf(r)
		p := planOf(typ)
		if len(p.byName) != len(p.fields) {
			t.Errorf("%s names a field twice", typ)
		}
		if p.has(inQuery) && p.has(inBody) {
			t.Errorf("%s has query and body", typ)
		}
		for _, f := range p.fields {
			if !Known(f.code) || !Known(f.missing) {
				t.Errorf("%s.%s: no such code %q %q", typ, f.name, f.code, f.missing)
			}
			if f.in == inPath && (!f.required || (f.kind != kindString && f.code == "schema_violation")) {
				t.Errorf("%s.%s: a path field needs its 404", typ, f.name)
			}
			pointer := typ.FieldByIndex(f.index).Type.Kind() == reflect.Pointer
			if f.required && pointer {
				t.Errorf("%s.%s: required, so no pointer", typ, f.name)
			}
		}
	}
}
