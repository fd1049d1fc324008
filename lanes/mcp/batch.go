package mcp

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// encodeOutput encodes the output of an operation, with the members that the tool adds. The rejected items of a batch get hints
// like a rejected single call.
func (l *Lane) encodeOutput(c *call, t *tool, in, out any) (jsontext.Value, error) {
	var items batchItems
	switch out := out.(type) {
	case *schemas.PlaceResults:
		orders := in.(*schemas.PlaceOrders).Orders
		for i, r := range out.Results {
			items.add(r.Outcome, r.Error, &orders[i])
		}
	case *schemas.CancelResults:
		ids := in.(*schemas.CancelOrders).OrderIDs
		for i, r := range out.Results {
			items.add(r.Canceled, r.Error, &schemas.CancelOneOrder{OrderID: &ids[i]})
		}
	}
	if !items.rejected {
		b, err := gate.EncodeJSON(out)
		if err != nil {
			return nil, err
		}
		b = l.completeRows(c, t, in, b)
		switch out := out.(type) {
		case *schemas.Outcome:
			b = hintCanceled(b, in.(*schemas.PlaceOrder), out.Reason)
		case *schemas.Replacement:
			b = hintCanceled(b, l.gate.Venue.Placement(tools.Caller{User: c.Key.User}, in.(*schemas.ReplaceOrder)), out.Reason)
		case *schemas.Preview:
			b = hintCanceled(b, in.(*schemas.PlaceOrder), out.Reason)
		}
		return b, nil
	}
	return l.completeRows(c, t, in, mustEncode(struct {
		Results []any `json:"results"`
	}{items.addHints(l, c, t)})), nil
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
		r, x.rejected = schemas.Ptr(schemas.ToolErrorOf(*e)), true
	}
	x.done, x.errors, x.in = append(x.done, done), append(x.errors, r), append(x.in, in)
}

// addHints adds hints to the rejected items. Twenty of them must fit into one result, so
// the general part of a hint and the same next call appear once, and a duplicate shows
// only the id of the first order.
func (x *batchItems) addHints(l *Lane, c *call, t *tool) []any {
	results := make([]any, len(x.done))
	said, named := map[string]bool{}, map[string]bool{}
	for i, r := range x.errors {
		if r == nil {
			results[i] = x.done[i]
			continue
		}
		results[i] = r
		one := l.hintsFor(c, t, x.in[i], r)
		one.addHints()
		if one.general != "" && said[one.general] {
			if r.Hint = strings.TrimSpace(strings.TrimSuffix(r.Hint, one.general)); r.Hint == "" {
				r.Hint = "See the first " + r.Error.Code + "."
			}
		}
		said[one.general] = true
		if r.Order != nil {
			r.Order, r.Field, r.Got = nil, "", nil
		}
		if r.Next != nil && r.Next.Tool == tools.PreviewOrder.Name {
			r.Next = nil // twenty orders would not fit
		}
		if r.Next != nil {
			call := string(mustEncode(r.Next))
			if named[call] {
				r.Next = nil
			}
			named[call] = true
		}
	}
	return results
}
