package admin

import (
	"net/http"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
)

// health is the answer of both probes.
type health struct {
	Live        bool     `json:"live"`
	Ready       bool     `json:"ready"`
	Environment string   `json:"environment"`
	Oracle      string   `json:"oracle"`
	Reasons     []string `json:"reasons"`     // why it is not ready
	StaleFeeds  []string `json:"stale_feeds"` // in session and silent: their markets are paused
}

// live fails only when nothing but a new start helps: the sequencer has stopped.
func (l *lane) live(w http.ResponseWriter, r *http.Request) {
	named(r, "livez")
	h := l.health()
	gate.Answer(w, statusOf(h.Live), h)
}

// ready fails while the venue should be sent nothing (contract operator, Three
// listeners): it drains or has stopped, its disk is
// nearly full, or no feed brings prices. One silent feed
// of several pauses its own markets and leaves the venue ready: cancels there, and
// all else elsewhere, must still get through.
func (l *lane) ready(w http.ResponseWriter, r *http.Request) {
	named(r, "readyz")
	h := l.health()
	gate.Answer(w, statusOf(h.Ready), h)
}

func statusOf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func (l *lane) health() health {
	h := health{Live: l.Venue.Engine.Err() == nil, Environment: l.Venue.Terms.Environment, Oracle: l.Oracle, Reasons: []string{}, StaleFeeds: []string{}}
	switch {
	case !h.Live:
		h.Reasons = append(h.Reasons, "sequencer_stopped")
	case l.Venue.Engine.Draining():
		h.Reasons = append(h.Reasons, "draining")
	case l.Venue.Engine.Cramped():
		h.Reasons = append(h.Reasons, "disk_full")
	}
	if fresh := l.freshness(&h); !fresh {
		h.Reasons = append(h.Reasons, "oracle_stale")
	}
	if l.Options.Ready != nil {
		if err := l.Options.Ready(); err != nil {
			h.Reasons = append(h.Reasons, err.Error())
		}
	}
	h.Ready = len(h.Reasons) == 0
	return h
}

// freshness tells whether any feed in session has a fresh index, and names those
// that have none.
func (l *lane) freshness(h *health) (fresh bool) {
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
