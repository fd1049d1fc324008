package admin

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"duplex/lanes/gate"
	"duplex/schemas"
)

// Start is the progress of a starting venue. Unit is the unit of Done and Total: bytes or
// groups of the journal.
type Start struct {
	Phase string `json:"phase"`
	Unit  string `json:"unit"`
	Done  uint64 `json:"done"`
	Total uint64 `json:"total"`
}

// Starting returns the handler of the listener while the venue replays its journal. Both
// probes report a live venue that is not ready, with its progress
// (docs/rules/operation.md#health). Any other request gets draining with the operator's
// token, and unauthorized without it.
func Starting(token [32]byte, environment, oracle string, progress func() Start) http.Handler {
	return gate.Starting(func(w http.ResponseWriter, r *http.Request, e schemas.Error) {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if r.Method == http.MethodGet && (path == livez || path == readyz) {
			now := progress()
			h := health{Live: true, Environment: environment, Oracle: oracle, Reasons: []string{"starting"}, Warnings: []string{}, StaleFeeds: []string{}, Start: &now}
			gate.WriteJSON(w, statusOf(path == livez), h)
			return
		}
		hash, ok := gate.Bearer(r.Header)
		if same := subtle.ConstantTimeCompare(hash[:], token[:]) == 1; !same || !ok {
			e = schemas.ErrorOf("unauthorized")
		}
		gate.WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
	})
}
