package gate

import (
	"net/http"
	"slices"
	"strings"

	"duplex/tools"
)

// Routes is a ServeMux whose misses answer in the venue's own words: 404
// not_found, or 405 method_not_allowed with an Allow header.
type Routes struct {
	mux     *http.ServeMux
	fail    func(w http.ResponseWriter, r *http.Request, err error)
	methods []string
}

// NewRoutes makes an empty one; fail writes its refusals.
func NewRoutes(fail func(http.ResponseWriter, *http.Request, error)) *Routes {
	m := &Routes{mux: http.NewServeMux(), fail: fail}
	m.mux.HandleFunc("/", m.miss)
	return m
}

// HandleFunc and Handle register a "METHOD /path" pattern.
func (m *Routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

func (m *Routes) Handle(pattern string, h http.Handler) {
	if method, _, ok := strings.Cut(pattern, " "); ok && !slices.Contains(m.methods, method) {
		m.methods = append(m.methods, method)
		slices.Sort(m.methods)
	}
	m.mux.Handle(pattern, h)
}

func (m *Routes) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// miss looks whether the path would be there for another method.
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
		m.fail(w, r, tools.Refuse("not_found"))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	m.fail(w, r, tools.Refuse("method_not_allowed"))
}
