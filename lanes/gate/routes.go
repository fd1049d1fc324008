package gate

import (
	"net/http"
	"slices"
	"strings"

	"duplex/tools"
)

// Routes is a ServeMux that answers an unknown path with not_found, and a known path with
// another method with method_not_allowed and an Allow header.
type Routes struct {
	gate    *Gate
	mux     *http.ServeMux
	methods []string
}

// NewRoutes returns an empty Routes.
func (g *Gate) NewRoutes() *Routes {
	m := &Routes{gate: g, mux: http.NewServeMux()}
	m.mux.HandleFunc("/", m.miss)
	return m
}

// HandleFunc registers a "METHOD /path" pattern, as Handle does.
func (m *Routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// Handle registers a "METHOD /path" pattern. It must not be called once requests are
// served.
func (m *Routes) Handle(pattern string, h http.Handler) {
	if method, _, ok := strings.Cut(pattern, " "); ok && !slices.Contains(m.methods, method) {
		m.methods = append(m.methods, method)
		slices.Sort(m.methods)
	}
	m.mux.Handle(pattern, h)
}

func (m *Routes) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// miss answers a request that no pattern matches.
func (m *Routes) miss(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range m.methods {
		probe := *r
		probe.Method = method
		if _, pattern := m.mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		m.gate.WriteError(w, tools.NewError("not_found"))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	m.gate.WriteError(w, tools.NewError("method_not_allowed"))
}
