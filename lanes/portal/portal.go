package portal

import (
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Options of New. Venue and Gate are required; a document that is not given is not
// served.
type Options struct {
	Venue     *tools.Venue
	Gate      *gate.Gate
	OpenAPI   *huma.OpenAPI
	AsyncAPI  []byte
	Tools     []*tools.Facts // of the agent lane, for the long guide
	Changelog []byte         // CHANGELOG.md
	Static    fs.FS          // the dashboard with its index.html; nil shows a plain page

	// Base URLs as a client reaches them. WS follows from API by default; a venue
	// without an agent lane leaves MCP empty, and no page speaks of it.
	API, WS, MCP string

	// DevKey is the account that the dashboard is signed in as on this machine. It
	// is heeded in environment dev alone.
	DevKey func() schemas.DevAccount

	Log *slog.Logger // of the accounts service; default the gate's
}

// lane is the portal of one venue.
type lane struct {
	Options
	strangers strangers
	holders   holders
}

// New makes the portal's handler. It panics if a document cannot be made: that is
// a mistake in this program.
func New(o Options) http.Handler {
	l := &lane{Options: o.withDefaults()}
	m := gate.NewRoutes(func(w http.ResponseWriter, _ *http.Request, err error) { o.Gate.Fail(w, err) })
	l.documents(m)
	l.accounts(m)
	return l.headers(o.Gate.Guard("portal", l.prove, m))
}

func (o Options) withDefaults() Options {
	o.API = strings.TrimSuffix(o.API, "/")
	if o.Log == nil {
		o.Log = o.Gate.Log
	}
	if o.API == "" {
		return o
	}
	if o.WS == "" {
		o.WS = "ws" + strings.TrimPrefix(o.API, "http") + "/v1/ws"
	}
	return o
}
