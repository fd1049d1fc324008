package mcp

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestRows tests that a row is encoded as it was parsed, and that texts do not end its members.
func TestRows(t *testing.T) {
	t.Parallel()
	for text, members := range map[string]int{
		`{}`:      0,
		`{"a":1}`: 1,
		`{"a":"x,\"}]{[\\","b":[],"c":[1,[2,{"d":","}]],"e":{"f":{}},"g":null,"h":""}`: 6,
		`{"a":"\\\\","b":"\\\"","c":-1}`:                                               3,
	} {
		r := parseRow(jsontext.Value(text))
		if got := string(r.encode()); got != text || len(r) != members {
			t.Errorf("%s: %d members, encoded as %s", text, len(r), got)
		}
	}
	items := arrayItems(jsontext.Value(`[{"a":[1,2]},"x,y",3,[],""]`))
	if len(items) != 5 || string(items[0]) != `{"a":[1,2]}` || string(items[1]) != `"x,y"` || string(items[4]) != `""` {
		t.Errorf("%s", items)
	}
	if items := arrayItems(jsontext.Value(`[]`)); len(items) != 0 {
		t.Errorf("%s", items)
	}
}
