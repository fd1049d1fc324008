package funding

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of every request to the service, those of the Standard Webhooks convention
// (docs/rules/funding.md#signatures).
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp" // Unix seconds
	HeaderSignature = "webhook-signature"
)

const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

// ParseSecret decodes a secret: "whsec_" and 24 to 64 bytes in base64.
func ParseSecret(text string) ([]byte, error) {
	raw, found := strings.CutPrefix(text, secretPrefix)
	b, err := base64.StdEncoding.DecodeString(raw)
	if !found || err != nil || len(b) < minSecretBytes || len(b) > maxSecretBytes {
		return nil, errors.New("must be whsec_ and 24 to 64 bytes in base64, such as the output of: echo whsec_$(openssl rand -base64 32)")
	}
	return b, nil
}

// sign sets the headers of a request with this body.
func sign(h http.Header, secret []byte, id string, now time.Time, body []byte) {
	seconds := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, seconds)
	h.Set(HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
