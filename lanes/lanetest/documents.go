package lanetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/view"
	"duplex/schemas"
)

// Named returns the distinct names of the values of an enumeration, from first on. String
// panics for the value after the last one, which fmt reports as "%!v(PANIC=...)".
func Named[E ~uint8](first E) (out []string) {
	for e := first; ; e++ {
		name := fmt.Sprint(e)
		if strings.HasPrefix(name, "%!") {
			return out
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
}

// semantic matches a version of semver.org.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// IsSemantic reports whether a version is semantic, as generators and registries expect it.
func IsSemantic(version string) bool { return semantic.MatchString(version) }

// fixedValues has the values of each string that has a fixed set of them, by its member, or by component and
// member where members of one name differ. They come from the program, not from its schemas.
func fixedValues() map[string][]string {
	orders, rounds, outcomes := core.OrderStatuses(), Named(core.Trading), Named(core.Yes)
	placed := orders[:core.Canceled+1]
	var origins []string
	for _, e := range schemas.ErrorTable {
		if !slices.Contains(origins, e.Origin) {
			origins = append(origins, e.Origin)
		}
	}
	var rejects []string
	for _, r := range core.Rejects() {
		if !r.Registered() {
			continue
		}
		rejects = append(rejects, r.String())
	}
	var wsErrors []string
	for _, e := range schemas.WSErrorTable {
		wsErrors = append(wsErrors, e.Name)
	}
	out := map[string][]string{
		"side": Named(core.Buy), "taker_side": Named(core.Buy), "outcome": outcomes, "taker_outcome": outcomes, "winner": outcomes,
		"type": Named(core.Limit), "ReplaceOrder.type": {core.Limit.String()}, "tif": Named(core.GTC), "path": Named(core.Direct),
		"LedgerRow.kind": view.LedgerKinds(), "list_ledger.kind": view.LedgerKinds(), "list_orders.status": orders, "list_markets.status": rounds,
		"Outcome.status": placed, "Preview.status": placed, "Replacement.status": placed, "QuoteOutcome.status": placed, "Canceled.status": {core.Canceled.String()},
		"Decreased.status": {core.Resting.String(), core.PartiallyFilled.String(), core.Canceled.String()},
		"outcome_status":   {core.Settled.String(), core.Void.String()}, "state": Named(core.AgentActive), "scopes": core.Scopes(255).Names(),
		"cause": Named(core.CauseOrder), "code": schemas.Codes(), "origin": origins, "channel": schemas.WSChannels, "channels": schemas.WSChannels, "WSError.name": wsErrors,
		"role": {"maker", "taker"}, "clock": {"wall", "virtual"}, "Account.kind": {"owner", "agent"}, "action": {"get_snapshot", "add_markets", "delete_markets"},
		"GroupEvent.change":    core.GroupChanges(),
		"AgentApproval.status": core.AskStatuses(), "AgentApprovalRead.status": core.AskStatuses(), "list_approvals.status": core.AskStatuses(), "Waiting.status": {core.AskWaiting.String()},
	}
	reasons := core.Reasons()
	for _, name := range []string{"Outcome", "Preview", "Replacement", "QuoteOutcome"} {
		out[name+".reason"] = reasons
	}
	for _, name := range []string{"Order", "OrderRead"} {
		out[name+".status"], out[name+".reason"] = orders, slices.Concat([]string{""}, reasons, rejects)
	}
	for _, name := range []string{"Market", "MarketRead", "Round", "RoundRead", "AccountRound", "Evidence"} {
		out[name+".status"] = rounds
	}
	for _, name := range []string{"Withdrawal", "WithdrawalRead", "WithdrawalEvent"} {
		out[name+".status"], out[name+".state"] = []string{"pending", "completed", "rejected"}, core.WithdrawalStates()
	}
	return out
}

// CheckSchemas checks the schemas of a document, OpenAPI or AsyncAPI, as generators need them: every object
// and every union is a component, so that it has a name, and every string with a fixed set of values has
// these as its enum. With titles each enum within a component has a title, which names its type.
func CheckSchemas(t *testing.T, raw []byte, titles bool) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	c := schemaCheck{t: t, all: member(doc, "components", "schemas"), values: fixedValues(), titles: titles, met: map[string]bool{}}
	if len(c.all) == 0 {
		t.Fatal("no schemas")
	}
	for _, name := range slices.Sorted(maps.Keys(c.all)) {
		s := c.all[name].(map[string]any)
		c.walk("schema "+name, s, true)
		for m, p := range member(s, "properties") {
			c.checkValues(name, m, p.(map[string]any))
		}
	}
	for _, part := range slices.Sorted(maps.Keys(doc)) {
		if part != "components" {
			c.walk(part, doc[part], false)
		}
	}
	for _, part := range slices.Sorted(maps.Keys(member(doc, "components"))) {
		if part != "schemas" && part != "securitySchemes" {
			c.walk("components "+part, member(doc, "components")[part], false)
		}
	}
	for _, path := range member(doc, "paths") {
		for _, op := range path.(map[string]any) {
			c.checkParameters(op.(map[string]any))
		}
	}
	if len(c.met) < 10 {
		t.Errorf("the document has the members %v of those with a fixed set of values", slices.Sorted(maps.Keys(c.met)))
	}
}

// member returns the object at a path of names, nil if there is none.
func member(at map[string]any, names ...string) map[string]any {
	for _, n := range names {
		at, _ = at[n].(map[string]any)
	}
	return at
}

type schemaCheck struct {
	t      *testing.T
	all    map[string]any // the components
	values map[string][]string
	titles bool
	met    map[string]bool // keys of values that the document has
}

// walk reports each inline object and union at or below v. A component may be one itself.
func (c *schemaCheck) walk(at string, v any, component bool) {
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			c.walk(fmt.Sprintf("%s[%d]", at, i), x, false)
		}
	case map[string]any:
		if !component && isUnnamed(v) {
			c.t.Errorf("%s is an object or a union without a name", at)
		}
		if _, enum := v["enum"].([]any); enum && c.titles && !component && v["title"] == nil {
			c.t.Errorf("%s is an enum without a title", at)
		}
		for name, x := range v {
			switch name {
			case "example", "examples", "enum", "required", "security":
			case "properties":
				for p, s := range x.(map[string]any) {
					c.walk(at+"."+p, s, false)
				}
			default:
				c.walk(at+" "+name, x, false)
			}
		}
	}
}

