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
	"duplex/schemas"
)

// messagesOf lists all that the document tells of.
func messagesOf() (out []told) {
	for _, c := range commands {
		out = append(out, c.told)
	}
	return slices.Concat(out, answers, data)
}

// The examples are what a venue says: played anew, it says the same but for stamps
// and numbers. -update keeps what it said.
func TestExamplesAreRealFrames(t *testing.T) {
	got := played(t)
	refused := got["error"]
	delete(got, "error") // there is one of each code, made by the lane's own encoding
	if *update {
		raw, err := json.Marshal(got, json.Deterministic(true), jsontext.WithIndent(" "), jsontext.PreserveRawStrings(true))
		if err != nil {
			t.Fatal(err)
		}
		examplesFile = append(raw, '\n') // the golden below is made of these
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
		if was, is := unstamped(compact(t, examples[m.name][0].Payload)), unstamped(string(got[m.name])); was != is {
			t.Errorf("%s\n%s is the example\n%s comes", m.name, was, is)
		}
	}
	if !slices.ContainsFunc(examples["error"], func(e asyncExample) bool { return string(e.Payload) == string(refused) }) {
		t.Errorf("%s is no example of an error", refused)
	}
	for name := range examples {
		if !slices.ContainsFunc(messagesOf(), func(m told) bool { return m.name == name }) {
			t.Errorf("%s is an example of nothing", name)
		}
	}
}

// played lets everything happen once and keeps the first message of each kind.
func played(t *testing.T) map[string]jsontext.Value {
	s := newStream(t)
	r := s.dial(s.Key(1, core.ScopeRead))
	other := s.Key(1, core.ScopeRead)
	got := map[string]jsontext.Value{}
	var placed uint64
	hear := func() {
		for _, raw := range r.all() {
			if name := nameOf(t, raw); got[name] == nil {
				got[name] = jsontext.Value(raw)
			}
		}
	}
	say := func(command string) {
		if name := nameOf(t, command); got[name] == nil {
			got[name] = jsontext.Value(command)
		}
		r.say(command)
		hear()
	}
	s.act([]string{"place", "1", "buy", "yes", "10", "@", "4700"}, &placed)
	say(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","trades"],"market_ids":[1,2]}}`)
	say(`{"id":2,"cmd":"subscribe","params":{"channels":["oracle","rounds","user"]}}`)
	say(`{"id":3,"cmd":"update_subscription","params":{"sid":1,"action":"add_markets","market_ids":[3]}}`)
	for _, what := range []string{"place 2 buy no 4 @ 5300", "arm", "tick", "deposit"} {
		s.act(strings.Fields(what), &placed)
	}
	s.Do(&core.RequestWithdrawal{User: 1, ClientID: "rent-11", Amount: 250_000, Destination: "bank-7"})
	s.Do(&core.RevokeKey{User: 1, Key: other.ID})
	s.act([]string{"void"}, &placed)
	s.eventually(func() bool { s.lane.mu.Lock(); defer s.lane.mu.Unlock(); return s.lane.at >= s.Engine.Seq() })
	hear()
	say(`{"id":4,"cmd":"list_subscriptions"}`)
	say(`{"id":5,"cmd":"unsubscribe","params":{"sids":[1,2]}}`)
	say(`{"id":1,"cmd":"unsubscribe","params":{"sids":[1]}}`)
	return got
}

// nameOf names the kind of a message, as the document does.
func nameOf(t *testing.T, raw string) string {
	var m struct {
		Cmd, Type string
		Msg       struct {
			Event         string
			Subscriptions jsontext.Value
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
	default:
		return "subscription_updated"
	}
}

var ids = regexp.MustCompile(`"(withdrawal_id|api_key)":"[^"]*"`)

func unstamped(raw string) string { return ids.ReplaceAllString(varying(raw), `"$1":"S"`) }

func compact(t *testing.T, raw []byte) string {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Compact(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// Every example holds what its type has and nothing else: decoded strictly and
// encoded again it is the same.
func TestExamplesDecodeStrictly(t *testing.T) {
	examples := examplesOf()
	for _, c := range commands {
		for _, e := range examples[c.name] {
			cmd, fault := schemas.ReadWSCommand(e.Payload)
			in := reflect.New(c.of).Interface()
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
			msg := reflect.New(m.of).Interface()
			again(t, m.name, compact(t, e.Payload), &schemas.WSAnswer{Msg: msg})
		}
	}
	for _, m := range data {
		for _, e := range examples[m.name] {
			again(t, m.name, compact(t, e.Payload), &schemas.WSData[any]{Msg: reflect.New(m.of).Interface()})
		}
	}
}

func again(t *testing.T, name, raw string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), into, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("%s: %v in %s", name, err, raw)
		return
	}
	if out, err := schemas.Append(nil, into); err != nil || string(out) != raw {
		t.Errorf("%s: %v\n%s was\n%s became", name, err, raw, out)
	}
}

func TestAsyncAPIIsTheGolden(t *testing.T) {
	raw := append(AsyncAPI("test", "http://127.0.0.1:8080"), '\n')
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

// The schemas allow what is said, tell every message from every other, are closed
// where the venue is and open where it may say more one day.
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
					t.Errorf("%s: %t of %s", other, other != m.name, raw)
				}
			}
			more := `{"more":1,` + raw[1:]
			if open := m.typ != ""; valid(m.name, more) != open {
				t.Errorf("%s: open is not %t", m.name, open)
			}
		}
	}
}

// The document has the channels, commands and errors that the lane has.
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
	for _, typ := range slices.Sorted(maps.Keys(heads)) {
		if !slices.ContainsFunc(data, func(m told) bool { return m.typ == typ }) {
			t.Errorf("nothing tells of the type %s", typ)
		}
	}
	if n := len(doc.Components.Schemas["WSError"].Properties["code"].Enum); n != len(schemas.WSFaults) || len(doc.Operations) != len(commands)+channels {
		t.Errorf("%d error codes, %d operations", n, len(doc.Operations))
	}
}
