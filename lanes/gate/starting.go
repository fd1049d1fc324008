package gate

import (
	"net/http"

	"duplex/schemas"
)

// Starting returns the handler of a listener while the venue replays its journal, or while a member of
// a cluster joins the others. No key is known yet, so every request gets what rejects returns, Draining
// or Joining, and its body is not read. The request has no effect, so a client may send it again. A
// browser of one of the origins may read that; they are those of Gate.Origins. writeError writes the
// error in the form of the lane; nil writes the error body.
func Starting(origins []string, rejects func(*http.Request) schemas.Error, writeError func(w http.ResponseWriter, r *http.Request, e schemas.Error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cors(origins, false, w, r) {
			return
		}
		h := w.Header()
		h["X-Request-Id"] = []string{requestID()}
		h["Connection"] = []string{"close"} // the body is not read
		if e := rejects(r); writeError != nil {
			writeError(w, r, e)
		} else {
			WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
		}
	})
}

// Draining rejects a request to a single machine that starts, or to a follower.
func Draining(*http.Request) schemas.Error { return schemas.ErrorOf("draining") }

// Joining rejects a request to a member that starts as one to a member that is joining: it takes no
// commands and serves no reads (docs/rules/operation.md#member-states).
func Joining(r *http.Request) schemas.Error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return schemas.ErrorOf("node_behind")
	}
	return schemas.ErrorOf("shed")
}
