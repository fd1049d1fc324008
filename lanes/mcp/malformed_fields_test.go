package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"duplex/schemas"
)

// sound are arguments that an operation takes, where they cannot be made from the schema alone.
var sound = map[string]string{
	"place_order":        buyOf("tif", `"gtt"`, "expiry_ts", `"9000000000000000000"`, "group_id", "1", "post_only", "true", "reduce_only", "false", "cancel_on_pause", "false", "stp_maker", "false"),
	"preview_order":      buyOf("tif", `"gtt"`, "expiry_ts", `"9000000000000000000"`, "group_id", "1", "post_only", "true"),
	"place_orders":       `{"orders":[` + buyOf() + `]}`,
	"replace_order":      `{"order_id":"RESTING","client_order_id":"900","tick":4000,"qty":5,"type":"limit","tif":"gtc","group_id":1,"post_only":false}`,
	"decrease_order":     `{"order_id":"RESTING","reduce_to":1}`,
	"submit_forecast":    `{"market_id":1,"generation":1,"p":6000}`,
	"get_round_evidence": `{"market_id":1,"round_number":"1"}`,
	"get_price_history":  `{"feed":0}`,
	"request_withdrawal": `{"client_withdrawal_id":"w","amount":"1","destination":"d"}`,
	"arm_deadman":        `{"timeout_ms":5000}`,
	"set_group":          `{"group_id":7,"fill_limit":5,"window_ms":5000}`,
}

