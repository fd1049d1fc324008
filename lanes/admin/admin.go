package admin

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/mirror"
	"duplex/feeds"
	"duplex/feeds/manual"
	"duplex/lanes/gate"
	"duplex/tools"
)

// Options of New. Venue, Gate and Token are required.
type Options struct {
	Venue           *tools.Venue
	Gate            *gate.Gate
	Token           [32]byte                    // SHA-256 of the operator's bearer token
	ManualOracle    *manual.Oracle              // prices by hand; default a new one
	Sources         func() []feeds.State        // state of the oracle's sources; may be nil
	Index           func(core.Feed) feeds.Stats // counts of the index seconds of a feed; may be nil
	WebSocketStats  func() WebSocketStats       // counts of the event lane; may be nil
	Mirror          *mirror.Mirror              // nil if there is none
	Listeners       map[string]*gate.Listener   // the venue's listeners by name; may be nil
	Oracle          string                      // sim, manual or live; default the venue's config
	RotateMasterKey MasterKeyRotation           // nil if the master key is given from outside
	ExtraReadiness  func() error                // its error makes /readyz fail and is a reason; may be nil
	Log             *slog.Logger                // for the operator's actions; default the gate's
}

// MasterKeyRotation creates a new master key, seals every secret under it, and returns the
// number of secrets.
type MasterKeyRotation func(ctx context.Context, by core.Audit) (resealed int, err error)

// WebSocketStats are the counts of the event lane.
type WebSocketStats struct {
	Connections, Subscriptions, QueuedBytes int
	Frames, Deliveries, Conflated           uint64
	Closed                                  map[int]uint64 // by close code
}

// lane is the operator's listener of one venue.
type lane struct {
	Options
	postMu chan struct{} // a mutex with a timeout: ticks are sequenced in the order of their posts
}

// New returns the handler of the listener. The journal of the venue must have been
// replayed, which is the case once engine.Open has returned.
func New(o Options) http.Handler {
	if o.ManualOracle == nil {
		o.ManualOracle = &manual.Oracle{}
	}
	if o.Oracle == "" {
		o.Oracle = o.Venue.Config.Oracle
	}
	if o.Log == nil {
		o.Log = o.Gate.Log
	}
	l := &lane{Options: o, postMu: make(chan struct{}, 1)}
	m := o.Gate.NewRoutes()
	l.routes(m)
	return o.Gate.Guard("admin", l.authenticate, m)
}

// authenticate requires the operator's token except for the health probes
// (docs/rules/operation.md#operators-token).
func (l *lane) authenticate(r *http.Request, _ *gate.Call) error {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); path == livez || path == readyz {
		return nil
	}
	hash, ok := gate.Bearer(r.Header)
	if same := subtle.ConstantTimeCompare(hash[:], l.Token[:]) == 1; !same || !ok {
		return tools.NewError("unauthorized")
	}
	return nil
}

// operatorAudit returns the audit mark of the operator's commands.
func operatorAudit(reason string) core.Audit { return core.Audit{Who: "operator", Why: reason} }

// submit sequences a command of the operator and logs it.
func (l *lane) submit(ctx context.Context, c *gate.Call, cmd core.Command, reason string) (engine.Receipt, error) {
	r, err := l.Venue.Engine.Submit(ctx, cmd)
	if err == nil && r.Reject != core.OK {
		err = r.Reject
	}
	l.logAction(c, r.Stamp.Seq, reason, err)
	return r, err
}

// logAction logs an action of the operator. seq is 0 if the action has none.
func (l *lane) logAction(c *gate.Call, seq uint64, reason string, err error) {
	args := []any{"action", c.Op, "request_id", c.ID, "reason", reason}
	if seq != 0 {
		args = append(args, "seq", seq)
	}
	if err != nil {
		args = append(args, "error_code", tools.ErrorOf(err).Code)
	}
	l.Log.Info("operator action", args...)
}

// lastEvent returns the last event of type E among the events of a command.
func lastEvent[E core.Event](events []core.Event) (e E, ok bool) {
	for i := len(events) - 1; i >= 0; i-- {
		if e, ok = events[i].(E); ok {
			return e, true
		}
	}
	return e, false
}
