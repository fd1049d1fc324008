package admin

import (
	"net/http"
	"net/http/pprof"
	rt "runtime/pprof"

	"duplex/lanes/gate"
	"duplex/tools"
)

// profiles lists what can be had below /debug/pprof; no page of links, since a
// browser cannot send the token anyway.
func profiles(w http.ResponseWriter, r *http.Request) {
	named(r, "pprof")
	names := []string{"profile", "trace"}
	for _, p := range rt.Profiles() {
		names = append(names, p.Name())
	}
	gate.Answer(w, http.StatusOK, map[string][]string{"profiles": names})
}

func (l *lane) profile(w http.ResponseWriter, r *http.Request) {
	named(r, "pprof")
	name := r.PathValue("name")
	if rt.Lookup(name) == nil {
		l.Gate.Fail(w, tools.Refuse("not_found"))
		return
	}
	pprof.Handler(name).ServeHTTP(w, r)
}