// TestMalformedFields makes every member of every operation wrong in each way that its schema forbids: REST and the
// tool name the member, and REST has a hint.
func TestMalformedFields(t *testing.T) {
	t.Parallel()
	d, resting := mistaken(t)
	d.Venue.Config.WriteFloor = 1_000_000
	n := 0
	for _, tool := range d.lane.tools {
		if tool.spec.Path == "" || tool.spec.Name == "cancel_order" {
			continue // no route, or two
		}
		in := tool.newInput()
		switch in.(type) { // a tool has arguments that its route does not have
		case *schemas.OrderArguments:
			in = new(schemas.PlaceOrder)
		case *schemas.ForecastArguments:
			in = new(schemas.SubmitForecast)
		}
		base := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(soundArguments(tool.spec.Name, in)), &base); err != nil {
			t.Fatal(tool.spec.Name, err)
		}
		for _, m := range schemas.Members(reflect.TypeOf(in).Elem()) {
			for what, v := range wrongValues(&m) {
				arguments := maps.Clone(base)
				field := m.Name
				switch what {
				case "missing":
					if m.Optional || slices.Contains(schemas.PathFields(in), m.Name) || base[m.Name] == nil {
						continue
					}
					delete(arguments, m.Name)
				case "unknown":
					if slices.Contains(schemas.PathFields(in), m.Name) {
						continue
					}
					field += "x"
					arguments[field] = json.RawMessage("1")
				default:
					arguments[m.Name] = v
				}
				n++
				for name, used := range map[string]string{"order_id": `"RESTING"`, "client_order_id": `"900"`} {
					switch {
					case string(arguments[name]) != used || name == field:
					case name == "order_id":
						arguments[name] = json.RawMessage(fmt.Sprintf("%q", resting))
					default: // an order that is rejected uses its id up
						arguments[name] = json.RawMessage(fmt.Sprintf(`"%d"`, 10_000+n))
					}
				}
				d.checkMalformed(tool, in, arguments, field, what)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d malformed requests, want at least 60", n)
	}
	t.Logf("%d malformed requests", n)
}

// soundArguments returns arguments with the required members alone, or those of the table above.
func soundArguments(tool string, in any) string {
	if text := sound[tool]; text != "" {
		return text
	}
	var list []string
	for _, m := range schemas.Members(reflect.TypeOf(in).Elem()) {
		if m.Optional {
			continue
		}
		value := `"1"`
		if one := elemOf(m.Type); one == reflect.TypeFor[schemas.Int]() {
			value = "1"
		} else if one.Kind() == reflect.Slice {
			value = `["1"]`
		}
		list = append(list, fmt.Sprintf("%q:%s", m.Name, value))
	}
	return "{" + strings.Join(list, ",") + "}"
}

func elemOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// wrongValues returns a value for each way in which a member can be wrong; "missing" and "unknown" have none.
func wrongValues(m *schemas.Member) map[string]json.RawMessage {
	out := map[string]json.RawMessage{"missing": nil, "unknown": nil, "null": json.RawMessage("null"), "type": json.RawMessage(`{"x":1}`)}
	switch one := elemOf(m.Type); {
	case one == reflect.TypeFor[schemas.Int]() && m.Max != nil:
		out["range"] = json.RawMessage(fmt.Sprint(*m.Max + 1))
	case one == reflect.TypeFor[schemas.U64]():
		out["range"] = json.RawMessage(`"18446744073709551616"`)
	case m.Enum != nil:
		out["range"] = json.RawMessage(`"zzz"`)
	case one.Kind() == reflect.Slice:
		out["range"] = json.RawMessage(`[{"x":1}]`)
	}
	return out
}

// checkMalformed sends a malformed request on both lanes.
func (d *testVenue) checkMalformed(tool *tool, in any, arguments map[string]json.RawMessage, field, what string) {
	d.T.Helper()
	name := fmt.Sprintf("%s, %s %s", tool.spec.Name, field, what)
	path, query, body := tool.spec.Path, url.Values{}, map[string]json.RawMessage{}
	text := func(v json.RawMessage) string {
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
		return string(v)
	}
	inPath, inQuery := schemas.PathFields(in), schemas.QueryFields(in)
	for member, v := range arguments {
		of := strings.TrimSuffix(member, "x")
		switch {
		case slices.Contains(inPath, member):
			path = strings.ReplaceAll(path, "{"+member+"}", url.PathEscape(text(v)))
		case slices.Contains(inQuery, member) || slices.Contains(inQuery, of) && member == field:
			query.Set(member, text(v))
		default:
			body[member] = v
		}
	}
	if strings.Contains(path, "%") || what == "null" && (slices.Contains(inQuery, field) || slices.Contains(inPath, field)) {
		return // no such path is reached, and null is a text there
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	sent := ""
	if len(body) > 0 || len(schemas.BodyFields(in)) > 0 {
		b, err := json.Marshal(body)
		if err != nil {
			d.T.Fatal(err)
		}
		sent = string(b)
	}
	status, answer := d.Call(d.alice, tool.spec.Method, path, sent)
	var e struct {
		Error struct{ Code, Field, Hint string }
	}
	if err := json.Unmarshal([]byte(answer), &e); err != nil || status < 400 || !named(e.Error.Field, field) || e.Error.Hint == "" {
		d.T.Errorf("%s: %s %s %s: %d %s, want the field %s and a hint", name, tool.spec.Method, path, sent, status, answer, field)
	}
	if what == "null" {
		return // a tool takes it for absent
	}
	if id := arguments["client_order_id"]; id != nil && field != "client_order_id" {
		arguments["client_order_id"] = json.RawMessage(strings.Replace(string(id), `"1`, `"2`, 1))
	}
	b, err := json.Marshal(arguments)
	if err != nil {
		d.T.Fatal(err)
	}
	r := d.callTool(d.alice, tool.spec.Name, string(b))
	var refused struct {
		Error struct{ Code string }
		Field string
	}
	if err := json.Unmarshal(r.StructuredContent, &refused); err != nil || !r.IsError || refused.Field != e.Error.Field || slices.Contains(schemas.BodyFields(in), field) && refused.Error.Code != e.Error.Code {
		d.T.Errorf("%s: %s as a tool: %s, want the field of REST, and of a body its code: %s", name, b, r.StructuredContent, answer)
	}
}

// named reports whether a field is the one that is wrong, or an item of it.
func named(field, want string) bool { return field == want || strings.HasPrefix(field, want+"[") }
