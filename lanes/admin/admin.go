package admin

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"

	"duplex/core"
	"duplex/core/engine"
	"duplex/feeds"
	"duplex/feeds/manual"
	"duplex/lanes/gate"
	"duplex/tools"
)

// Options of New. Venue, Gate and Token are required.
type Options struct {
	Venue   *tools.Venue
	Gate    *gate.Gate
	Token   [32]byte             // SHA-256 of the operator's bearer token
	Desk    *manual.Desk         // prices by hand; default one of its own
	Sources func() []feeds.State // the oracle's sources, where there are any
	Sockets func() Sockets       // the event lane, where there is one
	Oracle  string               // sim, manual or live; default the venue's terms
	Rotate  Rotate               // of the master key; nil: it is not the venue's to change
	Ready   func() error         // what else must hold for /readyz; its error is shown
	Log     *slog.Logger         // of the operator's actions; default the gate's
}

// Rotate makes a new master key, seals every secret under it, and tells how many.
type Rotate func(ctx context.Context, by core.Audit) (resealed int, err error)

// Sockets is what an operator watches of the event lane.
type Sockets struct {
	Connections, Subscriptions, QueuedBytes int
	Frames, Deliveries, Thinned             uint64
	Closed                                  map[int]uint64 // by close code
}

// lane is the operator's listener of one venue.
type lane struct {
	Options
	posting chan struct{} // one token: ticks go in in the desk's order
}

// New makes the listener's handler. It serves a venue whose journal is replayed:
// that is when engine.Open returns.
func New(o Options) http.Handler {
	if o.Desk == nil {
		o.Desk = &manual.Desk{}
	}
	if o.Oracle == "" {
		o.Oracle = o.Venue.Terms.Oracle
	}
	if o.Log == nil {
		o.Log = o.Gate.Log
	}
	l := &lane{Options: o, posting: make(chan struct{}, 1)}
	m := gate.NewRoutes(func(w http.ResponseWriter, _ *http.Request, err error) { o.Gate.Fail(w, err) })
	l.routes(m)
	return o.Gate.Guard("admin", l.prove, m)
}

// prove lets a supervisor ask for health, and nobody else in without the token.
func (l *lane) prove(r *http.Request, _ *gate.Call) error {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); path == livez || path == readyz {
		return nil
	}
	hash, ok := gate.Bearer(r.Header)
	if same := subtle.ConstantTimeCompare(hash[:], l.Token[:]) == 1; !same || !ok {
		return tools.Refuse("unauthorized")
	}
	return nil
}

// by is the audit mark of the operator's commands.
func by(reason string) core.Audit { return core.Audit{Who: "operator", Why: reason} }

// submit lets a command happen and logs that the operator gave it.
func (l *lane) submit(ctx context.Context, c *gate.Call, cmd core.Command, reason string) (engine.Receipt, error) {
	r, err := l.Venue.Engine.Submit(ctx, cmd)
	if err == nil && r.Reject != core.OK {
		err = r.Reject
	}
	l.note(c, r.Stamp.Seq, reason, err)
	return r, err
}

// note logs an action, with its seq where that is known. A reason is the operator's
// own text; bodies are not logged.
func (l *lane) note(c *gate.Call, seq uint64, reason string, err error) {
	args := []any{"action", c.Op, "request_id", c.ID, "reason", reason}
	if seq != 0 {
		args = append(args, "seq", seq)
	}
	if err != nil {
		args = append(args, "refused", tools.ErrorOf(err).Code)
	}
	l.Log.Info("operator", args...)
}

// last finds the last event of a kind that a command gave.
func last[E core.Event](events []core.Event) (e E, ok bool) {
	for i := len(events) - 1; i >= 0; i-- {
		if e, ok = events[i].(E); ok {
			return e, true
		}
	}
	return e, false
}
