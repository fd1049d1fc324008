package portal

import (
	"net/http"
	"net/url"
	"strings"
)

// contentSecurityPolicy returns the policy of a page: it loads only from the portal,
// connects only to the portal and the API, and cannot be framed.
func (l *lane) contentSecurityPolicy(more ...string) string {
	return strings.Join(append([]string{
		"default-src 'self'", "connect-src " + strings.Join(l.connectSources(), " "), "img-src 'self' data:", "object-src 'none'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, more...), "; ")
}

// withSecurityHeaders sets the security headers of every response.
func (l *lane) withSecurityHeaders(next http.Handler) http.Handler {
	policy := l.contentSecurityPolicy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // documents override it
		next.ServeHTTP(w, r)
	})
}

// connectSources returns the origins that a page may connect to.
func (l *lane) connectSources() []string {
	out := []string{"'self'"}
	for _, base := range []string{l.API, l.WS} {
		if u, err := url.Parse(base); err == nil && u.Host != "" {
			out = append(out, u.Scheme+"://"+u.Host)
		}
	}
	return out
}
