package gate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"duplex/schemas"
	"duplex/tools"
)

// Edge stands before a lane: it gives the request an id, catches panics, bounds and
// reads the body, and lets nobody in without a signature. What passes carries a
// Call and the time budget of a request.
func (g *Gate) Edge(next http.Handler) http.Handler { return g.door("rest", g.Authenticate, next) }

// Guard is Edge for the listeners beside the API, portal and admin: `prove` says who
// may come in, no foreign browser origin may, and the time budget is the lane's to
// set.
func (g *Gate) Guard(lane string, prove func(*http.Request, *Call) error, next http.Handler) http.Handler {
	return g.door(lane, prove, next)
}

func (g *Gate) door(lane string, prove func(*http.Request, *Call) error, next http.Handler) http.Handler {
	api := lane == "rest" // or another lane at the same address, which then says so
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		c := &Call{Lane: lane, ID: requestID(), Trace: traceOf(r.Header)}
		w.Header()["X-Request-Id"] = []string{c.ID}
		rec := &recorder{ResponseWriter: w}
		defer g.finish(rec, r, c, begun)
		conn := connOf(r)
		c.ambiguous = conn.ambiguous(r)
		if len(r.TransferEncoding) > 0 || c.ambiguous {
			w.Header().Set("Connection", "close") // see smuggle.go: nothing is watched behind a chunked body
		}
		bounded := api && !g.manner(r).OwnTime
		conn.look(!bounded)
		if api && g.CORS(rec, r) {
			return
		}
		if err := g.enter(rec, r, c, prove); err != nil {
			g.refuse(rec, r, err)
			return
		}
		if !bounded {
			next.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
			return
		}
		ctx := &allowance{Context: r.Context(), call: c, end: time.Now().Add(g.Budget()), ends: &g.ends}
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// Budget is how long a request may take.
func (g *Gate) Budget() time.Duration {
	return time.Duration(g.Venue.Terms.ResponseBudget) * time.Millisecond
}

// enter reads and authenticates, then refuses what no lane serves.
func (g *Gate) enter(w http.ResponseWriter, r *http.Request, c *Call, prove func(*http.Request, *Call) error) error {
	body, err := ReadBody(w, r, g.BodyTime)
	if err != nil {
		return err
	}
	c.Body = body
	if err := prove(r, c); err != nil {
		return err
	}
	return proper(r, c)
}

// proper refuses requests that are well signed and yet of no form we serve: an
// absolute target, or a path that would need rewriting. No path ever redirects.
func proper(r *http.Request, c *Call) error {
	if !strings.HasPrefix(r.RequestURI, "/") || c.ambiguous {
		return tools.Refuse("schema_violation")
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.ContainsAny(path, "%;") || strings.Contains(path, "//") || strings.Contains(path, "/./") || strings.Contains(path, "/../") ||
		strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") || len(path) > 1 && strings.HasSuffix(path, "/") {
		return tools.Refuse("not_found")
	}
	return nil
}

// MediaType wants a body to be plain JSON, or no word of what it is. It is asked where
// a body is about to be read: a route that takes none refuses it whatever it is.
func MediaType(r *http.Request, c *Call) error {
	if len(c.Body) == 0 {
		return nil
	}
	if len(r.Header["Content-Encoding"]) > 0 {
		return tools.Refuse("unsupported_media_type")
	}
	if t := r.Header.Values("Content-Type"); len(t) > 0 {
		if name, _, _ := strings.Cut(t[0], ";"); len(t) > 1 || !strings.EqualFold(strings.TrimSpace(name), "application/json") {
			return tools.Refuse("unsupported_media_type")
		}
	}
	return nil
}

// smallBody is a body for which room is made before it is here.
const smallBody = 1 << 10

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ReadBody reads the whole body within its cap and its time. A body that does not
// come in whole cannot have a signature that holds.
func ReadBody(w http.ResponseWriter, r *http.Request, within time.Duration) ([]byte, error) {
	if r.ContentLength == 0 && len(r.TransferEncoding) == 0 {
		return nil, nil
	}
	if r.ContentLength > BodyMax {
		return nil, tools.Refuse("body_too_large")
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(within)) // a writer without deadlines is bounded by its server
	body, err := bodyOf(r)
	switch {
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, tools.Refuse("unauthorized")
	case len(body) > BodyMax:
		return nil, tools.Refuse("body_too_large")
	}
	_ = rc.SetReadDeadline(time.Time{})
	return body, nil
}

// bodyOf reads a body to its end, or until it is over the cap.
func bodyOf(r *http.Request) ([]byte, error) {
	if n := r.ContentLength; 0 < n && n <= smallBody {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	buf := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(buf)
	buf.Reset()
	_, err := io.Copy(buf, io.LimitReader(r.Body, BodyMax+1))
	return bytes.Clone(buf.Bytes()), err
}

// finish turns a panic into `internal` and logs the request, without a secret.
func (g *Gate) finish(w *recorder, r *http.Request, c *Call, begun time.Time) {
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		g.Log.Error("panic", "request_id", c.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if w.status == 0 {
			g.refuse(w, r, tools.Refuse("internal"))
		}
	}
	took := time.Since(begun)
	g.Stats.count(c, w.status, took)
	if g.Log.Enabled(r.Context(), slog.LevelDebug) {
		key := ""
		if c.Key != nil {
			key = c.Key.ID
		}
		path, _, _ := strings.Cut(r.RequestURI, "?")
		g.Log.Debug("request", "request_id", c.ID, "key", key, "method", r.Method, "path", path, "op", c.Op, "status", w.status, "code", w.code, "trace", c.Trace, "took", took)
	}
}

// recorder remembers status and error code for the log.
type recorder struct {
	http.ResponseWriter
	status int
	code   string
}

// Refused notes the code of an error that is being answered, for the log.
func (w *recorder) Refused(code string) { w.code = code }

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the trace id that a caller has given the request (W3C Trace Context); ""
// where there is none, or none that is sound.
func traceOf(h http.Header) string {
	v := h["Traceparent"]
	if len(v) != 1 || len(v[0]) != 55 || v[0][:2] == "ff" || strings.Trim(v[0][3:35], "0") == "" {
		return ""
	}
	if m := traceparent.FindStringSubmatch(v[0]); m != nil {
		return m[1]
	}
	return ""
}

func (w *recorder) WriteHeader(code int) {
	if w.status == 0 {
		w.status = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var jsonType = []string{"application/json"}

// Fail writes the error body of spec 7 for any error of an operation or the door.
func (g *Gate) Fail(w http.ResponseWriter, err error) {
	e := g.Refusal(w.Header().Get("X-Request-Id"), err)
	if r, ok := w.(interface{ Refused(code string) }); ok {
		r.Refused(e.Code)
	}
	Answer(w, e.HTTP(), schemas.ErrorBody{Error: e})
}

// Refusal is what a caller is told of an error. It is counted, and logged where the
// venue itself failed.
func (g *Gate) Refusal(requestID string, err error) schemas.Error {
	e := tools.ErrorOf(err)
	if e.Code == "internal" && err != nil {
		g.Log.Error("internal", "request_id", requestID, "err", err)
	}
	g.Stats.refuse(e.Code)
	return e
}

// Answer writes v as JSON.
func Answer(w http.ResponseWriter, status int, v any) {
	buf := answers.Get().(*[]byte)
	b, err := appendTo((*buf)[:0], v)
	if err != nil { // our own types always encode; text from outside was checked
		panic(err)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client has gone: nobody is left to tell
	if *buf = b; cap(b) <= keptAnswer {
		answers.Put(buf)
	}
}

// answers are buffers of answers that were written: a page of orders is 48 KiB.
var answers = sync.Pool{New: func() any { return new([]byte) }}

const keptAnswer = 256 << 10

// appendTo takes the hand-written way where a type has one.
func appendTo(dst []byte, v any) ([]byte, error) {
	if a, ok := v.(interface{ Append([]byte) []byte }); ok {
		return a.Append(dst), nil
	}
	return schemas.Append(dst, v)
}

func requestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
