package gate

import (
	"net/http"
	"slices"
	"strings"

	"duplex/schemas"
)

// CORS answers for browsers of the configured origins, and tells whether the
// request ends here. Without such origins OPTIONS is a method like any other.
func (g *Gate) CORS(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(g.Origins, origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Date")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, HEAD")
	h.Set("Access-Control-Allow-Headers", strings.Join([]string{schemas.HeaderKey, schemas.HeaderTimestamp, schemas.HeaderSignature, "Content-Type", "Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"}, ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// OriginAllowed tells whether a browser's Origin may use a lane that checks it:
// none at all, the host itself, or a configured one.
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
