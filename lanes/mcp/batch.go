package mcp

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// encodeOutput encodes the output of an operation, with the members that the tool adds. The rejected items
// of a batch get hints like a rejected single call.
func (l *Lane) encodeOutput(c *call, t *tool, in, out any) (jsontext.Value, error) {
	var items batchItems
	switch out := out.(type) {
	case *schemas.PlaceResults:
		orders := in.(*schemas.PlaceOrders).Orders
		for i, r := range out.Results {
			items.add(r.Placed, r.Error, &orders[i])
		}
	case *schemas.CancelResults:
		ids := in.(*schemas.CancelOrders).OrderIDs
		for i, r := range out.Results {
			items.add(r.Canceled, r.Error, &schemas.CancelOneOrder{OrderID: &ids[i]})
		}
	case *schemas.QuoteResults:
		quotes := in.(*schemas.PutQuotes).Quotes
		for i := range out.Results {
			for _, s := range out.Results[i].Sides() {
				items.add(s, s.Error, &quotes[i])
			}
		}
	}
	if !items.rejected {
		b, err := gate.EncodeJSON(out)
		if err != nil {
			return nil, err
		}
		b = l.completeRows(c, t, in, b)
		switch out := out.(type) {
		case *schemas.QuoteResults:
			if len(b) >= maxAnswerBytes {
				b = mustEncode(quoteRows(out, shortSides(out)))
			}
		case *schemas.Placed:
			if out.Waiting != nil {
				b = hintWaiting(b, out.Waiting)
			} else {
				b = hintCanceled(b, &in.(*schemas.OrderArguments).PlaceOrder, out.Reason)
			}
		case *schemas.Replacement:
			b = hintCanceled(b, l.gate.Venue.Placement(tools.Caller{User: c.Key.User}, in.(*schemas.ReplaceOrder)), out.Reason)
		case *schemas.Preview:
			b = hintCanceled(b, &in.(*schemas.OrderArguments).PlaceOrder, out.Reason)
		}
		return b, nil
	}
	results := items.addHints(l, c, t)
	if quotes, ok := out.(*schemas.QuoteResults); ok {
		return mustEncode(quoteRows(quotes, results)), nil
	}
	return l.completeRows(c, t, in, mustEncode(batchAnswer{results})), nil
}

type batchAnswer struct {
	Results []any `json:"results"`
}

// quoteRows puts the results of sides in place of those of some quotes.
func quoteRows(q *schemas.QuoteResults, sides []any) batchAnswer {
	rows := make([]any, len(q.Results))
	for i, r := range q.Results {
		rows[i] = struct {
			MarketID uint32 `json:"market_id"`
			GroupID  uint32 `json:"group_id"`
			Bid      any    `json:"bid"`
			Ask      any    `json:"ask"`
		}{r.MarketID, r.GroupID, sides[2*i], sides[2*i+1]}
	}
	return batchAnswer{rows}
}

// shortSides returns the results of sides without their defaults, so that forty of them fit into one answer.
func shortSides(q *schemas.QuoteResults) (sides []any) {
	for i := range q.Results {
		for _, s := range q.Results[i].Sides() {
			sides = append(sides, parseRow(mustEncode(s)).withoutDefaults().encode())
		}
	}
	return sides
}

// batchItems are the items of a batch's result.
type batchItems struct {
	done     []any                // nil where the item was rejected
	errors   []*schemas.ToolError // nil where the item was executed
	in       []any
	rejected bool // any item
}

func (x *batchItems) add(done any, e *schemas.Error, in any) {
	var r *schemas.ToolError
	if e != nil {
		r, x.rejected = schemas.Ptr(schemas.ToolErrorOf(e.Bare())), true
	}
	x.done, x.errors, x.in = append(x.done, done), append(x.errors, r), append(x.in, in)
}

// addHints adds hints to the rejected items. So that twenty of them fit into one result, the general part
// of a hint and the market of a slot appear once, a duplicate shows only the id of the first order, and if
// that is not enough, an item says what the first one of its code does. If that is not enough either, the last
// ones of a code have no next: what led on from the first leads on from them.
func (x *batchItems) addHints(l *Lane, c *call, t *tool) []any {
	results := make([]any, len(x.done))
	said, shown, taken := map[string]bool{}, map[uint32]bool{}, map[string]bool{}
	for i, r := range x.errors {
		if r == nil {
			results[i] = x.done[i]
			continue
		}
		results[i] = r
		one := l.hintsFor(c, t, x.in[i], i, r)
		one.addHints()
		if one.general != "" && said[one.general] {
			r.Hint = cmp.Or(strings.TrimSpace(strings.TrimSuffix(r.Hint, one.general)), asTheFirst)
		}
		said[one.general], r.Order = true, nil
		one.takeID(taken)
		if m := r.Market; m != nil {
			if shown[m.MarketID] {
				r.Market = nil
			}
			shown[m.MarketID] = true
		}
	}
	room := addedRoom
	if t.add == 0 {
		room = 0
	}
	if tooLong(results, room) {
		x.shorten()
	}
	for i := len(results) - 1; i > 0 && tooLong(results, room); i-- {
		if r := x.errors[i]; r != nil && r.Hint == asTheFirst {
			r.Next = nil
		}
	}
	return results
}

// tooLong reports whether results are over maxAnswerBytes, with the room for the members that are added to those of
// orders.
func tooLong(results []any, room int) bool {
	n := len(`{"results":[]}`)
	for _, r := range results {
		n += len(mustEncode(r)) + len(",")
		if _, ok := r.(*schemas.ToolError); !ok {
			n += room
		}
	}
	return n > maxAnswerBytes
}

// addedRoom is what the added members of an outcome take, in bytes.
const addedRoom = 200

// takeID gives the suggested order a free id that no order suggested before has, so that all of them can be
// placed.
func (x *hintBuilder) takeID(taken map[string]bool) {
	if x.Next == nil || x.Next.Tool != tools.PreviewOrder.Name {
		return
	}
	sent, _ := x.Next.Arguments["client_order_id"].(jsontext.Value)
	id, _ := stringOf(sent)
	for taken[id] {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			panic(err) // the venue's own id
		}
		id = x.freeID(schemas.U64(n + 1))
	}
	taken[id], x.Next.Arguments["client_order_id"] = true, id
}

// asTheFirst is the hint of an item that the hint of an earlier one with the same code is true of.
const asTheFirst = "As the first."

// shorten leaves out what the first item of the same code says in other figures.
func (x *batchItems) shorten() {
	const maxGot = 24
	first := map[string]bool{}
	for _, r := range x.errors {
		if r == nil {
			continue
		}
		if first[r.Error.Code] {
			r.Hint, r.Limit, r.Differs, r.Error.Details = asTheFirst, "", nil, nil
		}
		if first[r.Error.Code] = true; len(r.Got) > maxGot {
			r.Got = mustEncode(string(r.Got[:maxGot]) + "…")
		}
	}
}
