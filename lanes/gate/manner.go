package gate

import "net/http"

// Manner is how one path of the API differs from the rest: it says the door's
// refusals in words of its own, and its lane sets the time of a request.
type Manner struct {
	Fail    func(w http.ResponseWriter, r *http.Request, err error)
	OwnTime bool // no budget by the door
}

// At gives a path a manner. It is for lanes while they are mounted, before anything
// is served.
func (g *Gate) At(path string, m Manner) {
	if g.manners == nil {
		g.manners = map[string]Manner{}
	}
	g.manners[path] = m
}

func (g *Gate) manner(r *http.Request) Manner { return g.manners[r.URL.Path] }

// refuse answers for the door, in the manner of the path.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if m := g.manner(r); m.Fail != nil {
		m.Fail(w, r, err)
		return
	}
	g.Fail(w, err)
}

// Encode writes an answer as every lane does.
func Encode(v any) ([]byte, error) { return appendTo(nil, v) }
