package mcp

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// correctedRead returns the same read with arguments in the form that it takes, or nil. A filter that cannot
// be read is never dropped; a cursor is, since the list begins again.
func (x *hintBuilder) correctedRead() *schemas.NextCall {
	switch x.Error.Code {
	case "schema_violation", "unknown_field", "bad_cursor", "invalid_timeout":
	default:
		return nil
	}
	if !x.tool.spec.ReadOnly() || x.tool.spec == &tools.PreviewOneOrder.Spec {
		return nil
	}
	in := x.tool.newInput()
	g := newGuess(x.venue, in, x.arguments())
	for _, m := range schemas.Members(reflect.TypeOf(in).Elem()) {
		v, ok := g.sent[m.Name]
		switch {
		case m.Name == "cursor":
		case ok:
			value, ok := g.member(&m, v)
			if !ok {
				return nil
			}
			g.meant[m.Name] = value
		case m.Name == "after_seq":
			x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { g.meant[m.Name] = fmt.Sprint(v.Now().Seq) })
		}
	}
	if g.lost || schemas.DecodeArguments(mustEncode(g.meant), x.tool.newInput()) != nil {
		return nil
	}
	return &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: g.meant}
}

// member reads an argument of a read in the form that its member takes.
func (g *guess) member(m *schemas.Member, v jsontext.Value) (any, bool) {
	one := m.Type
	if one.Kind() == reflect.Pointer {
		one = one.Elem()
	}
	text := strings.ToLower(textOf(v))
	switch {
	case one.Kind() == reflect.Slice:
		return g.items(m, v)
	case m.Name == "market_id":
		return g.market(v)
	case m.FromTable():
		if s, ok := seriesNamed(text); ok && m.Name == "feed" {
			return int64(s.Feed), true
		} else if ok {
			return int64(s.Category), true
		}
		n, ok := numberOf(v)
		return int64(n), ok
	case one == reflect.TypeFor[schemas.U64]():
		n, err := strconv.ParseUint(text, 10, 64)
		return strconv.FormatUint(n, 10), err == nil
	case one == reflect.TypeFor[schemas.Int]():
		n, ok := numberOf(v)
		lo, hi := int64(0), int64(schemas.U32Max)
		if m.Min != nil {
			lo = *m.Min
		}
		if m.Max != nil {
			hi = *m.Max
		}
		return max(lo, int64(min(n, float64(hi)))), ok
	case one.Kind() == reflect.Bool:
		return boolean(g, v)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	for i, w := range words {
		words[i] = cmp.Or(filterWords[w], w)
	}
	return strings.Join(words, ","), len(words) > 0
}

// filterWords are words of other venues for those of filters.
var filterWords = map[string]string{
	"open": openStatuses, "live": openStatuses, "active": openStatuses, "pending": openStatuses, "filled": "executed", "cancelled": "canceled",
	"orders": "order", "fills": "fill", "trades": "fill", "trade": "fill", "positions": "position", "rounds": "round", "settlements": "settlement",
}

// items reads a list, or one value in the place of a list.
func (g *guess) items(m *schemas.Member, v jsontext.Value) (any, bool) {
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		for w := range strings.SplitSeq(textOf(v), ",") {
			list = append(list, mustEncode(strings.TrimSpace(w)))
		}
	}
	one := *m
	one.Type = m.Type.Elem()
	if m.Name == "market_ids" {
		one.Name = "market_id"
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		x, ok := g.member(&one, v)
		if !ok {
			return nil, false
		}
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out, len(out) > 0
}
