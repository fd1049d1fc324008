package mcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// inputRequest is an incomplete result (2026-07-28): named requests to the client, and a
// state. The client repeats its request with the responses and the state, because there
// is no session.
type inputRequest struct {
	ResultType string                   `json:"resultType"`
	Requests   map[string]clientRequest `json:"inputRequests"`
	State      string                   `json:"requestState,omitzero"`
}

// clientRequest is a request to the client.
type clientRequest struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// needs returns the capability that the client must have.
func (a clientRequest) needs() string {
	group, _, _ := strings.Cut(a.Method, "/")
	return group
}

type schemaOf map[string]any

func elicit(message, member, kind string) clientRequest {
	return clientRequest{"elicitation/create", schemaOf{"message": message, "requestedSchema": schemaOf{
		"type": "object", "properties": schemaOf{member: schemaOf{"type": kind}}, "required": []string{member},
	}}}
}

func sample(prompt string) clientRequest {
	return clientRequest{"sampling/createMessage", schemaOf{
		"messages": []schemaOf{{"role": "user", "content": schemaOf{"type": "text", "text": prompt}}}, "maxTokens": 100,
	}}
}

var roots = clientRequest{"roots/list", struct{}{}}

var askName = inputRequest{Requests: map[string]clientRequest{"user_name": elicit("What is your name?", "name", "string")}}

// answers returns the responses and the state of a repeated request.
func answers(c *call) (given map[string]jsontext.Value, state string, f *protocolFault) {
	var in struct {
		Responses map[string]jsontext.Value `json:"inputResponses"`
		State     string                    `json:"requestState"`
	}
	f = c.decodeParams(&in)
	return in.Responses, in.State, f
}

// asks runs a fixture once the client has answered all requests, and sends the requests
// until then. It rejects a state that this server did not make.
func asks(a inputRequest, then fixture) fixture {
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

func (a inputRequest) open(l *Lane, c *call, given map[string]jsontext.Value, then fixture) (jsontext.Value, *protocolFault) {
	left := inputRequest{ResultType: "input_required", Requests: map[string]clientRequest{}}
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
	return mustEncode(left), nil
}

// rounds sends two rounds of requests. The state holds the current one.
func rounds(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	first := inputRequest{Requests: map[string]clientRequest{"step1": elicit("Step 1: What is your name?", "name", "string")}, State: "round 1"}
	second := inputRequest{Requests: map[string]clientRequest{"step2": elicit("Step 2: What is your favorite color?", "color", "string")}, State: "round 2"}
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

// sealed returns an authenticated state.
func sealed(state string) string {
	m := hmac.New(sha256.New, []byte("for tests"))
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}
