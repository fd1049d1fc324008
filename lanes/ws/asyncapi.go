package ws

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex"
	"duplex/lanes/schemadoc"
	"duplex/schemas"
)

const description = `Event stream of a binary (yes/no) prediction-market exchange: one WebSocket, JSON text messages, one object each.

All channels share the address /v1/ws. A client sends commands ({id, cmd, params}). Each command costs one read token and is answered with the same id. Subscriptions deliver {type, sid, seq, prev_seq, msg}. seq is the sequence number of the command that caused the message; REST's as_of_seq uses the same numbers. prev_seq is the seq of the previous message on this sid; for books, of the previous message on this sid and market. If prev_seq is not the last seq you saw, you missed a message: send get_snapshot, or resume.

Prices are integer ticks in pips, 1–9999 ($1 = 10000 pips). Quantities are whole contracts. Money, ids, seqs and timestamps are decimal strings; timestamps are ns since the Unix epoch. An unknown member in a command is an error. Messages of the venue may gain members, and their enums values: ignore members you do not know, and expect values that an enum does not list yet.

Limits: 20 connections per key, 64 subscriptions per connection, 64 KiB per message to the venue. The venue pings every 30 s, every 5 s while orders are bound to the connection, and closes a connection that missed two pongs. A client may send 10 pings a second in bursts of 20, and the same number of pongs that answer no ping.`

// examplesFile holds recorded messages, at least one for each message in the document.
//
//go:embed examples.json
var examplesFile []byte

// AsyncAPI returns the AsyncAPI 3.0 document of the event stream, as JSON. The argument api
// is the base URL of the REST API. AsyncAPI panics on a malformed URL or an unencodable
// document; both are programming errors.
func AsyncAPI(version, api string) []byte {
	at, err := url.Parse(api)
	if err != nil {
		panic(err)
	}
	d := newSchemaBuilder()
	doc := asyncDocument{
		AsyncAPI: "3.0.0", ID: "urn:duplex:events", ContentType: "application/json",
		Info:    asyncInfo{Title: "Duplex events", Version: duplex.SemanticVersion(version), Description: description + "\n\n" + closeCodesText(), Tags: []asyncTag{{"events", "Events in real time"}}},
		Servers: map[string]asyncServer{"venue": serverDoc(at)}, Channels: channelsOf(), Operations: operationDocs(),
		Components: asyncComponents{
			Messages: messageDocs(d), SecuritySchemes: security(), ChannelBindings: map[string]asyncBindings{"handshake": handshakeBindings(d)},
			CorrelationIDs: map[string]asyncCorrelation{"command": {"The id that the client gave the command", "$message.payload#/id"}},
		},
	}
	doc.Components.Schemas = d.components()
	out, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return out
}

func serverDoc(at *url.URL) asyncServer {
	protocol := "ws"
	if at.Scheme == "https" {
		protocol = "wss"
	}
	return asyncServer{
		Host: at.Host, Protocol: protocol, Security: refsTo("components/securitySchemes", "signature", "subprotocol"),
		Description: "The API listener. The handshake is signed as a GET without a body, with three headers or, from a browser, with a subprotocol. The key needs the scope read. A rejected handshake is answered with an HTTP error, as in REST.",
	}
}

// closeCodesText lists the close codes (docs/rules/events.md#close-codes).
func closeCodesText() string {
	var b strings.Builder
	b.WriteString("Close codes:\n")
	for _, c := range []struct {
		code int
		text string
	}{
		{keyRevoked.code, "the key was revoked; sent within 1 s of the revocation"},
		{slowConsumer.code, "more than 4 MiB were queued for this connection: reconnect and resume"},
		{restarting.code, "the venue is stopping: reconnect and resume"},
		{tooBig.code, "a message to the venue declared more than 64 KiB, in one frame or several"},
		{pingFlood.code, "more than 10 pings a second, or more than 10 pongs a second that answer no ping"},
		{noPong.code, "the client missed two pongs"},
		{textOnly.code, "a message that is not text"},
		{invalidUTF8.code, "a text message or a close reason that is not UTF-8"},
		{protocolError.code, "a violation of the WebSocket protocol"},
	} {
		fmt.Fprintf(&b, "\n- %d: %s", c.code, c.text)
	}
	return b.String()
}

// channelsOf returns the document's channels: one for commands and answers, and the six
// of subscriptions.
func channelsOf() map[string]asyncChannel {
	control := asyncChannel{Title: "Commands", Description: "The client's commands and their answers."}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	for _, a := range answers {
		names = append(names, a.name)
	}
	out := map[string]asyncChannel{"commands": channelWith(control, names)}
	for _, c := range channelDocs {
		out[c.channel.String()] = channelWith(asyncChannel{Title: c.title, Description: c.doc}, c.messages)
	}
	return out
}

func channelWith(c asyncChannel, names []string) asyncChannel {
	c.Address, c.Bindings, c.Messages = path, refTo("components/channelBindings/handshake"), map[string]asyncRef{}
	for _, n := range names {
		c.Messages[n] = refTo("components/messages/" + n)
	}
	return c
}

