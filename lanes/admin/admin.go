package admin

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds"
	"duplex/feeds/manual"
	"duplex/lanes/funding"
	"duplex/lanes/gate"
	"duplex/tools"
)

// Options of New. Venue, Gate and Token are required.
type Options struct {
	Venue           *tools.Venue
	Gate            *gate.Gate
	Token           [32]byte                                  // SHA-256 of the shared token
	NamedOnly       bool                                      // other machines reach the listener: the shared token is never accepted, and failures are limited
	KeepShared      bool                                      // the shared token is an admin for good; else until there is a named one
	FourEyes        *core.Pips                                // deposits and withdrawals above it, voids and prices by hand need a second operator; nil: none does
	ManualOracle    *manual.Oracle                            // prices by hand; default a new one
	Sources         func() []feeds.State                      // state of the oracle's sources; may be nil
	Index           func(core.Feed) feeds.Stats               // counts of the index seconds of a feed; may be nil
	WebSocketStats  func() WebSocketStats                     // counts of the event lane; may be nil
	Mirror          Mirror                                    // nil if there is none
	Cluster         Cluster                                   // of which this is a member; nil on a single machine
	NodeMetrics     prometheus.Collector                      // of this member or follower; nil on a single machine
	Day             *Day                                      // default one that nothing keeps between its reads
	Archive         func() (age time.Duration, released bool) // how old the archive is, and whether the journal left it behind; nil without one
	Funding         func() funding.Stats                      // of the funding service; nil without one
	Listeners       map[string]*gate.Listener                 // the venue's listeners by name; may be nil
	CertificateEnd  func() time.Time                          // when the first certificate in use ends; zero before the first; nil without TLS
	Oracle          string                                    // sim, manual or live; default the venue's config
	RotateMasterKey MasterKeyRotation                         // nil if the master key is given from outside
	ExtraReadiness  func() error                              // its error makes /readyz fail and is a reason; may be nil
	LogDropped      func() uint64                             // lines of the log that could not be written; may be nil
	Log             *slog.Logger                              // for the operator's actions; default the gate's
}

// MasterKeyRotation creates a new master key, seals every secret under it, and returns the
// number of secrets.
type MasterKeyRotation func(ctx context.Context, by core.Audit) (resealed int, err error)

// WebSocketStats are the counts of the event lane.
type WebSocketStats struct {
	Connections, Subscriptions, QueuedBytes int
	Frames, Deliveries                      uint64
	ConflatedBytes, ConflatedAge            uint64         // by cause
	Closed                                  map[int]uint64 // by close code
}

// lane is the operator's listener of one venue.
type lane struct {
	Options
	authFailures gate.AuthFailures
	postMu       chan struct{} // a mutex with a timeout: ticks are sequenced in the order of their posts
}

// New returns the handler of the listener. The journal of the venue must have been
// replayed, which is the case once engine.Open has returned.
func New(o Options) http.Handler {
	if o.ManualOracle == nil {
		o.ManualOracle = &manual.Oracle{}
	}
	o.Oracle = cmp.Or(o.Oracle, o.Venue.Config.Oracle)
	o.Log = cmp.Or(o.Log, o.Gate.Log)
	if o.Day == nil {
		o.Day = NewDay(o.Venue, &o.Gate.Stats, o.Listeners["api"], "", o.Log)
	}
	l := &lane{Options: o, postMu: make(chan struct{}, 1)}
	m := o.Gate.NewRoutes()
	l.routes(m)
	return o.Gate.Guard("admin", l.authenticate, m)
}

// submit sequences a command of an operator and logs it. The operator's token may have been revoked
// since the request arrived, so it is checked again.
func (l *lane) submit(ctx context.Context, c *gate.Call, cmd core.Command, reason string) (engine.Receipt, error) {
	if err := l.authorize(c, actionOf(c)); err != nil {
		return engine.Receipt{}, err
	}
	return l.sequence(ctx, c, cmd, reason)
}

// sequence is submit without that check, for what follows from an action.
func (l *lane) sequence(ctx context.Context, c *gate.Call, cmd core.Command, reason string) (engine.Receipt, error) {
	r, err := tools.Accepted(l.Venue.Engine.Submit(ctx, cmd))
	l.logAction(c, r.Stamp.Seq, reason, err, l.detailOf(cmd)...)
	return r, err
}

// detailOf returns what the log says of a command: whom it is about, and its parameters, as in the audit.
func (l *lane) detailOf(cmd core.Command) (args []any) {
	var a view.Action
	var ok bool
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { a, ok = view.ActionOf(cmd, v) })
	if !ok {
		return nil
	}
	if a.User != 0 {
		args = append(args, "user_id", uint32(a.User))
	}
	if a.Market != 0 {
		args = append(args, "market_id", uint32(a.Market))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Detail)) {
		as := name
		if name == "action" { // that waits for its approval; the log's own is the request
			as = "approval_action"
		}
		args = append(args, as, a.Detail[name])
	}
	return args
}

// logAction logs an action of the operator, with more attributes. seq is 0 if the action has none.
func (l *lane) logAction(c *gate.Call, seq uint64, reason string, err error, more ...any) {
	args := append([]any{"action", c.Op, "operator", c.Operator.Name, "request_id", c.ID, "reason", reason}, more...)
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
