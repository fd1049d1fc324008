package mcp

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Path is the endpoint of the lane.
const Path = "/v1/mcp"

// Lane is the agent lane of a venue.
type Lane struct {
	gate        *gate.Gate
	version     string
	tools       []*tool
	byName      map[string]*tool
	methods     map[string]method
	resultTails map[*cachePolicy]jsontext.Value
	dispatcher  *dispatcher
	cancelable  cancelRegistry
}

// Mount adds the endpoint to m, which must be served through g.Edge, and starts to follow
// the engine. Close stops it.
func Mount(m *gate.Routes, g *gate.Gate, version string) *Lane {
	l := &Lane{gate: g, version: version, byName: map[string]*tool{}, resultTails: map[*cachePolicy]jsontext.Value{}}
	l.dispatcher = newDispatcher(g.Venue.Engine)
	for _, c := range []*cachePolicy{nil, cachePublic, cachePrivate, noCache} {
		l.resultTails[c] = l.resultTail(c)
	}
	l.registerTools()
	l.registerMethods()
	g.SetPathOptions(Path, gate.PathOptions{WriteError: l.writeHTTPError, NoBudget: true})
	m.Handle(Path, l)
	return l
}

// Close ends all waits for events: each returns its response now.
func (l *Lane) Close() { l.dispatcher.close() }

// call is one request.
type call struct {
	*gate.Call
	message
	revision string
	ctx      context.Context // ends when the request is canceled
	header   http.Header
	stream   *stream     // of subscriptions/listen, else nil
	events   eventStream // started if a notification precedes the response
}

// modern reports whether the request uses the revision without a handshake.
func (c *call) modern() bool { return c.revision == modern }

func (l *Lane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := gate.CallOf(r.Context())
	c.Lane, c.Op = "mcp", "mcp"
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		l.writeHTTPError(w, r, c, tools.NewError("method_not_allowed"))
		return
	}
	if !l.gate.HostAllowed(r) || !l.gate.OriginAllowed(r) {
		l.writeHTTPError(w, r, c, tools.NewError("forbidden_origin"))
		return
	}
	if err := gate.CheckContentType(r, c); err != nil {
		l.writeHTTPError(w, r, c, err)
		return
	}
	m, fault := parse(c.Body)
	if fault != nil {
		l.failRequest(w, r.Header, &m, fault)
		return
	}
	x := &call{Call: c, message: m, header: r.Header, events: eventStream{out: w}}
	if x.revision, fault = negotiateRevision(r.Header, &x.message); fault != nil {
		l.failRequest(w, r.Header, &m, fault)
		return
	}
	l.serve(w, r, x)
}

// OpensStream reports whether the lane would answer a request with a stream of events: a valid call of
// subscriptions/listen on the revision that has it.
func OpensStream(r *http.Request, body []byte) bool {
	if r.Method != http.MethodPost || r.URL.Path != Path {
		return false
	}
	m, fault := parse(body)
	if fault != nil || m.id == nil || m.method != "subscriptions/listen" {
		return false
	}
	revision, fault := negotiateRevision(r.Header, &m)
	return fault == nil && revision == modern
}

// serve handles a valid message.
func (l *Lane) serve(w http.ResponseWriter, r *http.Request, c *call) {
	do, known := l.methods[c.method]
	switch {
	case c.id == nil:
		l.handleNotification(w, c)
		return
	case !known || do.modern && !c.modern() || do.legacy && c.modern():
		l.failRequest(w, r.Header, &c.message, methodNotFound(c.method))
		return
	}
	c.Op = "mcp " + c.method
	untrack := l.trackRequest(r, c)
	defer untrack()
	defer c.events.finish()
	result, fault := l.answer(c, do)
	if fault != nil {
		l.explainUnauthorized(fault, r, c.Call)
	}
	switch {
	case c.events.started:
		c.events.message(encodeResponse(c.id, result, fault))
	case fault != nil:
		l.failRequest(w, r.Header, &c.message, fault)
	case c.stream != nil:
		c.stream.serve()
	default:
		write(w, http.StatusOK, encodeResponse(c.id, result, nil))
	}
}

