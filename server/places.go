package server

import (
	"cmp"

	"duplex/lanes/gate"
)

// freeFiles is the number of open files that all listeners together leave to the journal, the databases and
// the price sources (docs/rules/limits.md#connections).
const freeFiles = 512

// Bounds of the places of a listener that few clients use.
const minSmallListener, maxSmallListener = 16, 1024

// listenerPlaces are the connections that each listener serves at once.
type listenerPlaces struct{ api, portal, admin, acme int }

// divideFiles divides a limit of open files. The operator's listener has places that no flood of another
// one takes. Of a limit below 1024 the listeners get half.
func divideFiles(files uint64) (p listenerPlaces) {
	files = min(files, 1<<20)
	spare := int(max(files-min(files, freeFiles), files/2))
	p.admin = min(max(spare/16, minSmallListener), maxSmallListener)
	p.acme = p.admin
	rest := max(spare-p.admin-p.acme, 4)
	p.portal = min(rest/4, gate.MaxConns)
	p.api = min(rest-p.portal, gate.MaxConns)
	return p
}

// places returns the bounds of a listener's connections.
func (v *Venue) places(limit int) gate.Places {
	o := &v.options
	return gate.Places{Max: limit, PerNetwork: cmp.Or(o.ConnectionsPerNetwork, gate.ConnsPerNetwork), Proxies: o.TrustedProxies}
}
