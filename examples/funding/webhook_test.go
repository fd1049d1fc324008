package main

import (
	"net/http"
	"testing"
	"time"
)

// TestWebhookSignature checks verify on a signature that was computed elsewhere (the vector of the
// Standard Webhooks convention) and on altered requests.
func TestWebhookSignature(t *testing.T) {
	secret, err := parseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"test": 2432232314}`
	now := time.Unix(1614265330, 0)
	header := func(change func(http.Header)) http.Header {
		h := http.Header{}
		h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
		h.Set("webhook-timestamp", "1614265330")
		h.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
		change(h)
		return h
	}
	if id, err := verify(secret, header(func(http.Header) {}), []byte(body), now.Add(maxAge)); err != nil || id != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
		t.Error(id, err)
	}
	if _, err := verify(secret, header(func(h http.Header) {
		h.Set("webhook-signature", "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	}), []byte(body), now); err != nil {
		t.Errorf("the second of two signatures: %v", err)
	}
	for name, change := range map[string]func(http.Header){
		"another id":     func(h http.Header) { h.Set("webhook-id", "msg_q") },
		"no id":          func(h http.Header) { h.Del("webhook-id") },
		"another time":   func(h http.Header) { h.Set("webhook-timestamp", "1614265331") },
		"no time":        func(h http.Header) { h.Del("webhook-timestamp") },
		"no signature":   func(h http.Header) { h.Del("webhook-signature") },
		"another scheme": func(h http.Header) { h.Set("webhook-signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=") },
	} {
		if _, err := verify(secret, header(change), []byte(body), now); err == nil {
			t.Error(name)
		}
	}
	if _, err := verify(secret, header(func(http.Header) {}), []byte(body+" "), now); err == nil {
		t.Error("another body")
	}
	if _, err := verify(secret, header(func(http.Header) {}), []byte(body), now.Add(maxAge+time.Second)); err == nil {
		t.Error("an old request")
	}
	for _, text := range []string{"", "whsec_", "whsec_%", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if _, err := parseSecret(text); err == nil {
			t.Errorf("the secret %q", text)
		}
	}
}
