package schemas

import "github.com/go-json-experiment/json"

// PlaceOrders is the body of `POST /v1/portfolio/orders/batch`
// (docs/rules/orders.md#batches).
type PlaceOrders struct {
	Orders []PlaceOrder `json:"orders" nullable:"false" minItems:"1" maxItems:"20" doc:"Partial success is normal"`
}

func (o *PlaceOrders) validFast(tool bool) bool {
	if len(o.Orders) < 1 || len(o.Orders) > BatchCap {
		return false
	}
	for i := range o.Orders {
		if !o.Orders[i].validFast(tool) {
			return false
		}
	}
	return true
}

// CancelOrders is the body of `DELETE /v1/portfolio/orders/batch`
// (docs/rules/orders.md#batches).
type CancelOrders struct {
	OrderIDs []U64 `json:"order_ids" nullable:"false" maxItems:"20" pattern:"^[0-9]+$" example:"[\"324\",\"325\"]"`
}

func (c *CancelOrders) validFast(bool) bool {
	return len(c.OrderIDs) > 0 && len(c.OrderIDs) <= BatchCap
}

// PlaceResult is one element of a batch placement: a result or an error. Exactly one of
// the two is set.
type PlaceResult struct {
	*Placed
	Error *Error
}

// MarshalJSON encodes the member that is set.
func (r *PlaceResult) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return Append(nil, ErrorBody{*r.Error})
	}
	return r.Placed.Append(nil), nil
}

// UnmarshalJSON decodes the member that is sent.
func (r *PlaceResult) UnmarshalJSON(raw []byte) error {
	var is struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return err
	}
	if *r = (PlaceResult{Error: is.Error}); is.Error != nil {
		return nil
	}
	r.Placed = new(Placed)
	return r.Placed.UnmarshalJSON(raw)
}

// PlaceResults is the result of a batch placement. The agent lane returns this object,
// REST the bare array.
type PlaceResults struct {
	Results []PlaceResult `json:"results" nullable:"false"`
}

// CancelResult is one element of a batch cancel: a cancel or an error.
type CancelResult struct {
	*Canceled
	Error *Error `json:"error,omitempty"`
}

// CancelResults is the response of a batch cancel. Results are in the order of the ids.
type CancelResults struct {
	Results []CancelResult `json:"results" nullable:"false"`
}
