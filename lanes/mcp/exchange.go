package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"runtime/debug"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"duplex/tools"
)

// exchange is one request and its answer.
type exchange struct {
	lane   *Lane
	call   *call
	answer func(*call) (jsontext.Value, *protocolFault)

	sent   bool // the Conn has answered
	fault  *protocolFault
	result jsontext.Value
}

// clerk takes exchanges through a jsonrpc2.Conn of its own, one at a time: the next
// is read only when the handler of the last has returned. A Conn costs two goroutines
// and more than what it does, so clerks who have nothing to do are kept.
type clerk struct {
	todo chan *exchange // closed: no more
	done chan struct{}  // the last one was handled
	now  *exchange
}

const clerksKept = 64

// clerks are those who wait for work.
type clerks chan *clerk

// standIn is the request that jsonrpc2 sees: it would mangle other ids, and the
// method is known already. Being always the same it is decoded once, which spares
// each request a ninth of its time.
var standIn = []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)

// decoded is the stand-in as jsonrpc2 decodes it, of a type it keeps to itself. Who
// has it only reads it.
var decoded atomic.Pointer[reflect.Value]

var quiet = log.New(io.Discard, "", 0)

// hire gives a clerk without work.
func (k clerks) hire() *clerk {
	select {
	case c := <-k:
		return c
	default:
	}
	c := &clerk{todo: make(chan *exchange), done: make(chan struct{})}
	jsonrpc2.NewConn(context.Background(), c, c, jsonrpc2.SetLogger(quiet))
	return c
}

// leave keeps a clerk for the next, or lets it go.
func (k clerks) leave(c *clerk) {
	select {
	case k <- c:
	default:
		close(c.todo)
	}
}

// dismiss lets all go who wait.
func (k clerks) dismiss() {
	for {
		select {
		case c := <-k:
			close(c.todo)
		default:
			return
		}
	}
}

// run takes the message through a Conn and gives the answer.
func (x *exchange) run() (jsontext.Value, *protocolFault) {
	c := x.lane.clerks.hire()
	c.todo <- x
	<-c.done
	x.lane.clerks.leave(c)
	if !x.sent { // the handler always answers
		return nil, venueFault(x.lane.gate.Refusal(x.call.ID, errors.New("mcp: a request without an answer")))
	}
	return x.result, x.fault
}

// ReadObject yields the next message. That it is asked for means that the last one
// was handled.
func (c *clerk) ReadObject(v any) error {
	if c.now != nil {
		c.now = nil
		c.done <- struct{}{}
	}
	x, more := <-c.todo
	if !more {
		return io.EOF
	}
	c.now = x
	into := reflect.ValueOf(v).Elem()
	if d := decoded.Load(); d != nil && d.Type() == into.Type() {
		into.Set(*d)
		return nil
	}
	if err := json.Unmarshal(standIn, v); err != nil {
		return err
	}
	d := reflect.New(into.Type()).Elem()
	d.Set(into)
	decoded.Store(&d)
	return nil
}

// WriteObject takes the answer; what is in it the handler has noted.
func (c *clerk) WriteObject(any) error {
	c.now.sent = true
	return nil
}

// Close comes when there are no more messages.
func (c *clerk) Close() error { return nil }

// Handle answers, on the Conn's goroutine, before the next message is read.
func (c *clerk) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	x := c.now
	if x.result, x.fault = x.guarded(); x.fault != nil {
		_ = conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: int64(x.fault.code), Message: x.fault.message}) // run sees what was not sent
		return
	}
	raw := json.RawMessage(x.result)
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
