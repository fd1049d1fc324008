package gate

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"duplex/schemas"
	"duplex/tools"
)

// finish is the deferred end of every request: it turns a panic into an internal error,
// then counts and logs the request. Neither bodies nor credentials are logged.
func (g *Gate) finish(w *statusRecorder, r *http.Request, c *Call, start time.Time) {
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		g.Log.Error("panic in handler", "request_id", c.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if w.status == 0 {
			g.writePathError(w, r, c, tools.NewError("internal"))
		}
	}
	latency := time.Since(start)
	g.Stats.count(c, w.status, latency)
	if g.Log.Enabled(r.Context(), slog.LevelDebug) {
		key, cause := "", ""
		if c.Key != nil {
			key = c.Key.ID
		}
		if w.status == http.StatusUnauthorized || w.status == http.StatusTooManyRequests && c.signed && !c.identified() {
			cause = g.unauthorizedCause(r, c)
			if c.signed {
				cred, _ := CredentialsOf(r.Header)
				key = schemas.Printable(cmp.Or(key, cred.Key))
			}
		}
		path, _, _ := strings.Cut(r.RequestURI, "?")
		line := []any{"request_id", c.ID, "api_key", key, "method", r.Method, "path", path, "op", c.Op, "status", w.status, "error_code", w.code, "trace_id", c.Trace, "duration", latency}
		if cause != "" {
			line = append(line, "cause", cause)
		}
		g.Log.Debug("request", line...)
	}
}

// statusRecorder records the status and error code of a response for the log.
type statusRecorder struct {
	http.ResponseWriter
	status int
	code   string

	challenge func() string // its WWW-Authenticate, "" for none; nil: never
}

// NoteErrorCode records the code of an error response for the log. Other writers than those of the gate ignore it.
func NoteErrorCode(w http.ResponseWriter, code string) {
	if r, ok := w.(interface{ noteErrorCode(code string) }); ok {
		r.noteErrorCode(code)
	}
}

func (w *statusRecorder) noteErrorCode(code string) { w.code = code }

func (w *statusRecorder) WriteHeader(code int) {
	w.status = cmp.Or(w.status, code)
	if w.challenge != nil && code >= 400 {
		if text := w.challenge(); text != "" {
			w.Header().Set("WWW-Authenticate", text)
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusRecorder) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceID returns the trace id of the Traceparent header (W3C Trace Context), "" if the
// header is missing, repeated or invalid.
func traceID(h http.Header) string {
	v := h["Traceparent"]
	if len(v) != 1 || len(v[0]) != 55 || v[0][:2] == "ff" || strings.Trim(v[0][3:35], "0") == "" {
		return ""
	}
	if m := traceparent.FindStringSubmatch(v[0]); m != nil {
		return m[1]
	}
	return ""
}

func requestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
