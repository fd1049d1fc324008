package main

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

// maxAge is how far the time of a request may be from this machine's clock.
const maxAge = 5 * time.Minute

// parseSecret decodes whsec_ and base64.
func parseSecret(text string) ([]byte, error) {
	raw, found := strings.CutPrefix(text, "whsec_")
	secret, err := base64.StdEncoding.DecodeString(raw)
	if !found || err != nil || len(secret) == 0 {
		return nil, errors.New("the secret must be whsec_ and base64")
	}
	return secret, nil
}

// verify checks the signature of a request from the venue and returns its id.
func verify(secret []byte, h http.Header, body []byte, now time.Time) (id string, err error) {
	id, sent := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return "", errors.New("webhook-timestamp is not a number of seconds")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > maxAge || age < -maxAge {
		return "", errors.New("webhook-timestamp is more than five minutes from this clock")
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + sent + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for _, signature := range strings.Fields(h.Get("webhook-signature")) { // several while a secret is replaced
		raw, found := strings.CutPrefix(signature, "v1,")
		if got, err := base64.StdEncoding.DecodeString(raw); found && err == nil && id != "" && hmac.Equal(got, want) {
			return id, nil
		}
	}
	return "", errors.New("webhook-signature is wrong")
}
