package portal

import (
	"cmp"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex/lanes/gate"
	"duplex/lanes/portal/oauth"
	"duplex/schemas"
	"duplex/tools"
)

// Options configures New. Venue and Gate are required; a document that is nil is not served.
type Options struct {
	Venue     *tools.Venue
	Gate      *gate.Gate
	OpenAPI   func() *huma.OpenAPI // these two are called when the document is asked for
	AsyncAPI  func() []byte
	Tools     []*tools.Spec // of the agent lane, for the long guide
	Changelog []byte        // CHANGELOG.md
	Static    fs.FS         // the dashboard with its index.html; nil for a plain page

	// Base URLs of the lanes, as clients reach them. WS defaults to the one derived from
	// API. MCP is empty on a venue without an agent lane.
	API, WS, MCP string

	// DevKey returns the account with which the dashboard signs in on this machine. It is
	// used only in environment dev.
	DevKey func() schemas.DevAccount

	// SignUp tells who may open an account; default SignUpOff. SignUpToken is the bearer token of
	// the mode of that name.
	SignUp      SignUp
	SignUpToken string

	// OAuth, unless it is nil, makes the portal the authorization server of the agent lane.
	OAuth *oauth.Server

	// AccountKeys is the number of live keys beyond which an account creates no more; 0: no cap.
	AccountKeys int

	Log *slog.Logger // for the accounts service; default the gate's
}

// lane is the portal of one venue.
type lane struct {
	Options
	authFailures  gate.AuthFailures
	accountLimits accountLimiters
	signUps       signUpLimits
	clients       gate.NetworkBuckets // of what a stranger may ask of OAuth
}

// New returns the portal's handler. It panics if a document cannot be built, which is a
// programming error.
func New(o Options) http.Handler {
	l := &lane{Options: o.withDefaults()}
	m := o.Gate.NewRoutes()
	l.registerDocuments(m)
	l.registerAccounts(m)
	l.registerAgents(m)
	l.registerMoney(m)
	l.registerSignUp(m)
	l.registerOAuth(m)
	return l.withSecurityHeaders(o.Gate.Guard("portal", l.authenticate, m))
}

func (o Options) withDefaults() Options {
	o.API = strings.TrimSuffix(o.API, "/")
	o.Log = cmp.Or(o.Log, o.Gate.Log)
	o.SignUp = cmp.Or(o.SignUp, SignUpOff)
	if o.API == "" {
		return o
	}
	if o.WS == "" {
		o.WS = "ws" + strings.TrimPrefix(o.API, "http") + "/v1/ws"
	}
	return o
}
