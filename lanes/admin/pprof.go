package admin

import (
	"net/http"
	"net/http/pprof"
	rt "runtime/pprof"

	"duplex/lanes/gate"
	"duplex/tools"
)

// profiles lists the profiles under /debug/pprof as JSON. A page of links would be useless,
// since a browser does not send the token.
func profiles(w http.ResponseWriter, r *http.Request) {
	setOp(r, "pprof")
	names := []string{"profile", "trace"}
	for _, p := range rt.Profiles() {
		names = append(names, p.Name())
	}
	gate.WriteJSON(w, http.StatusOK, map[string][]string{"profiles": names})
}

// profile serves one runtime profile.
func (l *lane) profile(w http.ResponseWriter, r *http.Request) {
	setOp(r, "pprof")
	name := r.PathValue("name")
	if rt.Lookup(name) == nil {
		l.Gate.WriteError(w, tools.NewError("not_found"))
		return
	}
	pprof.Handler(name).ServeHTTP(w, r)
}
