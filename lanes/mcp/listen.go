package mcp

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
)

const (
	heartbeat  = 15 * time.Second       // a comment, so that nothing between us closes a quiet stream
	coalescing = 100 * time.Millisecond // at least between two tellings of a stream
	streamMax  = 64                     // resources of one stream
)

// stream is the answer of subscriptions/listen: server-sent events until the client
// goes or the lane closes.
type stream struct {
	*events
	lane   *Lane
	call   *call
	places []place
	watch  *watch
}

// filter is what a client wants to hear of, and what it will. The lists of this
// server never change, so that only resources can be told of.
type filter struct {
	Resources []string `json:"resourceSubscriptions,omitempty"`
}

// listen opens a stream for the resources that exist. What it does not offer is left
// out of the acknowledgment.
func (l *Lane) listen(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		Notifications *filter `json:"notifications"`
	}
	if f := c.read(&in); f != nil {
		return nil, f
	}
	if in.Notifications == nil {
		return nil, badParams("subscriptions/listen wants notifications")
	}
	if len(in.Notifications.Resources) > streamMax {
		return nil, badParams("at most 64 resources on one stream")
	}
	if f := l.admitWith(c, core.ScopeRead); f != nil {
		return nil, f
	}
	s := &stream{events: &c.events, lane: l, call: c, watch: &watch{}}
	for _, uri := range in.Notifications.Resources {
		if at, ok := placeOf(uri); ok && !slices.Contains(s.places, at) {
			s.places = append(s.places, at)
			s.heed(at)
		}
	}
	c.stream = s
	return nil, nil
}

func (s *stream) heed(at place) {
	switch {
	case at.kind == accountURI:
		s.watch.user = s.call.Key.User
	case at.market != 0 && !slices.Contains(s.watch.markets, at.market):
		s.watch.markets = append(s.watch.markets, at.market)
	}
}

// serve writes the stream, on the handler's goroutine.
func (s *stream) serve() {
	hub := s.lane.hub
	hub.enter(s.watch)
	defer hub.leave(s.watch)
	ok := s.acknowledge()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for ok {
		select {
		case <-s.watch.wake:
			ok = s.allowed() && s.tell() && s.rest()
		case <-beat.C:
			ok = s.allowed() && s.send([]byte(":\n\n"))
		case <-hub.ended:
			s.end()
			return
		case <-s.call.ctx.Done():
			return
		}
	}
}

// allowed tells whether the key still opens anything. A revoked one ends the stream.
func (s *stream) allowed() bool {
	if k := s.lane.gate.Venue.Engine.Key(s.call.Key.ID); k != nil && !k.Revoked {
		return true
	}
	s.end()
	return false
}

// rest lets what happens at once be told at once.
func (s *stream) rest() bool {
	t := time.NewTimer(coalescing)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.lane.hub.ended:
		return true // the loop ends it
	case <-s.call.ctx.Done():
		return false
	}
}

func (s *stream) acknowledge() bool {
	agreed := filter{}
	for _, at := range s.places {
		agreed.Resources = append(agreed.Resources, at.uri)
	}
	return s.notify("notifications/subscriptions/acknowledged", struct {
		Meta          any    `json:"_meta"`
		Notifications filter `json:"notifications"`
	}{s.meta(), agreed})
}

func (s *stream) meta() map[string]jsontext.Value {
	return map[string]jsontext.Value{metaSubscription: s.call.id}
}

// tell names the resources that changed since the last telling.
func (s *stream) tell() bool {
	account, moved, turned := s.lane.hub.news(s.watch)
	for _, at := range s.places {
		if at.changed(account, moved, turned) && !s.notify("notifications/resources/updated", struct {
			Meta any    `json:"_meta"`
			URI  string `json:"uri"`
		}{s.meta(), at.uri}) {
			return false
		}
	}
	return true
}

func (at place) changed(account bool, moved, turned map[core.MarketID]bool) bool {
	switch at.kind {
	case accountURI:
		return account
	case roundURI:
		return turned[at.market]
	default:
		return moved[at.market]
	}
}

// end is the answer of the request, which says that the stream ended in good order.
func (s *stream) end() {
	s.message(envelope(s.call.id, "result", encoded(struct {
		ResultType string `json:"resultType"`
		Meta       any    `json:"_meta"`
	}{"complete", s.meta()})))
}
