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

// The three headers of every signed request (docs/rules/accounts.md#signing).
const (
	HeaderKey       = "DX-ACCESS-KEY"
	HeaderTimestamp = "DX-ACCESS-TIMESTAMP"
	HeaderSignature = "DX-ACCESS-SIGNATURE"
)

// SecretLen is the length of a secret in bytes. ReplayWindowMs is the largest difference
// between a timestamp and the venue's clock, in ms (docs/rules/accounts.md#replay-window).
const (
	SecretLen      = 32
	ReplayWindowMs = 5000
)

// Message returns the bytes that a signature covers: timestamp, method in capitals,
// request target as sent, and body, joined by line feeds.
func Message(tsMillis, method, target string, body []byte) []byte {
	return append(appendMessageHead(nil, tsMillis, method, target), body...)
}

func appendMessageHead(b []byte, ts, method, target string) []byte {
	b = append(append(b, ts...), '\n')
	b = append(append(b, strings.ToUpper(method)...), '\n')
	return append(append(b, target...), '\n')
}

// Sign returns the base64 of the HMAC-SHA256 over Message.
func Sign(secret []byte, tsMillis, method, target string, body []byte) string {
	mac := hmacOf(secret, tsMillis, method, target, body)
	return base64.StdEncoding.EncodeToString(mac[:])
}

// Verify reports whether signature is the strict padded base64 of the right 32 bytes and
// tsMillis has 13 digits. It does the same work for every wrong signature. The caller
// checks the replay window.
func Verify(secret []byte, tsMillis, method, target string, body []byte, signature string) bool {
	mac := hmacOf(secret, tsMillis, method, target, body)
	var got [signatureLen]byte
	whole := len(signature) == signatureLen
	copy(got[:], signature)
	var sum [sha256.Size + 1]byte
	n, err := base64.StdEncoding.Strict().Decode(sum[:], got[:])
	same := subtle.ConstantTimeCompare(sum[:sha256.Size], mac[:])
	return same&boolToInt(isMillis(tsMillis))&boolToInt(whole)&boolToInt(err == nil)&boolToInt(n == sha256.Size) == 1 // no early return: every input takes the same time
}

func boolToInt(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}

const signatureLen = 44

// isMillis reports whether s is 13 digits, as Unix milliseconds are.
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

// ParseSecret parses the 64 hex characters of a secret. It reports false for any other
// text.
func ParseSecret(shown string) ([]byte, bool) {
	b, err := hex.DecodeString(shown)
	return b, err == nil && len(b) == SecretLen
}

// hmacState holds the buffers of one HMAC. A pool reuses them, so a signature does not
// allocate.
type hmacState struct {
	hash hash.Hash
	head []byte
	pad  [sha256.BlockSize]byte
	sum  [sha256.Size]byte
}

var hashers = sync.Pool{New: func() any { return &hmacState{hash: sha256.New()} }}

// hmacOf returns the HMAC-SHA256 (RFC 2104) over Message without building the message.
func hmacOf(secret []byte, ts, method, target string, body []byte) [sha256.Size]byte {
	h := hashers.Get().(*hmacState)
	h.start(secret)
	h.head = appendMessageHead(h.head[:0], ts, method, target)
	h.hash.Write(h.head)
	h.hash.Write(body)
	out := h.finish()
	hashers.Put(h)
	return out
}

func (h *hmacState) start(secret []byte) {
	if len(secret) > sha256.BlockSize {
		long := sha256.Sum256(secret)
		secret = long[:]
	}
	clear(h.pad[:])
	copy(h.pad[:], secret)
	h.xorPad(0x36)
}

// finish ends the inner hash, runs the outer one and clears the key from the buffers.
func (h *hmacState) finish() [sha256.Size]byte {
	inner := h.hash.Sum(h.sum[:0])
	for i := range h.pad {
		h.pad[i] ^= 0x36
	}
	h.xorPad(0x5c)
	h.hash.Write(inner)
	h.hash.Sum(h.sum[:0])
	clear(h.pad[:])
	return h.sum
}

func (h *hmacState) xorPad(with byte) {
	for i := range h.pad {
		h.pad[i] ^= with
	}
	h.hash.Reset()
	h.hash.Write(h.pad[:])
}
