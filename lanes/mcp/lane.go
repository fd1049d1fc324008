package mcp

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Path is the one endpoint of the lane.
const Path = "/v1/mcp"

// Lane is the agent lane of a venue.
type Lane struct {
	gate    *gate.Gate
	version string
	tools   []*tool
	byName  map[string]*tool
	methods map[string]method
	tails   map[*cache]jsontext.Value // by how long a result stays true
	hub     *hub
	clerks  clerks
	running running
}

// Mount puts the endpoint onto m, which must stand behind g.Edge, and starts to
// follow the engine. Close ends it.
func Mount(m *gate.Routes, g *gate.Gate, version string) *Lane {
	l := &Lane{gate: g, version: version, byName: map[string]*tool{}, tails: map[*cache]jsontext.Value{}, clerks: make(clerks, clerksKept)}
	l.hub = newHub(g.Venue.Engine)
	for _, c := range []*cache{nil, forAll, forKey, forOnce} {
		l.tails[c] = l.tail(c)
	}
	l.offers()
	l.speaks()
	g.At(Path, gate.Manner{Fail: l.refuse, OwnTime: true})
	m.Handle(Path, l)
	return l
}

// Close lets whatever waits for events go: each gets its answer now.
func (l *Lane) Close() {
	l.hub.close()
	l.clerks.dismiss()
}

// call is one request on its way through the lane.
type call struct {
	*gate.Call
	message
	revision string
	ctx      context.Context // ends with the request's budget, or when it is canceled
	header   http.Header
	target   target   // of tools/call
	parked   *outcome // of what had to wait before it could answer
	stream   *stream  // set where the answer goes on
	events   events   // begun where something was told ahead of the answer
}

// modern tells whether the request is in the revision without a handshake.
func (c *call) modern() bool { return c.revision == modern }

func (l *Lane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := gate.CallOf(r.Context())
	c.Lane, c.Op = "mcp", "mcp"
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		l.refuse(w, r, tools.Refuse("method_not_allowed"))
		return
	}
	if !l.gate.OriginAllowed(r) {
		l.refuse(w, r, tools.Refuse("forbidden_origin"))
		return
	}
	if err := gate.MediaType(r, c); err != nil {
		l.refuse(w, r, err)
		return
	}
	m, fault := parse(c.Body)
	if fault != nil {
		l.fail(w, m.id, fault)
		return
	}
	x := &call{Call: c, message: m, header: r.Header, events: events{out: w}}
	if x.revision, fault = speak(r.Header, &x.message); fault != nil {
		l.fail(w, m.id, fault)
		return
	}
	l.serve(w, r, x)
}

// serve answers a message whose form is sound.
func (l *Lane) serve(w http.ResponseWriter, r *http.Request, c *call) {
	do, known := l.methods[c.method]
	switch {
	case c.notification():
		l.notified(w, c)
		return
	case !known || do.modern && !c.modern() || do.legacy && c.modern():
		l.fail(w, c.id, noMethod(c.method))
		return
	}
	c.Op = "mcp " + c.method
	leave := l.enter(r, c)
	defer leave()
	if do.park != nil {
		do.park(l, c)
	}
	result, fault := (&exchange{lane: l, call: c, answer: func(c *call) (jsontext.Value, *protocolFault) { return do.answer(l, c) }}).run()
	switch {
	case c.events.begun:
		c.events.message(ending(c.id, result, fault))
	case fault != nil:
		l.fail(w, c.id, fault)
	case c.stream != nil:
		c.stream.serve()
	default:
		write(w, http.StatusOK, envelope(c.id, "result", result))
	}
}

// refuse answers for the door and for what was refused before a message was read.
func (l *Lane) refuse(w http.ResponseWriter, _ *http.Request, err error) {
	l.fail(w, nil, venueFault(l.gate.Refusal(w.Header().Get("X-Request-Id"), err)))
}

// refusal is a refusal by the venue of a message that was read.
func (l *Lane) refusal(c *call, err error) *protocolFault {
	return venueFault(l.gate.Refusal(c.ID, err))
}

// fail writes an error; an id that could not be read is left out, never null.
func (l *Lane) fail(w http.ResponseWriter, id jsontext.Value, f *protocolFault) {
	write(w, f.status, envelope(id, "error", f.body()))
}

// ending is the message that ends a request.
func ending(id, result jsontext.Value, f *protocolFault) []byte {
	if f != nil {
		return envelope(id, "error", f.body())
	}
	return envelope(id, "result", result)
}

// envelope makes the answer, with the id as it came.
func envelope(id jsontext.Value, member string, value jsontext.Value) []byte {
	b := make([]byte, 0, len(value)+len(id)+48)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(append(append(b, `,"`...), member...), `":`...)
	return append(append(b, value...), '}')
}

func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone: nobody is left to tell
}

// admit takes the read token that every method but tools/call costs.
func (l *Lane) admit(c *call) *protocolFault { return l.admitWith(c, 0) }

// admitWith wants scopes of the key first.
func (l *Lane) admitWith(c *call, scopes core.Scopes) *protocolFault {
	if err := l.gate.Admit(c.Call, &tools.Facts{Name: c.Op, Scope: scopes}); err != nil {
		return l.refusal(c, err)
	}
	return nil
}

// server says who answers.
func (l *Lane) server() any {
	return struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}{"duplex", "Duplex", l.version}
}

// finish completes a result for the revision it is in. cache is for lists and reads.
func (l *Lane) finish(c *call, result any, cache *cache) jsontext.Value {
	return l.whole(c, encoded(result), cache)
}

// whole is finish of a result that is written already: the modern revision wants to
// know that it is whole and who gave it.
func (l *Lane) whole(c *call, b jsontext.Value, cache *cache) jsontext.Value {
	if !c.modern() {
		return b
	}
	more := l.tails[cache]
	if len(b) == 2 {
		return more
	}
	return append(append(b[:len(b)-1], ','), more[1:]...)
}

// tail is what the modern revision has at the end of every result.
func (l *Lane) tail(cache *cache) jsontext.Value {
	out := struct {
		ResultType string         `json:"resultType"`
		TtlMs      *int           `json:"ttlMs,omitempty"`
		CacheScope string         `json:"cacheScope,omitzero"`
		Meta       map[string]any `json:"_meta"`
	}{ResultType: "complete", Meta: map[string]any{metaServer: l.server()}}
	if cache != nil {
		out.TtlMs, out.CacheScope = schemas.Of(cache.ttlMs), cache.scope
	}
	return encoded(out)
}

// cache is how long and for whom a result stays true.
type cache struct {
	ttlMs int
	scope string
}

var (
	forAll  = &cache{3_600_000, "public"}
	forKey  = &cache{300_000, "private"}
	forOnce = &cache{0, "private"}
)
