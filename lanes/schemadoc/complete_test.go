package schemadoc

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"duplex/core"
	"duplex/schemas"
)

// sample has a member of each kind that Complete changes.
type sample struct {
	Count    uint32           `json:"count"`
	Winner   *string          `json:"winner" enum:"yes,no"`
	Code     string           `json:"code" values:"ErrorCode" doc:"Why"`
	Details  *schemas.Details `json:"details"`
	Category *schemas.Int     `json:"category,omitempty" table:"category" doc:"One of {names}"`
	Name     string           `json:"name"`
}

// TestComplete checks each change of a schema, and that completing twice changes nothing more.
func TestComplete(t *testing.T) {
	reg := huma.NewMapRegistry(Prefix, huma.DefaultSchemaNamer)
	reg.Schema(reflect.TypeFor[sample](), true, "")
	CompleteAll(reg)
	once := encode(t, reg)
	p := reg.Map()["Sample"].Properties
	if p["count"].Format != "int64" {
		t.Errorf("the format of a uint32 is %s, want int64", p["count"].Format)
	}
	if got := encode(t, p["winner"].Enum); got != `["yes","no",null]` || !p["winner"].Nullable {
		t.Errorf("the values of winner are %s, want yes, no and null", got)
	}
	if p["code"].Ref != Prefix+"ErrorCode" || p["code"].Description != "Why" || len(reg.Map()["ErrorCode"].Enum) != len(schemas.Codes()) {
		t.Errorf("code is %s, want a reference to the %d codes", encode(t, p["code"]), len(schemas.Codes()))
	}
	if p["details"].Ref != Prefix+"Details" || reg.Map()["Details"].Type != huma.TypeObject {
		t.Errorf("details is %s, want a reference to a map", encode(t, p["details"]))
	}
	if c := p["category"]; c.Maximum == nil || *c.Maximum != float64(core.SeriesCount) || c.Description == "One of {names}" {
		t.Errorf("category is %s, want the bounds and the names of the series", encode(t, c))
	}
	if p["name"].Enum != nil || p["name"].Ref != "" {
		t.Errorf("name is %s, want any string", encode(t, p["name"]))
	}
	CompleteAll(reg)
	if twice := encode(t, reg); twice != once {
		t.Errorf("completed twice:\n%s\nonce:\n%s", twice, once)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
