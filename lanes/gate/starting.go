package gate

import (
	"net/http"

	"duplex/schemas"
)

// Starting returns the handler of a listener while the venue replays its journal. No key is
// known yet, so every request gets draining, and its body is not read. The request
// has no effect, so a client may send it again. A browser of one of the origins may read that; they are
// those of Gate.Origins. writeError writes the error in the form of the lane; nil writes the error body.
func Starting(origins []string, writeError func(w http.ResponseWriter, r *http.Request, e schemas.Error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cors(origins, w, r) {
			return
		}
		h := w.Header()
		h["X-Request-Id"] = []string{requestID()}
		h["Connection"] = []string{"close"} // the body is not read
		if e := schemas.ErrorOf("draining"); writeError != nil {
			writeError(w, r, e)
		} else {
			WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
		}
	})
}
