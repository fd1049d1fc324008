package ws

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex/schemas"
)

const about = `Event stream of a binary (yes/no) prediction-market exchange: one WebSocket, JSON text messages, one object each.

All channels share the address /v1/ws. A client sends commands ({id, cmd, params}); each is answered under its id and costs one read token. What is subscribed comes as {type, sid, seq, prev_seq, msg}: seq is the stream sequence number of the command that caused it, the same numbers as REST's as_of_seq; prev_seq is the seq of the message before it on this sid (of books: and this market). If it is not the last one seen, a message was missed: ask get_snapshot, or resume.

Prices are integer ticks in pips, 1–9999 ($1 = 10000 pips). Quantities are whole contracts. Money, ids, seqs and timestamps are decimal strings; timestamps are ns since the Unix epoch. Commands are closed: an unknown member is an error. What the venue sends is open: ignore members you do not know.

Per key: 20 connections. Per connection: 64 subscriptions, 64 KiB per message to the venue, a ping every 30 s (two missed: closed).`

// examplesFile holds real messages, one or more for each that the document tells of.
//
//go:embed examples.json
var examplesFile []byte

// AsyncAPI is the document of the lane, for a venue that is reached at a base URL
// of REST. It panics if it cannot be made: that is a mistake in this program.
func AsyncAPI(version, api string) []byte {
	at, err := url.Parse(api)
	if err != nil {
		panic(err)
	}
	d := newDrawer()
	doc := asyncDocument{
		AsyncAPI: "3.0.0", ID: "urn:duplex:events", ContentType: "application/json",
		Info:    asyncInfo{Title: "Duplex events", Version: version, Description: about + "\n\n" + closings(), Tags: []asyncTag{{"events", "What happened, as it happens"}}},
		Servers: map[string]asyncServer{"venue": serverAt(at)}, Channels: channelsOf(), Operations: operations(),
		Components: asyncComponents{
			Messages: messages(d), SecuritySchemes: security(), ChannelBindings: map[string]asyncBindings{"handshake": handshake()},
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

func serverAt(at *url.URL) asyncServer {
	protocol := "ws"
	if at.Scheme == "https" {
		protocol = "wss"
	}
	return asyncServer{
		Host: at.Host, Protocol: protocol, Security: refsTo("components/securitySchemes", "signature", "subprotocol"),
		Description: "The API listener. The handshake is signed as a GET without a body, by three headers or, from a browser, by a subprotocol; the key needs the scope read. A refused handshake is an ordinary HTTP error of REST.",
	}
}

// closings tells the close codes.
func closings() string {
	var b strings.Builder
	b.WriteString("Close codes:\n")
	for _, c := range []struct {
		code int
		text string
	}{
		{keyRevoked.code, "the key was revoked, within 1 s of that"},
		{slowConsumer.code, "more than 4 MiB waited for this reader: connect again and resume"},
		{restarting.code, "the venue stops: connect again and resume"},
		{1009, "a message to the venue was over 64 KiB"},
		{silent.code, "two pings without a pong"},
		{textOnly.code, "a message that is not text"},
		{badText.code, "text that is not UTF-8"},
		{protocolError.code, "not WebSocket"},
	} {
		fmt.Fprintf(&b, "\n- %d: %s", c.code, c.text)
	}
	return b.String()
}

// channelsOf draws the socket's own channel, of commands and answers, and the six.
func channelsOf() map[string]asyncChannel {
	control := asyncChannel{Title: "Commands", Description: "Commands of the client, and their answers."}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	for _, a := range answers {
		names = append(names, a.name)
	}
	out := map[string]asyncChannel{"commands": channelWith(control, names)}
	for _, c := range carried {
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

// operations are the venue's: it receives each command, and sends each channel.
func operations() map[string]asyncOperation {
	out := map[string]asyncOperation{}
	for _, c := range commands {
		out[c.name] = asyncOperation{
			Action: "receive", Channel: refTo("channels/commands"), Title: c.title, Description: c.doc,
			Messages: refsTo("channels/commands/messages", c.name),
			Reply:    &asyncReply{refTo("channels/commands"), refsTo("channels/commands/messages", c.answers...)},
		}
	}
	for _, c := range carried {
		at := "channels/" + c.channel.String()
		out["send_"+c.channel.String()] = asyncOperation{
			Action: "send", Channel: refTo(at), Title: c.title, Description: c.doc, Messages: refsTo(at+"/messages", c.messages...),
		}
	}
	return out
}

func messages(d drawer) map[string]asyncMessage {
	examples := examplesOf()
	command := refTo("components/correlationIds/command")
	out := map[string]asyncMessage{}
	add := func(m *told, payload *huma.Schema, correlated *asyncRef) {
		out[m.name] = asyncMessage{m.name, m.title, m.doc, "application/json", correlated, payload, examples[m.name]}
	}
	for i := range commands {
		add(&commands[i].told, d.command(&commands[i].told), &command)
	}
	for i := range answers {
		add(&answers[i], d.answer(&answers[i]), &command)
	}
	for i := range data {
		add(&data[i], d.message(&data[i]), nil)
	}
	failed := out["error"]
	failed.Description += "\n\n" + refusals()
	out["error"] = failed
	return out
}

// refusals tells the wscodes.
func refusals() string {
	var b strings.Builder
	b.WriteString("| code | name | retry | means | next |\n|---|---|---|---|---|")
	for _, f := range schemas.WSFaults {
		fmt.Fprintf(&b, "\n| %d | `%s` | %s | %s | %s |", f.Code, f.Name, f.Retry, f.Means, f.Next)
	}
	return b.String()
}

// examplesOf reads the examples, and adds an error of each code, encoded as the lane
// does.
func examplesOf() map[string][]asyncExample {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(examplesFile, &file); err != nil {
		panic(err)
	}
	out := map[string][]asyncExample{}
	for name, frame := range file {
		out[name] = []asyncExample{{name, frame}}
	}
	for _, f := range schemas.WSFaults {
		a := schemas.WSAnswer{ID: 1, Type: "error", Msg: schemas.WSErrorOf(f.Name)}
		switch f.Name {
		case "malformed_json": // the id could not be read
			a.ID = 0
		case "rate_limited":
			a.Msg = schemas.WSErrorFrom(schemas.RateLimited(40))
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
			schemas.HeaderKey + " and " + schemas.HeaderTimestamp + " (Unix milliseconds, 13 digits, within 5000 ms of the venue's clock) stand beside it: all three are required."},
		"subprotocol": {"httpApiKey", "Sec-WebSocket-Protocol", "header", "For browsers, which cannot set headers: offer the two subprotocols `" + subprotocol + "` and `" + authPrefix +
			"<key>.<timestamp>.<signature as unpadded base64url>`. The venue answers `" + subprotocol + "`."},
	}
}

// handshake draws the headers of the upgrade: the three, or the subprotocols.
func handshake() (out asyncBindings) {
	text := func(pattern, doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Pattern: pattern, Description: doc}
	}
	three := []string{schemas.HeaderKey, schemas.HeaderTimestamp, schemas.HeaderSignature}
	out.WS.Method, out.WS.Version = "GET", "0.1.0"
	out.WS.Headers = &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			three[0]:                 text("", "The public key: it identifies, it does not authenticate."),
			three[1]:                 text("^[0-9]{13}$", "Unix milliseconds"),
			three[2]:                 text("^[A-Za-z0-9+/]{43}=$", "Padded base64"),
			"Sec-WebSocket-Protocol": text("", "Browsers: `"+subprotocol+", "+authPrefix+"<key>.<timestamp>.<signature>`"),
			"Origin":                 text("", "When present: the host itself or an origin that the operator allows, else 403 forbidden_origin"),
		},
		AnyOf: []*huma.Schema{{Required: three}, {Required: []string{"Sec-WebSocket-Protocol"}}},
	}
	return out
}
