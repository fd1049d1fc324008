package admin

import (
	"net/http"
	"strings"

	"duplex/core/engine"
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
// (docs/rules/operation.md#health). The page is served, and shows it. Any other request gets
// draining, or of a member of a cluster shed with its state, with any bearer token, and unauthorized
// without one: the named operators are in the journal, so a start cannot tell whose token is valid, and
// a valid one must not look revoked.
func Starting(environment, oracle string, member bool, progress func() Start) http.Handler {
	rejects := gate.Draining
	if member {
		rejects = func(*http.Request) schemas.Error {
			e := schemas.ErrorOf("shed")
			e.Details = &schemas.Details{"reason": engine.Joining.String()}
			return e
		}
	}
	return gate.Starting(nil, rejects, func(w http.ResponseWriter, r *http.Request, e schemas.Error) {
		if f := pageFileOf(r); f != nil {
			f.ServeHTTP(w, r)
			return
		}
		path, _, _ := strings.Cut(r.RequestURI, "?")
		if r.Method == http.MethodGet && (path == livez || path == readyz) {
			now := progress()
			h := health{Live: true, Environment: environment, Oracle: oracle, Reasons: []string{"starting"}, Warnings: []string{}, StaleFeeds: []string{}, Start: &now}
			if member {
				h.State = engine.Joining.String()
				h.Reasons = append(h.Reasons, h.State)
			}
			gate.WriteJSON(w, statusOf(path == livez), h)
			return
		}
		if _, ok := gate.Bearer(r.Header); !ok {
			e = schemas.ErrorOf("unauthorized")
		}
		gate.WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
	})
}
