package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"duplex/schemas"
)

// FuzzParse: a message is one that encoding/json takes too, with its id as it came, and
// says the same when it is said again; what is refused has a code of JSON-RPC, one of
// the venue's, and an answer that is JSON.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"ping"}`,
		`[]`, `{`, `{"jsonrpc":"2.0","id":null,"method":"x"}`, `{"jsonrpc":"2.0","id":-0,"method":"x"}{}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, ` {"jsonrpc":"2.0","id":1e3,"method":"x"} `,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		f.Add([]byte(s), "2026-07-28", "tools/call", "=?base64?eA==?=")
	}
	codes := []int{-32700, -32600, -32601, -32602, -32020, -32021, -32022}
	f.Fuzz(func(t *testing.T, body []byte, version, method, name string) {
		m, fault := parse(body)
		if fault != nil {
			refused(t, &m, fault, codes)
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q is no JSON", body)
		}
		again, fault := parse(sayAgain(&m))
		if fault != nil || string(again.id) != string(m.id) || again.method != m.method || string(again.params) != string(m.params) {
			t.Fatalf("%q became %q: %v", body, sayAgain(&m), fault)
		}
		h := http.Header{"Mcp-Protocol-Version": {version}, "Mcp-Method": {method}, "Mcp-Name": {name}}
		if _, fault := speak(h, &m); fault != nil {
			refused(t, &m, fault, codes)
		}
	})
}

// sayAgain is the message as we would say it.
func sayAgain(m *message) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if m.id != nil {
		b = append(append(b, `,"id":`...), m.id...)
	}
	method, _ := json.Marshal(m.method) // a string
	b = append(append(b, `,"method":`...), method...)
	if m.params != nil {
		b = append(append(b, `,"params":`...), m.params...)
	}
	return append(b, '}')
}

func refused(t *testing.T, m *message, f *protocolFault, codes []int) {
	t.Helper()
	var e struct {
		ID    json.RawMessage
		Error struct {
			Code int
			Data schemas.Error
		}
	}
	text := envelope(m.id, "error", f.body())
	if err := json.Unmarshal(text, &e); err != nil || string(e.ID) != string(m.id) || !slices.Contains(codes, e.Error.Code) || !schemas.Known(e.Error.Data.Code) {
		t.Fatalf("%s: %v", text, err)
	}
}
