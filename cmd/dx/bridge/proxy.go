package bridge

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"

	"duplex/client"
	"duplex/schemas"
)

// Path is where the venue speaks MCP (contract mcp).
const Path = "/v1/mcp"

// bodyMax is what the proxy reads of a request: well over the venue's own cap, so that
// the venue is the one to refuse.
const bodyMax = 1 << 20

// Proxy signs what it is sent and passes it on to the venue. Any path goes to the one
// endpoint; Host and Origin must be of this machine, so that no web page can use it
// by a name of its own that leads here.
func Proxy(c *client.Client, log *slog.Logger) http.Handler {
	p := &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // signer makes the request anew
		Transport:     &signer{c, &catalog{client: c}, log},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler:  broken,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r) {
			refuse(w, http.StatusForbidden, "forbidden_origin")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
		p.ServeHTTP(w, r)
	})
}

// broken answers a request that could not be read.
func broken(w http.ResponseWriter, _ *http.Request, err error) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuse(w, http.StatusRequestEntityTooLarge, "body_too_large")
		return
	}
	refuse(w, http.StatusBadRequest, "malformed_json")
}

// signer sends a request of the proxy's signed. It answers for a venue that does not.
type signer struct {
	client  *client.Client
	catalog *catalog
	log     *slog.Logger
}

func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	m, _ := parse(body)
	readOnly, _ := s.catalog.reads(r.Context(), &m) // without a list it counts as a write
	resp, err := s.client.Open(r.Context(), r.Method, Path, passed(r.Header), body)
	if err == nil || r.Context().Err() != nil {
		return resp, err
	}
	s.log.Warn("no answer", "method", m.method, "tool", m.tool(), "err", err)
	status := http.StatusServiceUnavailable
	if !readOnly && mayBeDone(err) {
		status = http.StatusOK // as every result of a tool
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(unanswered(&m, !readOnly, err))),
	}, nil
}

// passed is what goes on to the venue: nothing that would let one who uses the proxy
// speak in another's name.
func passed(from http.Header) http.Header {
	to := http.Header{}
	for name, values := range from {
		switch {
		case strings.HasPrefix(name, "Mcp-"), name == "Accept", name == "Content-Type", name == "Content-Encoding", name == "User-Agent":
			to[name] = values
		}
	}
	return to
}

// local tells whether a request was meant for this machine: by the name it was sent
// to, and by the page it comes from, if any.
func local(r *http.Request) bool {
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

// loopback tells whether host[:port] is a name of this machine that no name server
// can give to another.
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

// refuse answers as the venue's agent lane refuses a request itself.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failure(nil, status, schemas.ErrorOf(code))) // the client has gone: nobody is left to tell
}
