package schemas

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// OrderArguments are the arguments of the tools place_order and preview_order: an order that may say
// what to spend, and how long to rest, in place of the members of the route
// (docs/rules/agents.md#arguments).
type OrderArguments struct {
	PlaceOrder
	Dollars     *Dollars `json:"dollars,omitempty" replaces:"qty,max_cost" exact:"true" doc:"Market buy: dollars to spend with fees, instead of qty and max_cost"`
	ExpiresInMs *Int     `json:"expires_in_ms,omitempty" replaces:"expiry_ts" minimum:"1000" maximum:"86400000" doc:"Instead of expiry_ts"`
}

// Check applies the rules of an order, with the members that dollars and expires_in_ms replace.
func (a *OrderArguments) Check() *Fault {
	o := a.PlaceOrder
	if a.Dollars != nil {
		switch {
		case a.Qty != 0 || a.MaxCost != 0:
			return schemaViolation("dollars", "they replace qty and max_cost: leave these out")
		case a.Side == "sell":
			return schemaViolation("dollars", "they are for buys: a sell has qty")
		case a.Type == "limit":
			return schemaViolation("dollars", "they are for market orders: a limit order has qty and tick")
		}
		o.Type, o.Qty, o.MaxCost = "market", 1, 1
	}
	if a.ExpiresInMs != nil {
		switch {
		case a.ExpiryTs != nil && *a.ExpiryTs != 0:
			return schemaViolation("expires_in_ms", "it replaces expiry_ts: leave expiry_ts out")
		case o.IsMarket():
			return schemaViolation("expires_in_ms", "a market order does not rest: leave it out")
		case o.TIF == "":
			o.TIF = "gtt"
		}
		o.ExpiryTs = Ptr(U64(1))
	}
	return o.Check()
}

// checkArguments applies the rules that an order of a tool has in addition. A tick in cents is no legal price;
// worst_tick has no grid, and one in cents would be no bound.
func (o *PlaceOrder) checkArguments() *Fault {
	if t := o.WorstTick; t != nil && *t < 100 {
		return schemaViolation("worst_tick", fmt.Sprintf("%d is not cents: %[1]d cents is %[1]d00", int64(*t)))
	}
	return nil
}

// Dollars is an amount of a tool's arguments, in pips: a JSON number or a string over 0 with at most two
// decimals.
type Dollars uint64

// maxDollars is the most that Dollars hold, in pips: $1 billion, as a deposit.
const maxDollars = 10_000_000_000_000

// UnmarshalJSONFrom accepts a number or a string of digits with at most two decimals.
func (d *Dollars) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := unquote(v)
	n, err := parseFixed([]byte(text), usdPlaces)
	if _, cents, _ := strings.Cut(text, "."); err != nil || n == 0 || n > maxDollars || len(cents) > 2 {
		return errDollars
	}
	*d = Dollars(n)
	return nil
}

// MarshalJSONTo writes the string.
func (d Dollars) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(string(appendFixed(nil, uint64(d), usdPlaces))))
}

// maxExactInteger is the largest integer that every JSON library keeps exactly: 2^53 − 1.
const maxExactInteger = 1<<53 - 1

// lossless returns v in the form of f if it converts without loss, else v: digits in a string and an
// integer for each other, an integer with a fraction of 0, "true" and "false", and words in another case.
// The caller leaves out prices and amounts, where another form often means another unit.
func (f *field) lossless(v jsontext.Value) jsontext.Value {
	if f.list && v.Kind() == '[' && f.kind != kindObject {
		return f.losslessItems(v)
	}
	switch text := unquote(v); f.kind {
	case kindInt:
		if whole, fraction, ok := strings.Cut(text, "."); ok && v.Kind() == '0' && fraction != "" && strings.Trim(fraction, "0") == "" {
			text = whole
		}
		if n := new(Int); n.parse([]byte(text)) == nil {
			return jsontext.Value(text)
		}
	case kindU64:
		if n := new(Int); v.Kind() == '0' && n.parse(v) == nil && *n >= 0 && *n <= maxExactInteger {
			return jsontext.Value(strconv.Quote(text))
		}
	case kindBool:
		if v.Kind() == '"' && (text == "true" || text == "false") {
			return jsontext.Value(text)
		}
	case kindString:
		if lower := strings.ToLower(text); v.Kind() == '"' && (f.Parts != nil || slices.Contains(f.Enum, lower)) {
			b, err := jsontext.AppendQuote(nil, lower)
			if err != nil {
				panic(err) // it was decoded from JSON
			}
			return b
		}
	}
	return v
}

// losslessItems converts each item of a list.
func (f *field) losslessItems(v jsontext.Value) jsontext.Value {
	one := *f
	one.list = false
	out := jsontext.Value{'['}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	mustRead(dec)
	for dec.PeekKind() != ']' {
		x, err := dec.ReadValue()
		if err != nil {
			panic(err) // the whole value was validated before
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, one.lossless(x)...)
	}
	return append(out, ']')
}
