package schemas_test

import (
	"reflect"
	"strings"
	"testing"

	"duplex/schemas"

	"github.com/danielgtaylor/huma/v2"
)

// TestSchemasOfRequests tests that the schema from the tags describes what decoding accepts.
func TestSchemasOfRequests(t *testing.T) {
	reg := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	reg.Schema(reflect.TypeFor[schemas.PlaceOrders](), true, "")
	s := reg.Map()["PlaceOrder"]
	for name, want := range map[string]string{"qty": "integer", "tick": "integer", "client_order_id": "string", "expiry_ts": "string",
		"max_cost": "string", "post_only": "boolean", "side": "string", "group_id": "integer"} {
		p := s.Properties[name]
		if p == nil || p.Type != want || p.Nullable {
			t.Errorf("%s: %+v", name, p)
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
	for _, v := range []any{schemas.OrderRead{}, schemas.OrderList{}, schemas.Outcome{}, schemas.PlaceResults{}, schemas.CancelResults{},
		schemas.Sequenced{}, schemas.Decreased{}, schemas.Armed{}, schemas.Disarmed{}, schemas.Deadman{}, schemas.Preview{}, schemas.FillList{},
		schemas.PositionList{}, schemas.SettlementList{}, schemas.Balance{}, schemas.PnL{}, schemas.LedgerList{}, schemas.DepositList{}, schemas.AccountRoundList{}, schemas.Redeemed{}, schemas.MarketRead{}, schemas.MarketList{},
		schemas.Orderbook{}, schemas.SeriesList{}, schemas.TradeList{}, schemas.RoundRead{}, schemas.RoundList{}, schemas.OraclePrice{}, schemas.Venue{},
		schemas.Limits{}, schemas.NewKey{}, schemas.KeyList{}, schemas.Revoked{}, schemas.WithdrawalRead{}, schemas.WithdrawalList{},
		schemas.DepositAddress{}, schemas.UserList{}, schemas.AdminState{}, schemas.DevFile{}, schemas.ErrorBody{}, schemas.ToolError{}} {
		reg.Schema(reflect.TypeOf(v), true, "")
	}
	for at, nullable := range map[string]bool{"Order.order_id": true, "Round.winner": true, "Error.num": true, "Error.details": true,
		"OrderList.orders": false, "Outcome.fills": false, "Outcome.reason": false, "Orderbook.yes": false} {
		typ, name, _ := strings.Cut(at, ".")
		if p := reg.Map()[typ].Properties[name]; p == nil || p.Nullable != nullable {
			t.Errorf("%s: %+v", at, p)
		}
	}
}
