package gate

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"

	"duplex/schemas"
	"duplex/tools"
)

var jsonType = []string{"application/json"}

// WriteError writes the error body of err (docs/rules/errors.md#error-body), counts it and
// logs an internal error. err may be of any type.
func (g *Gate) WriteError(w http.ResponseWriter, err error) { g.writeError(w, err, nil, "") }

// writeError is WriteError for a decoded request, nil if there is none, and with a hint for an error that has none.
func (g *Gate) writeError(w http.ResponseWriter, err error, in any, hint string) {
	e := tools.Explain(g.ReportError(w.Header().Get("X-Request-Id"), err), err, in)
	e.Hint = cmp.Or(e.Hint, hint)
	NoteErrorCode(w, e.Code)
	WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
}

// ReportError returns the error that a caller sees for err. It counts the code, and logs
// err if the venue itself failed.
func (g *Gate) ReportError(requestID string, err error) schemas.Error {
	e := tools.ErrorOf(err)
	if e.Code == "internal" && err != nil {
		g.Log.Error("internal error", "request_id", requestID, "err", err)
	}
	g.Stats.countError(e.Code)
	return e
}

// WriteJSON writes v as JSON with a Content-Length.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	buf := responseBuffers.Get().(*[]byte)
	b, err := appendJSON((*buf)[:0], v)
	if err != nil { // the venue's own types always encode, and text of callers is checked on input
		panic(err)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(status)
	_, _ = w.Write(b) // fails only after the client has disconnected
	if *buf = b; cap(b) <= maxPooledResponse {
		responseBuffers.Put(buf)
	}
}

// EncodeJSON encodes a response as WriteJSON does.
func EncodeJSON(v any) ([]byte, error) { return appendJSON(nil, v) }

// responseBuffers pools the encoding buffers. A page of orders takes 48 KiB.
var responseBuffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooledResponse is the largest capacity of a pooled buffer, in bytes.
const maxPooledResponse = 256 << 10

// appendJSON uses the hand-written encoder of a type that has one.
func appendJSON(dst []byte, v any) ([]byte, error) {
	if a, ok := v.(interface{ Append([]byte) []byte }); ok {
		return a.Append(dst), nil
	}
	return schemas.Append(dst, v)
}

// PathOptions changes how the pipeline treats one path of the API.
type PathOptions struct {
	// WriteError writes the errors of the stages before the lane; nil means Gate.WriteError.
	WriteError func(w http.ResponseWriter, r *http.Request, c *Call, err error)
	// NoBudget leaves the time budget to the lane, and ends the request's context when the
	// client disconnects.
	NoBudget bool
}

// SetPathOptions sets the options of a path. Lanes call it while they are mounted; it must
// not be called once requests are served.
func (g *Gate) SetPathOptions(path string, m PathOptions) {
	if g.pathOptionsByPath == nil {
		g.pathOptionsByPath = map[string]PathOptions{}
	}
	g.pathOptionsByPath[path] = m
}

func (g *Gate) pathOptions(r *http.Request) PathOptions { return g.pathOptionsByPath[r.URL.Path] }

// writePathError writes an error of the stages before the lane.
func (g *Gate) writePathError(w http.ResponseWriter, r *http.Request, c *Call, err error) {
	if m := g.pathOptions(r); m.WriteError != nil {
		m.WriteError(w, r, c, err)
		return
	}
	hint := ""
	if tools.ErrorOf(err).HTTP() == http.StatusUnauthorized {
		hint = g.UnauthorizedCause(r, c)
	}
	g.writeError(w, err, nil, hint)
}
