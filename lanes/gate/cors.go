package gate

import (
	"net/http"
	"slices"
	"strings"

	"duplex/schemas"
)

// CORS adds the CORS headers for a configured origin and answers its preflights. It
// reports whether it has answered the request. Without a configured origin, OPTIONS is a
// method like any other (docs/rules/rest.md#browsers).
func (g *Gate) CORS(w http.ResponseWriter, r *http.Request) bool {
	return cors(g.Origins, g.OAuth != nil && r.URL.Path == g.OAuth.Path, w, r)
}

// cors is CORS for a path that takes a bearer token or not.
func cors(origins []string, bearer bool, w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(origins, origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	exposed, allowed := []string{"X-Request-Id", "Date"}, []string{schemas.HeaderKey, schemas.HeaderTimestamp, schemas.HeaderSignature, "Content-Type", "Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"}
	if bearer {
		exposed, allowed = append(exposed, "WWW-Authenticate"), append(allowed, "Authorization")
	}
	h.Set("Access-Control-Expose-Headers", strings.Join(exposed, ", "))
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if r.ContentLength != 0 {
		h.Set("Connection", "close") // the body is not read, and the response must not wait for it
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, HEAD")
	h.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// OriginAllowed reports whether the Origin of a request is acceptable: missing, equal to
// Host, or configured.
func (g *Gate) OriginAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	_, host, ok := strings.Cut(origins[0], "://")
	return ok && strings.EqualFold(host, r.Host) || slices.Contains(g.Origins, origins[0])
}
