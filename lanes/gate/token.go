package gate

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// Bearer returns the SHA-256 of the bearer token in h. The venue stores tokens only in
// this form (docs/rules/accounts.md#secrets-at-rest). ok is false unless h has exactly one
// Authorization header and it carries a bearer token.
func Bearer(h http.Header) (hash [32]byte, ok bool) {
	token, ok := bearerOf(h)
	if !ok {
		return hash, false
	}
	return sha256.Sum256([]byte(token)), true
}

func bearerOf(h http.Header) (token string, ok bool) {
	all := h["Authorization"]
	if len(all) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(all[0], " ")
	return token, found && strings.EqualFold(scheme, "Bearer") && token != ""
}

// NewToken returns a random bearer token and its SHA-256, which is what the venue stores.
func NewToken(prefix string) (token string, hash [32]byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	token = prefix + hex.EncodeToString(raw[:])
	return token, sha256.Sum256([]byte(token))
}
