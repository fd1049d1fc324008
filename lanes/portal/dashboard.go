package portal

import (
	"net"
	"net/http"
	"strings"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// venueInfo configures the dashboard, whose files are the same for every venue.
type venueInfo struct {
	Environment string `json:"environment"`
	Oracle      string `json:"oracle"`
	API         string `json:"api"`
	WS          string `json:"ws"`
	MCP         string `json:"mcp"`
	DevKey      bool   `json:"dev_key"` // POST /dev/key is available
}

// registerDashboard registers the routes that the dashboard calls.
func (l *lane) registerDashboard(m *gate.Routes) {
	if l.Static == nil {
		return
	}
	config := l.Venue.Config
	hasDevKey := l.DevKey != nil && config.Environment == "dev"
	l.serveBytes(m, "/venue.json", "application/json", must(schemas.Append(nil, venueInfo{config.Environment, config.Oracle, l.API, l.WS, l.MCP, hasDevKey})))
	if hasDevKey {
		m.HandleFunc("POST /dev/key", l.serveDevKey)
	}
}

// serveDevKey returns the dev trader's key to a page of this portal in a browser on this
// machine. Any other request gets not_found (docs/rules/operation.md#dev-venue).
func (l *lane) serveDevKey(w http.ResponseWriter, r *http.Request) {
	gate.CallOf(r.Context()).Op = "portal_dev_key"
	switch {
	case !isSameMachine(r):
		l.Gate.WriteError(w, tools.NewError("not_found"))
	case len(gate.CallOf(r.Context()).Body) > 0:
		l.Gate.WriteError(w, tools.NewError("unexpected_body"))
	default:
		a := l.DevKey()
		gate.WriteJSON(w, http.StatusOK, &schemas.DevKey{Name: a.Name, APIKey: a.APIKey, Secret: a.Secret, Scopes: a.Scopes})
	}
}

// isSameMachine reports whether a request comes from a page of this portal in a browser on
// this machine: peer, Host and Origin must all be loopback, and Host must have the port of
// the listener. The Host check excludes DNS rebinding, the Origin check pages of other
// sites, and both exclude a local proxy that forwards requests of other machines.
func isSameMachine(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return false
	}
	host, hostPort, err := net.SplitHostPort(r.Host)
	if err != nil || hostPort != port || host != "localhost" && !loopback(host) {
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
