package arena

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"duplex/lanes/mcp"
	"duplex/tools"
)

// ordersIn returns the orders that a call places, over REST or with a tool: one, those of a batch, one in the
// stead of another, or the sides of quotes.
func ordersIn(r *callRow) []wireOrder {
	path, _, _ := strings.Cut(r.Target, "?")
	name, body := r.tool(), r.Body
	if path == mcp.Path {
		name, body = toolIn(r)
	} else if r.Method == "PUT" && path == tools.PutQuotes.Path {
		name = tools.PutQuotes.Name
	} else if r.Method != "POST" {
		return nil
	}
	id, replaces := strings.CutSuffix(strings.TrimPrefix(path, "/v1/portfolio/orders/"), "/replace")
	var batch struct{ Orders []wireOrder }
	switch {
	case name == tools.PlaceOrders.Name || path == tools.PlaceOrders.Path:
		if json.Unmarshal(body, &batch) != nil {
			return nil
		}
		return batch.Orders
	case name == tools.PutQuotes.Name:
		return sidesIn(body)
	case name == tools.PlaceOrder.Name || path == tools.PlaceOrder.Path:
		id = ""
	case name == tools.ReplaceOrder.Name || replaces:
	default:
		return nil
	}
	var o wireOrder
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	o.Replaces = cmp.Or(o.Replaces, id)
	return []wireOrder{o}
}

// sidesIn returns the sides of quotes that are not null, as orders of YES.
func sidesIn(body []byte) (list []wireOrder) {
	var in struct {
		Quotes []struct {
			Market   uint32 `json:"market_id"`
			Bid, Ask *wireOrder
		}
	}
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	for _, q := range in.Quotes {
		for i, o := range []*wireOrder{q.Bid, q.Ask} {
			if o != nil {
				o.Market, o.Side, o.Outcome, o.Quotes = q.Market, [...]string{"buy", "sell"}[i], "yes", true
				list = append(list, *o)
			}
		}
	}
	return list
}

// wireOrder is an order as a call has it. A replace has no market, side and outcome, but the order in
// whose stead it is.
type wireOrder struct {
	Quotes   bool   `json:"-"` // a side of a quote, of which the group has one at most however often it is sent
	ClientID string `json:"client_order_id"`
	Replaces string `json:"order_id"`
	Market   uint32 `json:"market_id"`
	Side     string `json:"side"`
	Outcome  string `json:"outcome"`
	Tick     int32  `json:"tick"`
	Worst    int32  `json:"worst_tick"`
	Qty      int64  `json:"qty"`
}

// tool returns the name of the tool that a call uses, also of a baseline; "" if it uses none.
func (r *callRow) tool() string {
	if r.Tool != "" {
		return r.Tool
	}
	if path, _, _ := strings.Cut(r.Target, "?"); path != mcp.Path {
		return ""
	}
	name, _ := toolIn(r)
	return name
}

// toolIn returns the tool that a call over the agent lane names.
func toolIn(r *callRow) (name string, arguments json.RawMessage) {
	var m struct {
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if json.Unmarshal(r.Body, &m) != nil || m.Method != "tools/call" {
		return "", nil
	}
	return m.Params.Name, m.Params.Arguments
}

// looksUp reports whether a call shows the outcome of an order: it lists or reads orders, or repeats
// the placement.
func looksUp(r *callRow, o *wireOrder) bool {
	if again := ordersIn(r); len(again) > 0 {
		return slices.ContainsFunc(again, func(x wireOrder) bool { return x.ClientID == o.ClientID })
	}
	if name := r.tool(); name != "" {
		return name == "list_orders" || name == "get_order" || name == "list_fills" || name == "list_positions" || name == "get_pnl"
	}
	if r.Method != "GET" {
		return false
	}
	u, err := url.Parse(r.Target)
	if err != nil {
		return false
	}
	return strings.HasPrefix(u.Path, "/v1/portfolio/orders") || slices.Contains([]string{"/v1/portfolio/fills", "/v1/portfolio/positions", "/v1/portfolio/pnl"}, u.Path)
}
