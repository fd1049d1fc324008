package server

import (
	"crypto/sha256"
	"net"
	"path/filepath"
	"strings"
	"time"

	"duplex"
	"duplex/feeds"
	"duplex/feeds/manual"
	"duplex/lanes/admin"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/portal"
	"duplex/lanes/portal/oauth"
	"duplex/lanes/portal/web"
	"duplex/lanes/rest"
	"duplex/lanes/ws"
	"duplex/schemas"
)

// openLanes opens the lanes on the bound listeners.
func (v *Venue) openLanes() {
	o, g := &v.options, v.gate
	address := o.API
	if o.APIListener != nil {
		address = o.APIListener.Addr().String()
	}
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		g.Hosts = append(g.Hosts, host)
	}
	if o.PublicURL != "" {
		g.Hosts = append(g.Hosts, hostOf(o.PublicURL))
	}
	api := v.PublicURL()
	g.Venue.Portal = strings.TrimSuffix(v.PublicPortalURL(), "/")
	routes := g.NewRoutes()
	restLane := rest.Mount(routes, g, o.Version)
	v.eventLane = ws.Mount(routes, g)
	v.agentLane = mcp.Mount(routes, g, o.Version)
	if o.OAuth {
		g.OAuth = &gate.OAuth{Path: mcp.Path, API: strings.TrimSuffix(api, "/"), Issuer: strings.TrimSuffix(v.PublicPortalURL(), "/"), Name: "Duplex"}
	}
	v.api.setHandler(gate.Probes(v.health, g.Edge(routes)))

	portalOptions := portal.Options{
		Venue: g.Venue, Gate: g, Log: o.Log, Static: web.Files(), Changelog: duplex.Changelog,
		OpenAPI: restLane.OpenAPI, AsyncAPI: func() []byte { return ws.AsyncAPI(o.Version, api) }, Tools: v.agentLane.ToolSpecs(),
		API: api, MCP: api + mcp.Path, SignUp: o.SignUp, SignUpToken: o.SignUpToken, AccountKeys: o.accountKeys(),
	}
	if o.OAuth && v.follower == nil { // a follower takes tokens, and gives none
		clients := oauth.NewClients(func() [][]byte { return g.Vault.Derived("oauth registrations") }, o.Environment == environmentDev, func() time.Time { return g.Venue.Config.Wall().Time() })
		portalOptions.OAuth = &oauth.Server{Issuer: g.OAuth.Issuer, Resource: g.OAuth.Resource(), Clients: clients}
	}
	if len(v.accounts) > 0 {
		portalOptions.DevKey = func() schemas.DevAccount { return v.accounts[0] }
	}
	v.portal.setHandler(portal.New(portalOptions))

	adminOptions := admin.Options{
		Venue: g.Venue, Gate: g, Log: o.Log, Token: sha256.Sum256([]byte(v.operator)), KeepShared: o.Environment == environmentDev, NamedOnly: o.adminIsPublic(), FourEyes: o.FourEyes, ManualOracle: &manual.Oracle{},
		Sources: v.sourceStates, Index: v.indexStats, WebSocketStats: v.webSocketStats,
		Listeners: map[string]*gate.Listener{"api": v.api.conns, "portal": v.portal.conns, "admin": v.admin.conns},
	}
	adminOptions.CertificateEnd, adminOptions.LogDropped = v.certificateEnd, o.LogDropped
	switch {
	case v.cluster != nil:
		adminOptions.Cluster, adminOptions.NodeMetrics = v.cluster, v.cluster.Metrics()
	case v.follower != nil:
		adminOptions.NodeMetrics = v.follower.Metrics()
	}
	if v.mirror != nil {
		adminOptions.Mirror = v.mirror
	}
	if v.archive != nil {
		adminOptions.Archive = v.archive.state
	}
	if v.funding != nil {
		adminOptions.Funding = v.funding.Stats
	}
	if v.keys.ownsFile {
		adminOptions.RotateMasterKey = v.rotateMasterKey
	}
	adminOptions.Day = admin.NewDay(g.Venue, &g.Stats, v.api.conns, filepath.Join(o.Data, "day.json"), o.Log)
	v.background.Go(func() { adminOptions.Day.Run(v.stopping) })
	v.admin.setHandler(admin.New(adminOptions))
}

func (v *Venue) sourceStates() []feeds.State {
	if v.poster == nil {
		return nil
	}
	return v.poster.States()
}

func (v *Venue) webSocketStats() admin.WebSocketStats {
	s := &v.eventLane.Stats
	out := admin.WebSocketStats{Frames: s.Frames.Load(), Deliveries: s.Delivered.Load(), ConflatedBytes: s.ConflatedBytes.Load(), ConflatedAge: s.ConflatedAge.Load(), Closed: map[int]uint64{1009: 0, 1012: 0, 4401: 0, 4408: 0}}
	out.Connections, out.Subscriptions, out.QueuedBytes = v.eventLane.Usage()
	s.Closes(func(code int, n uint64) { out.Closed[code] = n })
	return out
}
