package portal

import (
	"net/http"
	"net/url"
	"strings"
)

// policy is the content security policy of a page of ours: it loads from the portal
// alone, talks to the portal and the API alone, and is framed by nobody.
func (l *lane) policy(more ...string) string {
	return strings.Join(append([]string{
		"default-src 'self'", "connect-src " + strings.Join(l.reached(), " "), "img-src 'self' data:", "object-src 'none'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, more...), "; ")
}

// headers are on every answer.
func (l *lane) headers(next http.Handler) http.Handler {
	policy := l.policy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // documents say otherwise
		next.ServeHTTP(w, r)
	})
}

// reached are the origins a page may talk to.
func (l *lane) reached() []string {
	out := []string{"'self'"}
	for _, base := range []string{l.API, l.WS} {
		if u, err := url.Parse(base); err == nil && u.Host != "" {
			out = append(out, u.Scheme+"://"+u.Host)
		}
	}
	return out
}
