package mcp

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// complete suggests the ids of trading markets for the argument market_id of a template or
// a prompt.
func (l *Lane) complete(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		Ref struct {
			Type string `json:"type"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
	}
	if f := c.decodeParams(&in); f != nil {
		return nil, f
	}
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	switch {
	case in.Ref.Type == "ref/resource" && slices.ContainsFunc(templates, func(r resource) bool { return r.URITemplate == in.Ref.URI }):
	case in.Ref.Type == "ref/prompt" && promptOf(in.Ref.Name) != nil:
	default:
		return nil, badParams("ref names no template or prompt")
	}
	values := []string{}
	if in.Argument.Name == "market_id" {
		for _, id := range l.tradingMarkets() {
			if strings.HasPrefix(id, in.Argument.Value) {
				values = append(values, id)
			}
		}
	}
	type completion struct {
		Values  []string `json:"values"`
		Total   int      `json:"total"`
		HasMore bool     `json:"hasMore"`
	}
	return l.encodeResult(c, struct {
		Completion completion `json:"completion"`
	}{completion{values, len(values), false}}, nil), nil
}
