package schemas

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// The three headers of every request (spec 5).
const (
	HeaderKey       = "DX-ACCESS-KEY"
	HeaderTimestamp = "DX-ACCESS-TIMESTAMP"
	HeaderSignature = "DX-ACCESS-SIGNATURE"
)

// SecretLen is the length of a secret in bytes; it is shown as twice as many hex
// characters. ReplayWindowMs is how far a timestamp may be off (spec 5).
const (
	SecretLen      = 32
	ReplayWindowMs = 5000
)

// Message is what a signature covers: timestamp, method in capitals, request
// target as sent, body, joined by line feeds (spec 5).
func Message(tsMillis, method, target string, body []byte) []byte {
	return append(appendHead(nil, tsMillis, method, target), body...)
}

func appendHead(b []byte, ts, method, target string) []byte {
	b = append(append(b, ts...), '\n')
	b = append(append(b, strings.ToUpper(method)...), '\n')
	return append(append(b, target...), '\n')
}

// Sign is the base64 of the HMAC-SHA256 over Message.
func Sign(secret []byte, tsMillis, method, target string, body []byte) string {
	mac := authenticate(secret, tsMillis, method, target, body)
	return base64.StdEncoding.EncodeToString(mac[:])
}

// Verify tells whether signature is strict padded base64 of the right 32 bytes and
// tsMillis has 13 digits. It takes the same work for every wrong signature; the
// replay window is the caller's to check.
func Verify(secret []byte, tsMillis, method, target string, body []byte, signature string) bool {
	mac := authenticate(secret, tsMillis, method, target, body)
	var got [base64EncodedLen]byte
	whole := len(signature) == base64EncodedLen
	copy(got[:], signature)
	var sum [sha256.Size + 1]byte
	n, err := base64.StdEncoding.Strict().Decode(sum[:], got[:])
	same := subtle.ConstantTimeCompare(sum[:sha256.Size], mac[:])
	return same&bit(isMillis(tsMillis))&bit(whole)&bit(err == nil)&bit(n == sha256.Size) == 1 // no way out before the end
}

func bit(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}

const base64EncodedLen = 44

// isMillis wants the 13 digits of Unix milliseconds.
func isMillis(s string) bool {
	if len(s) != 13 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Secret reads the 64 hex characters in which a secret is shown; false if they are
// not that.
func Secret(shown string) ([]byte, bool) {
	b, err := hex.DecodeString(shown)
	return b, err == nil && len(b) == SecretLen
}

// hasher is the room one HMAC needs, kept so that a request allocates none of it.
type hasher struct {
	hash hash.Hash
	head []byte
	pad  [sha256.BlockSize]byte
	sum  [sha256.Size]byte
}

var hashers = sync.Pool{New: func() any { return &hasher{hash: sha256.New()} }}

// authenticate is HMAC-SHA256 (RFC 2104) over Message, by pieces.
func authenticate(secret []byte, ts, method, target string, body []byte) [sha256.Size]byte {
	h := hashers.Get().(*hasher)
	h.open(secret)
	h.head = appendHead(h.head[:0], ts, method, target)
	h.hash.Write(h.head)
	h.hash.Write(body)
	out := h.close()
	hashers.Put(h)
	return out
}

func (h *hasher) open(secret []byte) {
	if len(secret) > sha256.BlockSize {
		long := sha256.Sum256(secret)
		secret = long[:]
	}
	clear(h.pad[:])
	copy(h.pad[:], secret)
	h.mask(0x36)
}

// close ends the inner hash, runs the outer one and leaves no key behind.
func (h *hasher) close() [sha256.Size]byte {
	inner := h.hash.Sum(h.sum[:0])
	for i := range h.pad {
		h.pad[i] ^= 0x36
	}
	h.mask(0x5c)
	h.hash.Write(inner)
	h.hash.Sum(h.sum[:0])
	clear(h.pad[:])
	return h.sum
}

func (h *hasher) mask(with byte) {
	for i := range h.pad {
		h.pad[i] ^= with
	}
	h.hash.Reset()
	h.hash.Write(h.pad[:])
}
