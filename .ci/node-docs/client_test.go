package client

import "testing"

// TestClient uses the generated client as a program would.
func TestClient(t *testing.T) {
	limit := int64(5)
	r, err := NewListOrdersRequest("http://venue.example", &ListOrdersParams{Status: &[]ListOrdersParamsStatus{"resting", "canceled"}, Limit: &limit})
	if err != nil || r.URL.RequestURI() != "/v1/portfolio/orders?status=resting,canceled&limit=5" && r.URL.RequestURI() != "/v1/portfolio/orders?limit=5&status=resting,canceled" {
		t.Error(r.URL, err)
	}
	var result PlaceResult
	if err := result.UnmarshalJSON([]byte(`{"error":{"code":"bad_qty","num":261,"origin":"core","message":"bad_qty","details":null}}`)); err != nil {
		t.Fatal(err)
	}
	failed, err := result.AsErrorBody()
	if err != nil || failed.Error.Code != ErrorCodeBadQty || !failed.Error.Code.Valid() {
		t.Error(failed, err)
	}
	round := RoundRead{Status: RoundReadStatusFrozen}
	if round.Winner != nil {
		t.Error("a round without a winner has one")
	}
}
