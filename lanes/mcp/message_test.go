package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"duplex/schemas"
)

// FuzzParse tests that a parsed message is valid for encoding/json, keeps its id and
// survives encoding, and that a fault has a code of JSON-RPC, a code of the venue and a
// JSON response.
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
			t.Fatalf("%q is not JSON", body)
		}
		again, fault := parse(reencode(&m))
		if fault != nil || string(again.id) != string(m.id) || again.method != m.method || string(again.params) != string(m.params) {
			t.Fatalf("%q became %q: %v", body, reencode(&m), fault)
		}
		h := http.Header{"Mcp-Protocol-Version": {version}, "Mcp-Method": {method}, "Mcp-Name": {name}}
		if _, fault := negotiateRevision(h, &m); fault != nil {
			refused(t, &m, fault, codes)
		}
	})
}

// reencode encodes a message again.
func reencode(m *message) []byte {
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
	text := encodeResponse(m.id, nil, f)
	if err := json.Unmarshal(text, &e); err != nil || string(e.ID) != string(m.id) || !slices.Contains(codes, e.Error.Code) || !schemas.IsErrorCode(e.Error.Data.Code) {
		t.Fatalf("the response is %s, %v, want the id %s and a code in %v", text, err, m.id, codes)
	}
}
