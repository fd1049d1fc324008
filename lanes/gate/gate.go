package gate

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/internal/timeouts"
	"duplex/schemas"
	"duplex/tools"
)

// Limits of a request (docs/rules/limits.md#request-size, docs/rules/limits.md#times).
const (
	MaxBodyBytes    = 64 << 10
	HeaderTimeout   = 5 * time.Second
	BodyTimeout     = 10 * time.Second
	ResponseTimeout = 120 * time.Second // from the end of the request head until the response is written; streams set their own
	IdleTimeout     = 120 * time.Second
	replayWindowMs  = 5000             // docs/rules/accounts.md#replay-window
	idempotencyTTL  = 15 * time.Second // docs/rules/accounts.md#exact-repeats
	maxHeaderBytes  = 16 << 10
)

// Gate authenticates, limits and runs the requests of one venue. Its exported fields must
// not change once requests are served; its methods are safe for concurrent use.
type Gate struct {
	Venue       *tools.Venue
	Vault       *Vault
	Log         *slog.Logger
	Origins     []string      // allowed browser origins besides the host itself, such as "https://venue.example"
	Hosts       []string      // host names of the venue besides its own addresses; see HostAllowed
	BodyTimeout time.Duration // time to read a body; default 10 s

	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted; see
	// ClientAddr. There are none by default.
	TrustedProxies []netip.Prefix

	// ReplayGuard accepts each signed write once. A repeat is unauthorized, even if the
	// first request was rejected, unless its operation is deduplicated
	// (docs/rules/accounts.md#replay-guard).
	ReplayGuard bool

	// InFlight bounds the requests that place orders and are in flight; more are shed.
	// With 0 only the sequencer's queue bounds them.
	InFlight int

	// MemberURL, unless it is nil, makes this the gate of a follower, which answers writes with
	// read_only_node. It returns the base URL of the API of a member, "" if none is known
	// (docs/rules/operation.md#followers).
	MemberURL func() string

	// BrowserCredentials finds the credentials of a request without credential headers:
	// a browser sends them in the WebSocket handshake (docs/rules/events.md#handshake). It
	// may be nil.
	BrowserCredentials func(*http.Request) (Credentials, bool)

	// Intercept, unless it is nil, gets every request of the API that passed authentication, and calls
	// serve to answer it, before the request's time budget begins. An arena lets requests wait for
	// their turn, records them, and loses some.
	Intercept func(w http.ResponseWriter, r *http.Request, c *Call, serve http.HandlerFunc)

	// OnUnauthorized, unless it is nil, is called for every request of the API that failed
	// authentication.
	OnUnauthorized func(r *http.Request)

	// OAuth, unless it is nil, lets requests of the agent lane have a bearer token in place of a signature.
	OAuth *OAuth

	// Unlimited turns the token buckets off.
	Unlimited bool

	verify            func(secret []byte, ts, method, target string, body []byte, signature string) bool
	rateLimiters      rateLimiters
	idempotency       idempotencyCache
	replays           replayFilter
	inFlight          inFlightLimiter
	keyFailures       keyFailures
	unauthenticated   unauthenticated
	creating          sync.RWMutex // read-locked from sealing a new key's secret until the key is applied
	pathOptionsByPath map[string]PathOptions
	Stats             Stats
}

// New returns the gate of a venue. vault holds the secrets of its keys.
func New(v *tools.Venue, vault *Vault, log *slog.Logger) *Gate {
	g := &Gate{Venue: v, Vault: vault, Log: log, BodyTimeout: timeouts.Of(BodyTimeout), verify: schemas.Verify, unauthenticated: newUnauthenticated()}
	g.rateLimiters.config = &v.Config
	g.rateLimiters.volume, g.rateLimiters.payer = v.Volume30, v.Payer
	g.idempotency.entries = map[string]*idempotentCall{}
	if v.Engine != nil {
		v.Engine.OnRevoke(g.forget)
		v.Engine.OnForeign(g.drawForeign)
	}
	return g
}

// Open returns the gate of a venue on an engine that uses the manual funding port. Server
// and tests open every venue with it.
func Open(e *engine.Engine, config tools.Config, vault *Vault, log *slog.Logger) *Gate {
	return New(&tools.Venue{Engine: e, Config: config, Funds: tools.ManualFunding{}}, vault, log)
}

// forget discards the token buckets and the cached secret of a revoked key. A request that
// was authenticated before the revocation may create them again.
func (g *Gate) forget(key string) {
	g.rateLimiters.keys.Delete(key)
	g.Vault.secrets.Delete(key)
}

// Call is a request that passed Edge or Guard.
type Call struct {
	ID    string      // request id
	Key   *core.Key   // nil on the portal and the admin listener
	User  core.UserID // the account of an account token, on the portal
	Body  []byte      // raw, at most MaxBodyBytes
	Trace string      // the caller's trace id, for the log
	Lane  string      // rest, mcp, ws, portal or admin; for metrics
	Op    string      // the operation's name once it is known; for metrics and the log

	Operator core.Operator // on the admin listener

	// Refusal, unless it is nil, is the error with which the gate refuses the call in its stage authorize.
	// Intercept sets it, so that each lane writes the refusal in its own form.
	Refusal error

	credentials      Credentials
	isBearer         bool       // there is a bearer token in place of a signature
	generation       uint32     // of the token's pair
	bearer           string     // "": it is malformed, or was sent in the clear
	place            *place     // of its connection; nil: it has none
	mark             *core.Mark // that its commands carry; nil: none
	ambiguousFraming bool       // see framingConn.ambiguousEnd
	signed           bool       // on the API
	cutBody          bool       // the body ended early or came late
}

// identified reports whether the caller is known.
func (c *Call) identified() bool { return c.Key != nil || c.User != 0 || c.Operator.Name != "" }

// ReplayKey identifies a signed request: key, timestamp and signature. Two requests with
// equal replay keys are exact repeats.
func (c *Call) ReplayKey() string {
	return c.credentials.Key + "\n" + c.credentials.Timestamp + "\n" + c.credentials.Signature
}

// Caller returns the caller that operations see.
func (g *Gate) Caller(c *Call) tools.Caller {
	out := tools.Caller{User: c.Key.User, Key: c.Key}
	if !g.Unlimited {
		out.Charge = func() error { return g.rateLimiters.takeDeepRead(c.Key) }
	}
	if c.mark != nil {
		out.Mark = c.mark
		out.SignedAt, _ = strconv.ParseInt(c.credentials.Timestamp, 10, 64) // withinReplayWindow has parsed it
	}
	return out
}

type callKey struct{}

// CallOf returns the call of a request's context; nil only outside Edge and Guard.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Server returns an http.Server with the venue's time limits (docs/rules/limits.md#times).
// ReadTimeout bounds the bodies that no handler reads: of a preflight, of a request that
// net/http rejects, and what net/http reads before it closes a connection.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: framed(h), ReadHeaderTimeout: timeouts.Of(HeaderTimeout), ReadTimeout: timeouts.Of(HeaderTimeout + BodyTimeout), WriteTimeout: ResponseTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: maxHeaderBytes, ConnContext: joinConn(log), ConnState: connState,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: MaxStreams, MaxReadFrameSize: MaxBodyBytes, MaxReceiveBufferPerStream: MaxBodyBytes, MaxReceiveBufferPerConnection: 2 * MaxBodyBytes, SendPingTimeout: IdleTimeout, PingTimeout: BodyTimeout, WriteByteTimeout: BodyTimeout},
		DisableGeneralOptionsHandler: true, // OPTIONS * needs a signature like every other request
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
