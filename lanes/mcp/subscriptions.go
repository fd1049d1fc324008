package mcp

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
)

const (
	heartbeat          = 15 * time.Second       // a comment, so that proxies do not close a quiet stream
	coalesceInterval   = 100 * time.Millisecond // minimum between two updates of a stream
	maxStreamResources = 64                     // resources of one stream
)

// stream is the response of subscriptions/listen: server-sent events until the client
// disconnects or the lane closes.
type stream struct {
	*eventStream
	lane      *Lane
	call      *call
	resources []resourceRef
	watch     *watch
}

// subscriptionFilter is the requested or agreed content of a stream. It has only
// resources, because the lists of this server never change.
type subscriptionFilter struct {
	Resources []string `json:"resourceSubscriptions,omitempty"`
}

// listen opens a stream. The acknowledgment lists only the resources that exist.
func (l *Lane) listen(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		Notifications *subscriptionFilter `json:"notifications"`
	}
	if f := c.decodeParams(&in); f != nil {
		return nil, f
	}
	if in.Notifications == nil {
		return nil, badParams("subscriptions/listen needs notifications")
	}
	if len(in.Notifications.Resources) > maxStreamResources {
		return nil, badParams("at most 64 resources on one stream")
	}
	if f := l.authorizeScopes(c, core.ScopeRead); f != nil {
		return nil, f
	}
	s := &stream{eventStream: &c.events, lane: l, call: c, watch: &watch{}}
	for _, uri := range in.Notifications.Resources {
		if at, ok := parseResourceURI(uri); ok && at.slotted() && !slices.Contains(s.resources, at) {
			s.resources = append(s.resources, at)
			s.addWatch(at)
		}
	}
	c.stream = s
	return nil, nil
}

func (s *stream) addWatch(at resourceRef) {
	switch {
	case at.kind == accountURI:
		s.watch.user = s.call.Key.User
	case at.market != 0 && !slices.Contains(s.watch.markets, at.market):
		s.watch.markets = append(s.watch.markets, at.market)
	}
}

// serve writes the stream, on the handler's goroutine.
func (s *stream) serve() {
	d := s.lane.dispatcher
	d.catchUp(s.call.ctx, d.engine.Seq()) // or a change from before the request would be an update
	d.subscribe(s.watch)
	defer d.unsubscribe(s.watch)
	ok := s.acknowledge()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for ok {
		select {
		case <-s.watch.wake:
			ok = s.keyValid() && s.notifyChanges() && s.coalesce()
		case <-beat.C:
			ok = s.keyValid() && s.send([]byte(":\n\n"))
		case <-d.done:
			s.end()
			return
		case <-s.call.ctx.Done():
			return
		}
	}
}

// keyValid reports whether the key is valid, and a token in its place. It ends the stream of one that is not.
func (s *stream) keyValid() bool {
	if s.lane.gate.StillValid(s.call.Call) {
		return true
	}
	s.end()
	return false
}

// coalesce waits, so that changes in quick succession become one update.
func (s *stream) coalesce() bool {
	select {
	case <-time.After(coalesceInterval):
		return true
	case <-s.lane.dispatcher.done:
		return true // serve ends the stream
	case <-s.call.ctx.Done():
		return false
	}
}

func (s *stream) acknowledge() bool {
	agreed := subscriptionFilter{}
	for _, at := range s.resources {
		agreed.Resources = append(agreed.Resources, at.uri)
	}
	return s.notify("notifications/subscriptions/acknowledged", struct {
		Meta          any                `json:"_meta"`
		Notifications subscriptionFilter `json:"notifications"`
	}{s.meta(), agreed})
}

func (s *stream) meta() map[string]jsontext.Value {
	return map[string]jsontext.Value{metaSubscription: s.call.id}
}

// notifyChanges sends a notification for each resource that changed since the last update.
func (s *stream) notifyChanges() bool {
	account, markets, rounds := s.lane.dispatcher.takeChanges(s.watch)
	for _, at := range s.resources {
		if at.isChanged(account, markets, rounds) && !s.notify("notifications/resources/updated", struct {
			Meta any    `json:"_meta"`
			URI  string `json:"uri"`
		}{s.meta(), at.uri}) {
			return false
		}
	}
	return true
}

func (at resourceRef) isChanged(account bool, markets, rounds map[core.MarketID]bool) bool {
	switch at.kind {
	case accountURI:
		return account
	case roundURI:
		return rounds[at.market]
	default:
		return markets[at.market]
	}
}

// end writes the response of the request, which marks an orderly end of the stream.
func (s *stream) end() {
	result := mustEncode(struct {
		ResultType string `json:"resultType"`
		Meta       any    `json:"_meta"`
	}{"complete", s.meta()})
	s.message(encodeResponse(s.call.id, result, nil))
}