// isUnnamed reports whether a schema is one for which a generator would have to invent a name. A choice
// between null and one other schema needs none.
func isUnnamed(s map[string]any) bool {
	types, _ := s["type"].([]any)
	_, properties := s["properties"].(map[string]any)
	_, extra := s["additionalProperties"].(map[string]any)
	if s["type"] == "object" || slices.Contains(types, any("object")) || properties || extra {
		return true
	}
	for _, choice := range []string{"oneOf", "anyOf"} {
		list, _ := s[choice].([]any)
		n := 0
		for _, x := range list {
			if one, ok := x.(map[string]any); ok && one["type"] != "null" {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// checkParameters checks the lists of values among an operation's parameters.
func (c *schemaCheck) checkParameters(op map[string]any) {
	list, _ := op["parameters"].([]any)
	for _, x := range list {
		p := x.(map[string]any)
		name, _ := p["name"].(string)
		s := member(p, "schema")
		if s["type"] == "array" && (p["style"] != "form" || p["explode"] != false) {
			c.t.Errorf("%s of %s is not comma-separated", name, op["operationId"])
		}
		c.checkValues(fmt.Sprint(op["operationId"]), name, s)
	}
}

// checkValues compares the enum of a member, or of its items, with the program's values.
func (c *schemaCheck) checkValues(of, name string, s map[string]any) {
	if items := member(s, "items"); items != nil {
		s = items
	}
	if ref, ok := s["$ref"].(string); ok {
		s = c.all[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
	}
	types, _ := s["type"].([]any)
	null := slices.Contains(types, any("null"))
	if s["type"] != "string" && !slices.Contains(types, any("string")) || s["const"] != nil {
		return
	}
	key := of + "." + name
	want, fixed := c.values[key]
	if !fixed {
		if want, fixed = c.values[name]; fixed {
			key = name
		}
	}
	enum, has := s["enum"].([]any)
	var got []string
	for _, v := range enum {
		if v != nil {
			got = append(got, v.(string))
		}
	}
	if fixed {
		c.met[key] = true
	}
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); fixed != has || !slices.Equal(got, want) || has && null != slices.Contains(enum, nil) {
		c.t.Errorf("%s.%s: enum %q, null %t; the program has %q", of, name, enum, null, want)
	}
}
