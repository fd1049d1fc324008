package schemas

import (
	"fmt"

	"duplex/core"

	"github.com/go-json-experiment/json"
)

// PutQuotes is the body of `PUT /v1/portfolio/quotes` (docs/rules/orders.md#quotes).
type PutQuotes struct {
	Quotes []Quote `json:"quotes" nullable:"false" minItems:"1" maxItems:"20"`
}

// Quote is a bid and an ask of one market, for a group of orders. Nil empties the side.
type Quote struct {
	MarketID   Int        `json:"market_id" minimum:"0" maximum:"4294967295" doc:"Market slot" example:"1"`
	Generation Int        `json:"generation" minimum:"1" maximum:"4294967295" doc:"Round of the slot" example:"3"`
	GroupID    Int        `json:"group_id" minimum:"1" maximum:"4294967295" doc:"The group has at most one order on each side" example:"7"`
	Bid        *QuoteSide `json:"bid" doc:"To buy YES; null: none" example:"{\"client_order_id\":\"2001\",\"tick\":4600,\"qty\":10}"`
	Ask        *QuoteSide `json:"ask" doc:"To sell YES; null: none" example:"{\"client_order_id\":\"2002\",\"tick\":5000,\"qty\":10}"`
	NotAfterTs U64        `json:"not_after_ts,omitzero" pattern:"^[0-9]+$" doc:"Unix ns: later, too_late"`
}

// QuoteSide is one side of a quote. Tick is of YES.
type QuoteSide struct {
	ClientOrderID U64 `json:"client_order_id" pattern:"^[0-9]+$" nonzero:"true" missing:"client_order_id_required" fault:"client_order_id_required" doc:"Digits, not 0; used once per account"`
	Tick          Int `json:"tick" minimum:"1" maximum:"9999" fault:"bad_price_tick" exact:"true" doc:"Pips of YES"`
	Qty           Int `json:"qty" minimum:"1" maximum:"1000000" fault:"bad_qty" doc:"Contracts"`

	// Fault is as in PlaceOrder, or crossed_quote.
	Fault core.Reject `json:"-"`
}

// setReject sets the reject that decoding found.
func (s *QuoteSide) setReject(r core.Reject) { s.Fault = r }

// Check rejects a market and a group that come twice: the second would undo the first.
func (p *PutQuotes) Check() *Fault {
	type place struct{ market, group Int }
	seen := map[place]bool{}
	for i := range p.Quotes {
		at := place{p.Quotes[i].MarketID, p.Quotes[i].GroupID}
		if seen[at] {
			return schemaViolation(fmt.Sprintf("quotes[%d].group_id", i), "one quote for a market and a group")
		}
		seen[at] = true
	}
	return nil
}

// Check finds a bid that is not below the ask, which is a fault of both. A client_order_id is missed first.
func (q *Quote) Check() *Fault {
	crossed := q.Bid != nil && q.Ask != nil && q.Bid.priced() && q.Ask.priced() && q.Bid.Tick >= q.Ask.Tick
	for _, s := range []*QuoteSide{q.Bid, q.Ask} {
		switch {
		case s == nil:
		case s.ClientOrderID == 0:
			s.Fault = core.ClientOrderIDRequired
		case crossed:
			s.Fault = core.CrossedQuote
		}
	}
	return nil
}

func (s *QuoteSide) priced() bool { return s.Tick >= TickMin && s.Tick <= TickMax }

// Placement returns the order of a side that is not nil, as an order of YES.
func (q *Quote) Placement(s *QuoteSide) *PlaceOrder {
	p := &PlaceOrder{
		ClientOrderID: s.ClientOrderID, MarketID: q.MarketID, Generation: q.Generation, GroupID: q.GroupID, Side: "buy", Outcome: "yes", Tick: &s.Tick, Qty: s.Qty,
		NotAfterTs: q.NotAfterTs, PostOnly: true, CancelOnPause: true, Fault: s.Fault,
	}
	if s == q.Ask {
		p.Side = "sell"
	}
	return p
}

// QuoteOutcome is the outcome of a side that has an order. With Kept that order was there before, and the others are
// of it. Canceled counts the orders that gave way.
type QuoteOutcome struct {
	Outcome
	Kept     bool  `json:"kept" doc:"An older order, with its place in the queue"`
	Canceled int64 `json:"canceled" doc:"Orders canceled for it"`
}

// QuoteEmptied is the outcome of a side that is null.
type QuoteEmptied struct {
	Canceled int64 `json:"canceled" doc:"Orders canceled"`
	Seq      U64   `json:"seq" pattern:"^[0-9]+$"`
}

// QuotedSide is the result of a side: exactly one of its members is set.
type QuotedSide struct {
	Outcome *QuoteOutcome
	Emptied *QuoteEmptied
	Error   *Error
}

// MarshalJSON encodes the member that is set.
func (s *QuotedSide) MarshalJSON() ([]byte, error) {
	switch {
	case s.Error != nil:
		return Append(nil, ErrorBody{*s.Error})
	case s.Emptied != nil:
		return Append(nil, s.Emptied)
	}
	return Append(nil, s.Outcome)
}

// UnmarshalJSON decodes the member that is sent. An outcome has an order_id.
func (s *QuotedSide) UnmarshalJSON(raw []byte) error {
	var is struct {
		Error   *Error `json:"error"`
		OrderID *U64   `json:"order_id"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return err
	}
	switch *s = (QuotedSide{Error: is.Error}); {
	case is.Error != nil:
		return nil
	case is.OrderID != nil:
		s.Outcome = new(QuoteOutcome)
		return json.Unmarshal(raw, s.Outcome)
	}
	s.Emptied = new(QuoteEmptied)
	return json.Unmarshal(raw, s.Emptied)
}

// QuoteResult is the result of a quote.
type QuoteResult struct {
	MarketID uint32     `json:"market_id"`
	GroupID  uint32     `json:"group_id"`
	Bid      QuotedSide `json:"bid"`
	Ask      QuotedSide `json:"ask"`
}

// Sides returns the results of both sides.
func (r *QuoteResult) Sides() []*QuotedSide { return []*QuotedSide{&r.Bid, &r.Ask} }

// QuoteResults is the result of some quotes. The agent lane returns this object, REST the bare array.
type QuoteResults struct {
	Results []QuoteResult `json:"results" nullable:"false"`
}

// Unfinished reports whether the same request may still execute a side.
func (r *QuoteResults) Unfinished() bool {
	for i := range r.Results {
		for _, s := range r.Results[i].Sides() {
			if s.Error != nil && s.Error.Retry() != Never {
				return true
			}
		}
	}
	return false
}
