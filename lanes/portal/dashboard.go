package portal

import (
	"net"
	"net/http"
	"strings"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// station tells the dashboard where the venue is: the page is the same for all.
type station struct {
	Environment string `json:"environment"`
	Oracle      string `json:"oracle"`
	API         string `json:"api"`
	WS          string `json:"ws"`
	MCP         string `json:"mcp"`
	DevKey      bool   `json:"dev_key"` // POST /dev/key signs in
}

// dashboard serves what the page asks the portal for.
func (l *lane) dashboard(m *gate.Routes) {
	if l.Static == nil {
		return
	}
	terms := l.Venue.Terms
	lent := l.DevKey != nil && terms.Environment == "dev"
	l.show(m, "/venue.json", "application/json", must(schemas.Append(nil, station{terms.Environment, terms.Oracle, l.API, l.WS, l.MCP, lent})))
	if lent {
		m.HandleFunc("POST /dev/key", l.lend)
	}
}

// lend gives the dev trader's key to a page of this portal in a browser on this
// machine. Anyone else is told there is no such path.
func (l *lane) lend(w http.ResponseWriter, r *http.Request) {
	gate.CallOf(r.Context()).Op = "portal_dev_key"
	switch {
	case !atHome(r):
		l.Gate.Fail(w, tools.Refuse("not_found"))
	case len(gate.CallOf(r.Context()).Body) > 0:
		l.Gate.Fail(w, tools.Refuse("unexpected_body"))
	default:
		a := l.DevKey()
		gate.Answer(w, http.StatusOK, &schemas.DevKey{Name: a.Name, APIKey: a.APIKey, Secret: a.Secret, Scopes: a.Scopes})
	}
}

// atHome tells whether a request comes from this machine, to an address of this
// machine by its number or as localhost, from a page of that address. The Host
// keeps out a name that was pointed here after its page was loaded, the Origin a
// page of elsewhere, and both a proxy that stands in for clients from outside.
func atHome(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return false
	}
	host, asked, err := net.SplitHostPort(r.Host)
	if err != nil || asked != port || host != "localhost" && !loopback(host) {
		return false
	}
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	origin := r.Header.Values("Origin")
	return err == nil && loopback(from) && len(origin) == 1 && strings.EqualFold(origin[0], "http://"+r.Host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
