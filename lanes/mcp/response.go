package mcp

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"duplex/tools"
)

// answer runs a method and returns its result or its fault. A panic becomes the fault
// `internal`. The response may follow events that were already sent, so the lane must
// write it itself.
func (l *Lane) answer(c *call, m method) (result jsontext.Value, fault *protocolFault) {
	defer func() {
		if p := recover(); p != nil {
			l.gate.Log.Error("panic", "request_id", c.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, fault = nil, l.venueFault(c, tools.NewError("internal"))
		}
	}()
	return m.answer(l, c)
}

// responseOf returns the JSON-RPC response of a result or a fault. Its ID is not set; see
// message.
func responseOf(result jsontext.Value, f *protocolFault) *jsonrpc2.Response {
	if f != nil {
		return &jsonrpc2.Response{Error: f.rpcError()}
	}
	raw := stdjson.RawMessage(result)
	return &jsonrpc2.Response{Result: &raw}
}

// encodeResponse encodes a response with the id as the client sent it. It omits an id that
// could not be read.
func encodeResponse(id jsontext.Value, r *jsonrpc2.Response) []byte {
	member, value := `,"result":`, jsontext.Value(nil)
	if r.Error != nil {
		member, value = `,"error":`, mustEncode(r.Error)
	} else {
		value = jsontext.Value(*r.Result)
	}
	b := make([]byte, 0, len(value)+len(id)+48)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	return append(append(append(b, member...), value...), '}')
}

func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has closed the connection
}