// operationDocs returns the operations from the venue's side: it receives each command and
// sends each channel.
func operationDocs() map[string]asyncOperation {
	out := map[string]asyncOperation{}
	for _, c := range commands {
		out[c.name] = asyncOperation{
			Action: "receive", Channel: refTo("channels/commands"), Title: c.title, Description: c.doc,
			Messages: refsTo("channels/commands/messages", c.name),
			Reply:    &asyncReply{refTo("channels/commands"), refsTo("channels/commands/messages", c.answers...)},
		}
	}
	for _, c := range channelDocs {
		at := "channels/" + c.channel.String()
		out["send_"+c.channel.String()] = asyncOperation{
			Action: "send", Channel: refTo(at), Title: c.title, Description: c.doc, Messages: refsTo(at+"/messages", c.messages...),
		}
	}
	return out
}

func messageDocs(d schemaBuilder) map[string]asyncMessage {
	examples := examplesOf()
	command := refTo("components/correlationIds/command")
	out := map[string]asyncMessage{}
	add := func(m *messageDoc, payload *huma.Schema, correlated *asyncRef) {
		out[m.name] = asyncMessage{m.name, m.title, m.doc, "application/json", correlated, d.payload(m, payload), examples[m.name]}
	}
	for i := range commands {
		add(&commands[i].messageDoc, d.command(&commands[i].messageDoc), &command)
	}
	for i := range answers {
		add(&answers[i], d.answer(&answers[i]), &command)
	}
	for i := range data {
		add(&data[i], d.message(&data[i]), nil)
	}
	failed := out["error"]
	failed.Description += "\n\n" + errorCodesText()
	out["error"] = failed
	return out
}

// errorCodesText lists the wscodes as a Markdown table (docs/rules/events.md#wscodes).
func errorCodesText() string {
	var b strings.Builder
	b.WriteString("| code | name | retry | means | next |\n|---|---|---|---|---|")
	for _, f := range schemas.WSErrorTable {
		fmt.Fprintf(&b, "\n| %d | `%s` | %s | %s | %s |", f.Code, f.Name, f.Retry, f.Means, f.Next)
	}
	return b.String()
}

// examplesOf returns the recorded examples by message, and an error of each wscode, encoded
// as the lane encodes it.
func examplesOf() map[string][]asyncExample {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(examplesFile, &file); err != nil {
		panic(err)
	}
	out := map[string][]asyncExample{}
	for name, frame := range file {
		out[name] = []asyncExample{{name, frame}}
	}
	for _, f := range schemas.WSErrorTable {
		a := schemas.WSAnswer{ID: 1, Type: "error", Msg: schemas.WSErrorOf(f.Name)}
		switch f.Name {
		case "malformed_json": // such a command has no readable id
			a.ID = 0
		case "rate_limited":
			a.Msg = schemas.WSErrorOfREST(schemas.RateLimited(40))
		}
		text, err := schemas.Append(nil, &a)
		if err != nil {
			panic(err)
		}
		out["error"] = append(out["error"], asyncExample{f.Name, text})
	}
	return out
}

func security() map[string]asyncScheme {
	return map[string]asyncScheme{
		"signature": {"httpApiKey", schemas.HeaderSignature, "header", "Padded base64 of HMAC-SHA256(secret, timestamp LF GET LF target LF), the target with its query as sent. " +
			"Requires " + schemas.HeaderKey + " and " + schemas.HeaderTimestamp + " too (Unix milliseconds, 13 digits, within 5000 ms of the venue's clock)."},
		"subprotocol": {"httpApiKey", "Sec-WebSocket-Protocol", "header", "For browsers, which cannot set headers: offer the two subprotocols `" + subprotocol + "` and `" + authPrefix +
			"<key>.<timestamp>.<signature as unpadded base64url>`. The venue answers `" + subprotocol + "`."},
	}
}

// handshakeBindings describes the headers of the upgrade request: the three signature
// headers or the subprotocols (docs/rules/events.md#handshake).
func handshakeBindings(d schemaBuilder) (out asyncBindings) {
	text := func(pattern, doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Pattern: pattern, Description: doc}
	}
	three := []string{schemas.HeaderKey, schemas.HeaderTimestamp, schemas.HeaderSignature}
	out.WS.Method, out.WS.Version = "GET", "0.1.0"
	d.named["HandshakeHeaders"] = &huma.Schema{
		Type: huma.TypeObject, Title: "HandshakeHeaders",
		Properties: map[string]*huma.Schema{
			three[0]:                 text("", "The public part of the key. It identifies the key and is not secret."),
			three[1]:                 text("^[0-9]{13}$", "Unix milliseconds"),
			three[2]:                 text("^[A-Za-z0-9+/]{43}=$", "Padded base64"),
			"Sec-WebSocket-Protocol": text("", "Browsers: `"+subprotocol+", "+authPrefix+"<key>.<timestamp>.<signature>`"),
			"Origin":                 text("", "If present, the host itself or an origin that the operator allows; otherwise 403 forbidden_origin"),
		},
		AnyOf: []*huma.Schema{{Required: three}, {Required: []string{"Sec-WebSocket-Protocol"}}},
	}
	out.WS.Headers = &huma.Schema{Ref: schemadoc.Prefix + "HandshakeHeaders"}
	return out
}
