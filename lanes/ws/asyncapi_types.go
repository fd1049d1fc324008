package ws

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// The parts of an AsyncAPI 3.0 document that the lane's document uses.

type asyncDocument struct {
	AsyncAPI    string                    `json:"asyncapi"`
	ID          string                    `json:"id"`
	Info        asyncInfo                 `json:"info"`
	ContentType string                    `json:"defaultContentType"`
	Servers     map[string]asyncServer    `json:"servers"`
	Channels    map[string]asyncChannel   `json:"channels"`
	Operations  map[string]asyncOperation `json:"operations"`
	Components  asyncComponents           `json:"components"`
}

type asyncInfo struct {
	Title       string     `json:"title"`
	Version     string     `json:"version"`
	Description string     `json:"description"`
	Tags        []asyncTag `json:"tags"`
}

type asyncTag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type asyncServer struct {
	Host        string     `json:"host"`
	Protocol    string     `json:"protocol"`
	Description string     `json:"description"`
	Security    []asyncRef `json:"security"`
}

type asyncChannel struct {
	Address     string              `json:"address"`
	Title       string              `json:"title"`
	Description string              `json:"description"`
	Messages    map[string]asyncRef `json:"messages"`
	Bindings    asyncRef            `json:"bindings"`
}

type asyncOperation struct {
	Action      string      `json:"action"` // "receive" or "send", from the venue's side
	Channel     asyncRef    `json:"channel"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Messages    []asyncRef  `json:"messages"`
	Reply       *asyncReply `json:"reply,omitempty"`
}

type asyncReply struct {
	Channel  asyncRef   `json:"channel"`
	Messages []asyncRef `json:"messages"`
}

type asyncComponents struct {
	Schemas         map[string]*huma.Schema     `json:"schemas"`
	Messages        map[string]asyncMessage     `json:"messages"`
	SecuritySchemes map[string]asyncScheme      `json:"securitySchemes"`
	ChannelBindings map[string]asyncBindings    `json:"channelBindings"`
	CorrelationIDs  map[string]asyncCorrelation `json:"correlationIds"`
}

type asyncMessage struct {
	Name          string         `json:"name"`
	Title         string         `json:"title"`
	Description   string         `json:"description"`
	ContentType   string         `json:"contentType"`
	CorrelationID *asyncRef      `json:"correlationId,omitempty"`
	Payload       *huma.Schema   `json:"payload"`
	Examples      []asyncExample `json:"examples"`
}

type asyncExample struct {
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload"`
}

type asyncScheme struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
}

type asyncBindings struct {
	WS struct {
		Method  string       `json:"method"`
		Headers *huma.Schema `json:"headers"`
		Version string       `json:"bindingVersion"`
	} `json:"ws"`
}

type asyncCorrelation struct {
	Description string `json:"description"`
	Location    string `json:"location"`
}

type asyncRef struct {
	Ref string `json:"$ref"`
}

func refTo(path string) asyncRef { return asyncRef{"#/" + path} }

// refsTo returns references to names under place.
func refsTo(place string, names ...string) (out []asyncRef) {
	for _, n := range names {
		out = append(out, refTo(place+"/"+n))
	}
	return out
}
