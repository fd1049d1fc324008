package gate

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// Bearer gives the SHA-256 of the bearer token of a request, which is all that is
// kept of a token (contract operator, At rest); false unless there is exactly one.
func Bearer(h http.Header) (hash [32]byte, ok bool) {
	all := h["Authorization"]
	if len(all) != 1 {
		return hash, false
	}
	scheme, token, found := strings.Cut(all[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return hash, false
	}
	return sha256.Sum256([]byte(token)), true
}
