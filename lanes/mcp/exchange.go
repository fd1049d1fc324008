package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"duplex/tools"
)

// exchange is one request and its answer, over one jsonrpc2.Conn.
type exchange struct {
	lane   *Lane
	call   *call
	answer func(*call) (jsontext.Value, *protocolFault)

	given  bool // the message was read
	sent   *jsonrpc2.Response
	fault  *protocolFault
	result jsontext.Value
	done   chan struct{}
}

// standIn is the id that jsonrpc2 sees: it would mangle others.
var standIn = jsonrpc2.ID{Num: 1}

var quiet = log.New(io.Discard, "", 0)

// run takes the message through a Conn and gives the answer. The Conn outlives no
// call of run, whatever becomes of the caller.
func (x *exchange) run() (jsontext.Value, *protocolFault) {
	x.done = make(chan struct{})
	jsonrpc2.NewConn(context.Background(), x, x, jsonrpc2.SetLogger(quiet),
		jsonrpc2.OnSend(func(_ *jsonrpc2.Request, r *jsonrpc2.Response) { x.sent = r }))
	<-x.done
	if x.sent == nil { // the handler always answers
		return nil, venueFault(x.lane.gate.Refusal(x.call.ID, errors.New("mcp: a request without an answer")))
	}
	return x.result, x.fault
}

// ReadObject yields the one message, then the end.
func (x *exchange) ReadObject(v any) error {
	if x.given {
		return io.EOF
	}
	x.given = true
	method, err := json.Marshal(x.call.message.method)
	if err != nil {
		return err
	}
	return json.Unmarshal(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s}`, standIn, method), v)
}

// WriteObject takes the answer. What is written was noted when it was sent.
func (x *exchange) WriteObject(any) error {
	if x.sent != nil && x.sent.Result != nil {
		x.result = jsontext.Value(*x.sent.Result)
	}
	return nil
}

// Close comes when the message was handled.
func (x *exchange) Close() error {
	close(x.done)
	return nil
}

// Handle answers, on the Conn's goroutine, before the next message is read.
func (x *exchange) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	result, fault := x.guarded()
	if fault != nil {
		x.fault = fault
		_ = conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: int64(fault.code), Message: fault.message})
		return
	}
	raw := json.RawMessage(result)
	_ = conn.SendResponse(ctx, &jsonrpc2.Response{ID: r.ID, Result: &raw})
}

// guarded turns a panic into `internal`: jsonrpc2 would let it end the process.
func (x *exchange) guarded() (result jsontext.Value, fault *protocolFault) {
	defer func() {
		if p := recover(); p != nil {
			x.lane.gate.Log.Error("panic", "request_id", x.call.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, fault = nil, venueFault(x.lane.gate.Refusal(x.call.ID, tools.Refuse("internal")))
		}
	}()
	return x.answer(x.call)
}
