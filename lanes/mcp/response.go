package mcp

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

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

// encodeResponse encodes the response of a result, or of a fault unless f is nil, with the
// id as the client sent it. It omits an id that could not be read.
func encodeResponse(id, result jsontext.Value, f *protocolFault) []byte {
	member, value := `,"result":`, result
	if f != nil {
		member, value = `,"error":`, mustEncode(f.rpcError())
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
