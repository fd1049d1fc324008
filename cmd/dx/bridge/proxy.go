package bridge

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/internal/timeouts"
	"duplex/schemas"
)

// Path is the endpoint of the agent lane (docs/rules/agents.md#endpoint).
const Path = "/v1/mcp"

// maxBodyBytes bounds a request to the proxy. It is above the venue's own bound, so that
// the venue returns the error.
const maxBodyBytes = 1 << 20

// Proxy returns a handler that signs requests and forwards them to the agent lane,
// whatever their path. Host and Origin must be of this machine, so that no web page can
// reach the proxy through a host name of its own. Without outputSchemas, lists of tools have
// no output schemas.
func Proxy(c *client.Client, outputSchemas bool, x Commands, log *slog.Logger) http.Handler {
	p := &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // signingTransport makes the request
		Transport:     newSigningTransport(c, outputSchemas, x, log),
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler:  writeReadError,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalRequest(r) {
			writeError(w, http.StatusForbidden, "forbidden_origin")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		p.ServeHTTP(w, r)
	})
}

// writeReadError writes the error of a request that could not be read.
func writeReadError(w http.ResponseWriter, _ *http.Request, err error) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		writeError(w, http.StatusRequestEntityTooLarge, "body_too_large")
		return
	}
	writeError(w, http.StatusBadRequest, "malformed_json")
}

// signingTransport sends signed requests. If the venue does not respond, it returns a
// response of its own.
type signingTransport struct {
	client  *client.Client
	catalog *toolCatalog
	filter  ToolFilter // excludes no tool
	log     *slog.Logger

	commands     Commands
	writeTimeout time.Duration
}

func newSigningTransport(c *client.Client, outputSchemas bool, x Commands, log *slog.Logger) *signingTransport {
	return &signingTransport{client: c, catalog: &toolCatalog{client: c}, filter: ToolFilter{OutputSchemas: outputSchemas}, commands: x, log: log, writeTimeout: client.Timeout(timeouts.Of(writeTimeout))}
}

func (s *signingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	m, _ := parse(body)
	readOnly, _ := s.catalog.isRead(r.Context(), &m) // without a list it counts as a write
	resp, err := s.open(r, &m, body, readOnly)
	if err == nil || r.Context().Err() != nil {
		return resp, err
	}
	s.log.Warn("no answer", "method", m.method, "tool", m.tool(), "err", err)
	status := http.StatusServiceUnavailable
	if !readOnly || m.method == "tools/call" {
		status = http.StatusOK // the status of every tool result
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(s.commands.noAnswerResponse(&m, !readOnly, err))),
	}, nil
}

// open sends a request to the venue as the Bridge does: a read whose response is lost once more, and with several
// nodes through them, where a lost order is settled.
func (s *signingTransport) open(r *http.Request, m *message, body []byte, readOnly bool) (resp *http.Response, err error) {
	m.raw = body
	err = throughNodes(r.Context(), s.client, m, readOnly, func(n *client.Node, unknown bool) error {
		got, err := openNode(r.Context(), n, m, r.Method, forwardedHeaders(r.Header), responseLimit(s.client, m, readOnly, s.writeTimeout))
		if err != nil {
			return err
		}
		if kind, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type")); kind == "text/event-stream" || kind != "application/json" && m.id == nil {
			resp = got // a stream, or the empty response to a notification
			return nil
		}
		defer got.Body.Close()
		answer, err := io.ReadAll(got.Body)
		if err != nil {
			return err
		}
		if !jsontext.Value(answer).IsValid() {
			return &foreignResponse{got.StatusCode, answer}
		}
		got.Header.Del("Content-Length")
		if refused := refusedByNode(answer, unknown); refused != nil && s.client.Several() {
			got.Body, refused.response = io.NopCloser(bytes.NewReader(answer)), got
			return refused
		}
		if !readOnly {
			n.Saw(seqOf(object(answer)["result"]))
		}
		if unknown {
			answer = settled(r.Context(), s.client, m, answer)
		}
		if m.method == "tools/list" {
			answer = s.filter.list(s.catalog, answer)
		}
		got.Body, got.ContentLength = io.NopCloser(bytes.NewReader(answer)), int64(len(answer))
		resp = got
		return nil
	}, func() bool { return false })
	if refused, ok := errors.AsType[*nodeRefusal](err); ok {
		return refused.response, nil // no other node says more
	}
	return resp, err
}

// forwardedHeaders returns the headers that the proxy forwards. They exclude signatures and
// every other header that could identify another caller.
func forwardedHeaders(from http.Header) http.Header {
	to := http.Header{}
	for name, values := range from {
		switch {
		case strings.HasPrefix(name, "Mcp-"), name == "Accept", name == "Content-Type", name == "Content-Encoding", name == "User-Agent":
			to[name] = values
		}
	}
	return to
}

// isLocalRequest reports whether Host, and Origin if present, name this machine.
func isLocalRequest(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at == nil || !loopback(r.Host) || port(r.Host) != port(at.String()) {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	scheme, host, ok := strings.Cut(origins[0], "://")
	return ok && len(origins) == 1 && (scheme == "http" || scheme == "https") && loopback(host)
}

// loopback reports whether host[:port] is localhost or a loopback address, which name
// servers cannot redirect.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func port(hostport string) string {
	if _, p, err := net.SplitHostPort(hostport); err == nil {
		return p
	}
	return "80"
}

// writeError writes an error in the form of the agent lane.
func writeError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(venueErrorResponse(nil, status, schemas.ErrorOf(code))) // an error means that the client has disconnected
}
