package mcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// asking is a result that is not there yet (2026-07-28): what the client is to find
// out first, each request under a name, and a state that comes back with the answers.
// The request is then made anew with both, for no session keeps them.
type asking struct {
	ResultType string           `json:"resultType"`
	Requests   map[string]asked `json:"inputRequests"`
	State      string           `json:"requestState,omitzero"`
}

// asked is a request to the client.
type asked struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// needs is the capability that a client must have to be asked.
func (a asked) needs() string {
	group, _, _ := strings.Cut(a.Method, "/")
	return group
}

type schemaOf map[string]any

func elicit(message, member, kind string) asked {
	return asked{"elicitation/create", schemaOf{"message": message, "requestedSchema": schemaOf{
		"type": "object", "properties": schemaOf{member: schemaOf{"type": kind}}, "required": []string{member},
	}}}
}

func sample(prompt string) asked {
	return asked{"sampling/createMessage", schemaOf{
		"messages": []schemaOf{{"role": "user", "content": schemaOf{"type": "text", "text": prompt}}}, "maxTokens": 100,
	}}
}

var roots = asked{"roots/list", struct{}{}}

var askName = asking{Requests: map[string]asked{"user_name": elicit("What is your name?", "name", "string")}}

// answers reads what a request made anew brings along.
func answers(c *call) (given map[string]jsontext.Value, state string, f *protocolFault) {
	var in struct {
		Responses map[string]jsontext.Value `json:"inputResponses"`
		State     string                    `json:"requestState"`
	}
	f = c.read(&in)
	return in.Responses, in.State, f
}

// asks does what it does once the client has answered all it can be asked; until then
// it asks. A state that is not of this server's making is refused.
func asks(a asking, then fixture) fixture {
	return func(l *Lane, c *call) (jsontext.Value, *protocolFault) {
		given, state, f := answers(c)
		if f != nil {
			return nil, f
		}
		if a.State != "" && given != nil && state != sealed(a.State) {
			return nil, badParams("requestState is not of this server")
		}
		return a.open(l, c, given, then)
	}
}

func (a asking) open(l *Lane, c *call, given map[string]jsontext.Value, then fixture) (jsontext.Value, *protocolFault) {
	left := asking{ResultType: "input_required", Requests: map[string]asked{}}
	for name, r := range a.Requests {
		if given[name].Kind() != '{' && declares(c, r.needs()) {
			left.Requests[name] = r
		}
	}
	if len(left.Requests) == 0 {
		return then(l, c)
	}
	if a.State != "" {
		left.State = sealed(a.State)
	}
	return encoded(left), nil
}

// rounds asks twice; the state tells in which round it is.
func rounds(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	first := asking{Requests: map[string]asked{"step1": elicit("Step 1: What is your name?", "name", "string")}, State: "round 1"}
	second := asking{Requests: map[string]asked{"step2": elicit("Step 2: What is your favorite color?", "color", "string")}, State: "round 2"}
	given, state, f := answers(c)
	switch {
	case f != nil:
		return nil, f
	case state == sealed(second.State):
		return second.open(l, c, given, gives(words("Both are known.")))
	case state == sealed(first.State):
		return first.open(l, c, given, func(l *Lane, c *call) (jsontext.Value, *protocolFault) { return second.open(l, c, nil, nil) })
	case state == "":
		return first.open(l, c, nil, nil)
	default:
		return nil, badParams("requestState is not of this server")
	}
}

func greets(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	given, _, f := answers(c)
	if f != nil {
		return nil, f
	}
	var who struct {
		Content struct {
			Name string `json:"name"`
		} `json:"content"`
	}
	if json.Unmarshal(given["user_name"], &who) != nil || who.Content.Name == "" {
		return nil, badParams("user_name has no name")
	}
	return gives(words("Hello, "+who.Content.Name+"!"))(l, c)
}

// sealed is a state that only this server can make.
func sealed(state string) string {
	m := hmac.New(sha256.New, []byte("for tests"))
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}
