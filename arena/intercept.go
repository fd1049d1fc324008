package arena

import (
	"net/http"
	"time"

	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// intercept gives a request of a seat its turn, and records it.
func (s *seedRun) intercept(w http.ResponseWriter, r *http.Request, c *gate.Call, serve http.HandlerFunc) {
	var x *seat
	for _, y := range s.seats {
		if c.Key != nil && y.key == c.Key.ID {
			x = y
		}
	}
	if x != nil {
		x.mu.Lock()
		x.remote[r.RemoteAddr] = struct{}{}
		x.mu.Unlock()
	}
	switch {
	case isStream(r, c) || x == nil && !s.c.Anonymous:
		serve(w, r)
		return
	case x == nil: // a request without a key
		rec := &recorder{ResponseWriter: w, hides: true}
		serve(rec, r)
		rec.send()
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // a request waits for its turn as long as it takes
	ctx := r.Context()
	thought, err := s.turns.enter(ctx, x.waits)
	if err != nil {
		refuse(w, r, c, schemas.ErrorOf("draining"), serve)
		return
	}
	defer s.turns.leave(x.waits)
	row := callRow{Ts: s.now(), Thought: thought.Microseconds(), Method: r.Method, Target: r.URL.RequestURI(), Body: asJSON(c.Body)}
	rec := &recorder{ResponseWriter: w, hides: s.c.Anonymous}
	x.mu.Lock()
	f := x.faults.ofRequest(len(ordersIn(&row)) > 0)
	x.mu.Unlock()
	switch {
	case f != nil:
		s.withFault(rec, r, c, x, f, serve, &row)
	case s.misleads(x, &row):
		s.serveMisled(rec, r, x, serve)
	default:
		serve(rec, r)
	}
	closed := ctx.Err() != nil // read before the answer is sent: a client that has it may close
	rec.send()
	row.Done, row.Status, row.Answer, row.Bytes = s.now(), rec.status, asJSON(rec.body.Bytes()), rec.n
	code := errorCode(&row)
	row.Ended = closed && code == "internal" || s.turns.isOver(x.waits) && code == "draining"
	x.log.add(&row)
	if row.Fault == lostAnswer || row.Fault == lostRequest {
		cutConnection(w)
	}
}

// unauthorized records a request of a seat that failed authentication.
func (s *seedRun) unauthorized(r *http.Request) {
	key := r.Header.Get(schemas.HeaderKey)
	for _, x := range s.seats {
		if x.key == key {
			x.failures.Add(1)
			select {
			case x.unauthorized <- struct{}{}:
			default:
			}
			now := s.now()
			x.log.add(&callRow{Ts: now, Done: now, Method: r.Method, Target: r.URL.RequestURI(), Status: http.StatusUnauthorized, Answer: []byte(`{"error":{"code":"unauthorized"}}`)})
		}
	}
}

// isStream reports whether a request is a connection that stays open: it is no call. Any other request
// has its turn, whatever its headers and its text say.
func isStream(r *http.Request, c *gate.Call) bool {
	return ws.IsHandshake(r) || mcp.OpensStream(r, c.Body)
}

// refuse answers a request with an error, in the form of its lane. That of the agent lane depends on the
// message, so the lane writes it.
func refuse(w http.ResponseWriter, r *http.Request, c *gate.Call, e schemas.Error, serve http.HandlerFunc) {
	if r.URL.Path == mcp.Path {
		c.Refusal = tools.Error{Wire: e}
		serve(w, r)
		return
	}
	gate.WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
}
