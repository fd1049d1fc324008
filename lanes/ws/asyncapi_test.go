package ws

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// messagesOf lists every message of the document.
func messagesOf() (out []messageDoc) {
	for _, c := range commands {
		out = append(out, c.messageDoc)
	}
	return slices.Concat(out, answers, data)
}

// TestExamplesAreRealFrames compares the examples with messages recorded from a running lane,
// except for stamps and ids. -update replaces the examples with the recorded messages.
func TestExamplesAreRealFrames(t *testing.T) {
	got := recordMessages(t)
	rejected := got["error"]
	delete(got, "error") // examplesOf encodes an example of each code itself
	if *update {
		raw, err := json.Marshal(got, json.Deterministic(true), jsontext.WithIndent(" "), jsontext.PreserveRawStrings(true))
		if err != nil {
			t.Fatal(err)
		}
		examplesFile = append(raw, '\n') // TestAsyncAPIIsTheGolden uses the new examples
		if err := os.WriteFile("examples.json", examplesFile, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	examples := examplesOf()
	for _, m := range messagesOf() {
		if m.name == "error" {
			continue
		}
		if len(examples[m.name]) == 0 || len(got[m.name]) == 0 {
			t.Errorf("%s: no example", m.name)
			continue
		}
		if example, sent := withoutIDs(compact(t, examples[m.name][0].Payload)), withoutIDs(string(got[m.name])); example != sent {
			t.Errorf("%s: the lane sent\n%s\nthe example is\n%s", m.name, sent, example)
		}
	}
	if !slices.ContainsFunc(examples["error"], func(e asyncExample) bool { return string(e.Payload) == string(rejected) }) {
		t.Errorf("no example of an error equals %s", rejected)
	}
	for name := range examples {
		if !slices.ContainsFunc(messagesOf(), func(m messageDoc) bool { return m.name == name }) {
			t.Errorf("%s: an example of a message that the document does not have", name)
		}
	}
}

// recordMessages makes the lane send every kind of message and returns the first of each, by
// name.
func recordMessages(t *testing.T) map[string]jsontext.Value {
	s := newTestLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead|core.ScopeTrade))
	other := s.NewKey(1, core.ScopeRead)
	got := map[string]jsontext.Value{}
	var placed uint64
	receive := func() {
		for _, raw := range r.all() {
			if name := nameOf(t, raw); got[name] == nil {
				got[name] = jsontext.Value(raw)
			}
		}
	}
	send := func(command string) {
		if name := nameOf(t, command); got[name] == nil {
			got[name] = jsontext.Value(command)
		}
		r.send(command)
		receive()
	}
	s.act([]string{"place", "1", "buy", "yes", "10", "@", "4700"}, &placed)
	send(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","trades"],"market_ids":[1,2]}}`)
	send(`{"id":2,"cmd":"subscribe","params":{"channels":["oracle","rounds","user"]}}`)
	send(`{"id":3,"cmd":"update_subscription","params":{"sid":1,"action":"add_markets","market_ids":[3]}}`)
	for _, what := range []string{"place 2 buy no 4 @ 5300", "arm", "tick", "deposit"} {
		s.act(strings.Fields(what), &placed)
	}
	s.Submit(&core.RequestWithdrawal{User: 1, ClientID: "rent-11", Amount: 250_000, Destination: "bank-7"})
	s.Submit(&core.RevokeKey{User: 1, Key: other.ID})
	asks := core.Mandate{Set: 1 << core.RuleAskAbove} // about any buy
	s.Submit(&core.CreateAgent{Owner: 1, Name: "scout", Fund: 5_000, Mandate: asks})
	agent := s.dial(s.NewKey(3, core.ScopeRead))
	agent.send(`{"id":1,"cmd":"subscribe","params":{"channels":["user"]}}`)
	agent.all()
	s.Submit(&core.Transfer{Owner: 1, ClientID: "fund-1", From: 1, To: 3, Amount: 10_000})
	s.Submit(&core.PlaceOrder{User: 3, ClientID: 1, Market: 1, Side: core.Buy, Tick: 4700, Qty: 2})
	s.Submit(&core.HaltAgent{Owner: 1, Agent: 3})
	s.Submit(&core.SetGroup{User: 1, Group: 7, FillLimit: 100, WindowMs: 5000})
	s.act([]string{"void"}, &placed)
	s.published()
	receive()
	for _, raw := range agent.all() {
		if name := nameOf(t, raw); name == "user_account" {
			got[name] = jsontext.Value(raw)
		}
	}
	send(`{"id":4,"cmd":"list_subscriptions"}`)
	send(`{"id":6,"cmd":"cancel_on_disconnect","params":{"enabled":true,"group_id":7}}`)
	s.lane.Drain(1_795_403_706_000_000_000)
	receive()
	send(`{"id":5,"cmd":"unsubscribe","params":{"sids":[1,2]}}`)
	send(`{"id":1,"cmd":"unsubscribe","params":{"sids":[1]}}`)
	return got
}

// nameOf returns the document's name of a message.
func nameOf(t *testing.T, raw string) string {
	var m struct {
		Cmd, Type string
		Msg       struct {
			Event         string
			Subscriptions jsontext.Value
			Enabled       *bool
		}
	}
	if err := json.Unmarshal([]byte(raw), &m, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	switch {
	case m.Cmd != "":
		return m.Cmd
	case m.Type == "user":
		return "user_" + m.Msg.Event
	case m.Type != "ok":
		return m.Type
	case m.Msg.Subscriptions != nil:
		return "subscriptions"
	case m.Msg.Enabled != nil:
		return "bound"
	default:
		return "subscription_updated"
	}
}

var ids = regexp.MustCompile(`"(withdrawal_id|api_key)":"[^"]*"`)

// withoutIDs replaces everything that differs from run to run.
func withoutIDs(raw string) string { return ids.ReplaceAllString(varying(raw), `"$1":"S"`) }

func compact(t *testing.T, raw []byte) string {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Compact(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// TestExamplesDecodeStrictly checks that each example decodes into its type without unknown
// members and encodes to the same text.
func TestExamplesDecodeStrictly(t *testing.T) {
	examples := examplesOf()
	for _, c := range commands {
		for _, e := range examples[c.name] {
			cmd, fault := schemas.DecodeWSCommand(e.Payload)
			in := reflect.New(c.msgType).Interface()
			if fault == nil {
				fault = schemas.DecodeOptional(cmd.Params, in)
			}
			if fault != nil || cmd.Cmd != c.name {
				t.Errorf("%s: %v in %s", c.name, fault, e.Payload)
			}
		}
	}
	for _, m := range answers {
		for _, e := range examples[m.name] {
			msg := reflect.New(m.msgType).Interface()
			checkRoundTrip(t, m.name, compact(t, e.Payload), &schemas.WSAnswer{Msg: msg})
		}
	}
	for _, m := range data {
		for _, e := range examples[m.name] {
			checkRoundTrip(t, m.name, compact(t, e.Payload), &schemas.WSData[any]{Msg: reflect.New(m.msgType).Interface()})
		}
	}
}

func checkRoundTrip(t *testing.T, name, raw string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), into, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("%s: %v in %s", name, err, raw)
		return
	}
	if out, err := schemas.Append(nil, into); err != nil || string(out) != raw {
		t.Errorf("%s: got\n%s, %v\nwant\n%s", name, out, err, raw)
	}
}

func TestAsyncAPIIsTheGolden(t *testing.T) {
	raw := append(AsyncAPI("0.0.0", "http://127.0.0.1:8080"), '\n')
	path := filepath.Join("testdata", "asyncapi.json")
	if *update {
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(want, raw) {
		t.Errorf("the document differs from %s (%v); -update rewrites it", path, err)
	}
}

// TestAsyncAPIIsForGenerators checks that a generator has a name for every type, the values of every string
// with a fixed set of them, and a semantic version.
func TestAsyncAPIIsForGenerators(t *testing.T) {
	raw := AsyncAPI("dev", "http://127.0.0.1:8080")
	lanetest.CheckSchemas(t, raw, true)
	var doc struct {
		Info       struct{ Version string }
		Components struct {
			Messages map[string]struct{ Payload map[string]string }
			Schemas  map[string]struct{ Title string }
		}
	}
	if err := json.Unmarshal(raw, &doc, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if !lanetest.IsSemantic(doc.Info.Version) {
		t.Errorf("the version %q is not semantic", doc.Info.Version)
	}
	for name, m := range doc.Components.Messages {
		payload, _ := strings.CutPrefix(m.Payload["$ref"], "#/components/schemas/")
		if len(m.Payload) != 1 || payload == "" || doc.Components.Schemas[payload].Title != payload {
			t.Errorf("%s: the payload %v is not a component with its name as the title", name, m.Payload)
		}
	}
}

// payloads compiles the schema of each message of the document.
func payloads(t *testing.T) map[string]*jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(AsyncAPI("test", "http://127.0.0.1:8080")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("asyncapi.json", doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]*jsonschema.Schema{}
	for _, m := range messagesOf() {
		if out[m.name], err = c.Compile("asyncapi.json#/components/messages/" + m.name + "/payload"); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestSchemasTellMessagesApart checks that each example matches the schema of its own message
// and no other. Schemas of commands reject unknown members; the others allow them.
func TestSchemasTellMessagesApart(t *testing.T) {
	all, examples := payloads(t), examplesOf()
	valid := func(name, raw string) bool {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return all[name].Validate(v) == nil
	}
	for _, m := range messagesOf() {
		for _, e := range examples[m.name] {
			raw := compact(t, e.Payload)
			for other := range all {
				if valid(other, raw) != (other == m.name) {
					t.Errorf("the schema of %s: match = %t, want %t, for %s", other, other != m.name, other == m.name, raw)
				}
			}
			more := `{"more":1,` + raw[1:]
			if open := m.typ != ""; valid(m.name, more) != open {
				t.Errorf("%s: allows unknown members = %t, want %t", m.name, !open, open)
			}
		}
	}
}

// TestDocumentIsWhole checks that the document has every channel, command and error of the
// lane.
func TestDocumentIsWhole(t *testing.T) {
	var doc struct {
		Channels map[string]struct {
			Address  string
			Messages map[string]any
		}
		Operations map[string]struct{ Action string }
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []any }
			}
		}
	}
	if err := json.Unmarshal(AsyncAPI("test", "https://venue.example"), &doc, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(schemas.WSChannels), "commands")
	if got := slices.Sorted(maps.Keys(doc.Channels)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("channels: %v", got)
	}
	reached := map[string]bool{}
	for name, c := range doc.Channels {
		if c.Address != path {
			t.Errorf("%s is at %s", name, c.Address)
		}
		for m := range c.Messages {
			reached[m] = true
		}
	}
	for _, m := range messagesOf() {
		if !reached[m.name] {
			t.Errorf("%s is in no channel", m.name)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(frameHeads)) {
		if !slices.ContainsFunc(data, func(m messageDoc) bool { return m.typ == typ }) {
			t.Errorf("no message of the document has the type %s", typ)
		}
	}
	if n := len(doc.Components.Schemas["WSError"].Properties["code"].Enum); n != len(schemas.WSErrorTable) || len(doc.Operations) != len(commands)+channels {
		t.Errorf("%d error codes, %d operations", n, len(doc.Operations))
	}
}