// writeHTTPError writes an error of the gate, or one found before a message was parsed.
func (l *Lane) writeHTTPError(w http.ResponseWriter, r *http.Request, c *gate.Call, err error) {
	f := faultOf(l.gate.ReportError(w.Header().Get("X-Request-Id"), err))
	if fault, ok := errors.AsType[*schemas.Fault](err); ok {
		f.data.Hint = fault.Field + " must be " + fault.Limit + "."
	}
	l.explainUnauthorized(f, r, c)
	writeFault(w, nil, f)
}

// venueFault returns the fault of an error of the venue.
func (l *Lane) venueFault(c *call, err error) *protocolFault {
	return faultOf(l.gate.ReportError(c.ID, err))
}

// writeFault writes an error. It omits an id that could not be read.
func writeFault(w http.ResponseWriter, id jsontext.Value, f *protocolFault) {
	gate.NoteErrorCode(w, f.data.Code)
	write(w, f.status, encodeResponse(id, nil, f))
}

// failRequest writes the error of a request. On the revisions with initialize the status
// of an unknown method and of bad params is 200, because their clients take any 4xx for a
// broken transport. On the modern revision the status is part of the protocol.
func (l *Lane) failRequest(w http.ResponseWriter, h http.Header, m *message, f *protocolFault) {
	if (f.code == jsonrpc2.CodeMethodNotFound || f.code == jsonrpc2.CodeInvalidParams) && m.id != nil && handshaking(h, m) {
		f.status = http.StatusOK
	}
	writeFault(w, m.id, f)
}

// authorize charges the read token that every method except tools/call costs.
func (l *Lane) authorize(c *call) *protocolFault { return l.authorizeScopes(c, 0) }

// authorizeScopes checks the key's scopes, then charges a read token.
func (l *Lane) authorizeScopes(c *call, scopes core.Scopes) *protocolFault {
	if err := l.gate.Authorize(c.Call, &tools.Spec{Name: c.Op, Scope: scopes}); err != nil {
		return l.venueFault(c, err)
	}
	return nil
}

// serverInfo returns the server's name and version.
func (l *Lane) serverInfo() any {
	return struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}{"duplex", "Duplex", l.version}
}

// encodeResult encodes a result for the revision of c. cache is nil except for lists and
// reads.
func (l *Lane) encodeResult(c *call, result any, cache *cachePolicy) jsontext.Value {
	return l.finishResult(c, mustEncode(result), cache)
}

// finishResult is encodeResult for an encoded result. The modern revision adds the result
// type and the server to every result.
func (l *Lane) finishResult(c *call, b jsontext.Value, cache *cachePolicy) jsontext.Value {
	if !c.modern() {
		return b
	}
	more := l.resultTails[cache]
	if len(b) == 2 {
		return more
	}
	return append(append(b[:len(b)-1], ','), more[1:]...)
}

// resultTail returns the members that the modern revision adds to every result.
func (l *Lane) resultTail(cache *cachePolicy) jsontext.Value {
	out := struct {
		ResultType string         `json:"resultType"`
		TtlMs      *int           `json:"ttlMs,omitempty"`
		CacheScope string         `json:"cacheScope,omitzero"`
		Meta       map[string]any `json:"_meta"`
	}{ResultType: "complete", Meta: map[string]any{metaServer: l.serverInfo()}}
	if cache != nil {
		out.TtlMs, out.CacheScope = schemas.Ptr(cache.ttlMs), cache.scope
	}
	return mustEncode(out)
}

// cachePolicy says how long and for whom a client may cache a result.
type cachePolicy struct {
	ttlMs int
	scope string
}

var (
	cachePublic  = &cachePolicy{3_600_000, "public"}
	cachePrivate = &cachePolicy{300_000, "private"}
	noCache      = &cachePolicy{0, "private"}
)
