package gate

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// Limits of a request (contract core, Limits).
const (
	BodyMax     = 64 << 10
	HeaderTime  = 5 * time.Second
	BodyTime    = 10 * time.Second
	AnswerTime  = 120 * time.Second // from a request's head until its answer is gone; streams set their own
	IdleTime    = 120 * time.Second
	window      = 5000 // ms
	onceKept    = 15 * time.Second
	headerBytes = 16 << 10
)

// Gate is the door of one venue.
type Gate struct {
	Venue    *tools.Venue
	Vault    *Vault
	Log      *slog.Logger
	Origins  []string      // browser origins allowed besides the host itself
	BodyTime time.Duration // in which a body must be there

	// ReplayGuard takes each signed write once: the same bytes again, within the window,
	// are unauthorized even if the first were refused. What the contract answers with the
	// first answer still is.
	ReplayGuard bool

	// InFlight is how many requests that place orders may be in hand at once; more are
	// shed. 0: as many as come, until the sequencer's queue is full.
	InFlight int

	// Offered finds the credentials of a request that has none of the headers: those
	// of a browser's handshake (contract ws). Nil: there is no other way.
	Offered func(*http.Request) (Credentials, bool)

	verify  func(secret []byte, ts, method, target string, body []byte, signature string) bool
	buckets buckets
	once    once
	spent   spent
	flight  flight
	ends    ends
	manners map[string]Manner // by path
	Stats   Stats
}

// New makes the door of a venue.
func New(v *tools.Venue, vault *Vault, log *slog.Logger) *Gate {
	g := &Gate{Venue: v, Vault: vault, Log: log, BodyTime: BodyTime, verify: schemas.Verify}
	g.buckets.terms = &v.Terms
	g.buckets.volume = v.Volume30
	g.once.seen = map[string]*first{}
	return g
}

// Call is one request on its way in.
type Call struct {
	ID    string // request id
	Key   *core.Key
	User  core.UserID // of an account token, where there is no key
	Body  []byte      // raw, within the cap
	Trace string      // trace id of the caller's, for the log
	Lane  string      // rest, mcp, ws, portal or admin; for metrics
	Op    string      // the operation's name, once routed; for metrics and the log

	proof     Credentials
	ambiguous bool // its body has two ends
}

// Repeat is what makes an exact repeat: key, timestamp, signature.
func (c *Call) Repeat() string {
	return c.proof.Key + "\n" + c.proof.Timestamp + "\n" + c.proof.Signature
}

// Caller is who calls.
func (c *Call) Caller() tools.Caller { return tools.Caller{User: c.Key.User, Key: c.Key} }

type callKey struct{}

// CallOf gives the call a lane's handler serves. Behind Edge there is always one.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Server is an http.Server with the venue's time limits.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: HeaderTime, WriteTimeout: AnswerTime, IdleTimeout: IdleTime, MaxHeaderBytes: headerBytes, ConnContext: ConnContext, ConnState: Hijacked,
		DisableGeneralOptionsHandler: true, // OPTIONS * wants a signature like everything else
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
