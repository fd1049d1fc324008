package server

import (
	"duplex/core/engine"
	"duplex/lanes/gate"
)

// The phases of /livez and /readyz on the API listener that are no state of a member
// (docs/rules/operation.md#health).
const (
	phaseStarting = "starting"
	phaseMajority = "waiting for a majority"
	phaseDraining = "draining"
	phaseStopped  = "stopped"
)

// health is what the API listener says without a signature. A lack of prices is no reason to take a node
// from a balancer, which would cut off cancels.
func (v *Venue) health() gate.Health {
	switch {
	case !v.opened.Load() && v.awaitsMajority.Load():
		return gate.Health{Live: true, Phase: phaseMajority}
	case !v.opened.Load():
		return gate.Health{Live: true, Phase: phaseStarting}
	}
	status, member := v.engine.MemberStatus()
	h := gate.Health{Live: v.engine.Err() == nil, Phase: status.State.String()}
	switch {
	case v.closing.Load() && h.Live, v.engine.Draining():
		h.Phase = phaseDraining
	case !h.Live && !member:
		h.Phase = phaseStopped
	default:
		h.Ready = h.Live && status.State == engine.Serving
	}
	return h
}
