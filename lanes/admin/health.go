package admin

import (
	"net/http"
	"slices"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
)

// health is the response of both probes (docs/rules/operation.md#health).
type health struct {
	Live        bool     `json:"live"`
	Ready       bool     `json:"ready"`
	Environment string   `json:"environment"`
	Oracle      string   `json:"oracle"`
	Reasons     []string `json:"reasons"`         // why the venue is not ready
	Warnings    []string `json:"warnings"`        // conditions that need an operator but leave the venue ready
	StaleFeeds  []string `json:"stale_feeds"`     // feeds in session without a fresh index; their markets are paused
	State       string   `json:"state,omitempty"` // of a member of several (docs/rules/operation.md#member-states)
	Start       *Start   `json:"start,omitempty"`
}

// serveLivez fails only if a restart is needed, since the sequencer has stopped.
func (l *lane) serveLivez(w http.ResponseWriter, r *http.Request) {
	setOp(r, "livez")
	h := l.health()
	gate.WriteJSON(w, statusOf(h.Live), h)
}

// serveReadyz fails while the venue should get no requests: it starts, drains or has
// stopped, or no feed has a fresh index. One stale feed of several pauses its own markets
// and leaves the venue ready, so that cancels still get through. So does a nearly full
// disk, which rejects only placements: it is a warning.
func (l *lane) serveReadyz(w http.ResponseWriter, r *http.Request) {
	setOp(r, "readyz")
	h := l.health()
	gate.WriteJSON(w, statusOf(h.Ready), h)
}

func statusOf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func (l *lane) health() health {
	h := health{Live: l.Venue.Engine.Err() == nil, Environment: l.Venue.Config.Environment, Oracle: l.Oracle, Reasons: []string{}, Warnings: []string{}, StaleFeeds: []string{}}
	switch {
	case !h.Live:
		h.Reasons = append(h.Reasons, "sequencer_stopped")
	case l.Venue.Engine.Draining():
		h.Reasons = append(h.Reasons, "draining")
	}
	if s, ok := l.Venue.Engine.MemberStatus(); ok {
		h.State = s.State.String()
		if s.State != engine.Serving && s.State != engine.Draining {
			h.Reasons = append(h.Reasons, h.State)
		}
	}
	if l.Venue.Engine.DiskNearlyFull() && !slices.Contains(h.Reasons, "disk_full") {
		h.Warnings = append(h.Warnings, "disk_full")
	}
	if l.Options.Mirror != nil && !l.Options.Mirror.Complete() {
		h.Warnings = append(h.Warnings, "history_behind")
	}
	if fresh := l.checkFeeds(&h); !fresh {
		h.Reasons = append(h.Reasons, "oracle_stale")
	}
	if l.Options.ExtraReadiness != nil {
		if err := l.Options.ExtraReadiness(); err != nil {
			h.Reasons = append(h.Reasons, err.Error())
		}
	}
	h.Ready = len(h.Reasons) == 0
	return h
}

// checkFeeds reports whether any feed in session has a fresh index, and adds the others to
// h.StaleFeeds.
func (l *lane) checkFeeds(h *health) (fresh bool) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for f := range core.Feed(core.Feeds) {
			switch _, _, stale, open := v.Index(f); {
			case !open:
			case stale:
				h.StaleFeeds = append(h.StaleFeeds, f.String())
			default:
				fresh = true
			}
		}
	})
	return fresh
}
