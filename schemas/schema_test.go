package schemas_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"duplex/schemas"
	"duplex/tools"

	"github.com/danielgtaylor/huma/v2"
)

var operations = slices.Concat(tools.Operations, tools.RouteOnly, tools.ToolOnly, []tools.Operation{tools.AdvanceClock})

func init() {
	for _, op := range operations {
		schemas.Requests = append(schemas.Requests, reflect.ValueOf(op.NewInput()).Elem().Interface())
	}
	// The inputs of the accounts service, the operator's routes and the agent lane's own tool.
	schemas.Requests = append(schemas.Requests, schemas.CreateKey{}, schemas.RevokeKey{}, schemas.WaitForEvent{}, schemas.CreateUser{}, schemas.CreateUserKey{}, schemas.Deposit{}, schemas.SuspendUser{},
		schemas.ActOnMarket{}, schemas.Propose{}, schemas.SetFees{}, schemas.SetSchedule{}, schemas.DecideWithdrawal{}, schemas.Tick{})
}

// TestSchemasOfRequests tests that the schema from the tags describes what decoding accepts.
func TestSchemasOfRequests(t *testing.T) {
	reg := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	reg.Schema(reflect.TypeFor[schemas.PlaceOrders](), true, "")
	s := reg.Map()["PlaceOrder"]
	for name, want := range map[string]string{"qty": "integer", "tick": "integer", "client_order_id": "string", "expiry_ts": "string",
		"max_cost": "string", "post_only": "boolean", "side": "string", "group_id": "integer"} {
		p := s.Properties[name]
		if p == nil || p.Type != want || p.Nullable {
			t.Errorf("the schema of %s: %+v, want %s, not nullable", name, p, want)
		}
	}
	if got := strings.Join(s.Required, " "); got != "client_order_id market_id side outcome qty" {
		t.Errorf("required: %s", got)
	}
	if s.AdditionalProperties != false || s.Properties["Fault"] != nil {
		t.Error("the request takes additional members")
	}
}

// TestSchemasOfResponses tests that every response type has a schema, in which nullable
// members are marked.
func TestSchemasOfResponses(t *testing.T) {
	reg := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	for _, op := range operations {
		reg.Schema(reflect.TypeOf(op.NewOutput()).Elem(), true, "")
	}
	for _, v := range []any{schemas.Outcome{}, schemas.ErrorBody{}, schemas.ToolError{}, schemas.NewKey{}, schemas.KeyList{}, schemas.Revoked{}, schemas.UserList{}, schemas.AdminState{}, schemas.DevFile{}} {
		reg.Schema(reflect.TypeOf(v), true, "")
	}
	for at, nullable := range map[string]bool{"Order.order_id": true, "Round.winner": true, "Error.num": true, "Error.details": true,
		"OrderList.orders": false, "Outcome.fills": false, "Outcome.reason": false, "Orderbook.yes": false} {
		typ, name, _ := strings.Cut(at, ".")
		if p := reg.Map()[typ].Properties[name]; p == nil || p.Nullable != nullable {
			t.Errorf("the schema of %s: %+v, want nullable: %t", at, p, nullable)
		}
	}
}
