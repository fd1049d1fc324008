package gate

import "net/http"

// Health is what a listener says of its node without a signature (docs/rules/operation.md#health).
type Health struct {
	Live, Ready bool
	Phase       string
}

type healthBody struct {
	Status string `json:"status"` // ok or unavailable
	Phase  string `json:"phase"`
}

// Probes serves GET and HEAD of /livez and /readyz, and everything else by next. It reads nothing of the
// request but method and path, so that a balancer and a kubelet need no secret.
func Probes(health func() Health, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		live := r.URL.Path == "/livez"
		if !live && r.URL.Path != "/readyz" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		h := health()
		status, body := http.StatusOK, healthBody{"ok", h.Phase}
		if live && !h.Live || !live && !h.Ready {
			status, body.Status = http.StatusServiceUnavailable, "unavailable"
		}
		header := w.Header()
		header["X-Request-Id"] = []string{requestID()}
		header["Cache-Control"] = []string{"no-store"}
		WriteJSON(w, status, body)
	})
}
