package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"

	"duplex/lanes/admin"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/schemas"
)

// listener is a bound listener whose handler can be replaced: until its lane is open, it
// answers that the venue is starting.
type listener struct {
	url     string
	tls     bool // it speaks TLS
	conns   *gate.Listener
	drains  atomic.Bool // the venue stops
	handler atomic.Pointer[http.Handler]
}

func (l *listener) setHandler(h http.Handler) { l.handler.Store(&h) }

// ServeHTTP sets the header with which browsers use TLS for later requests to the host, too, and calls the
// handler. With TLS at a proxy the header is the proxy's to set. While the venue drains, each response ends its
// HTTP/1 connection, so that a proxy has none left on which it could send a request when the listener closes.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.tls {
		w.Header()["Strict-Transport-Security"] = []string{"max-age=31536000"} // a year
	}
	if r.ProtoMajor == 1 && l.drains.Load() {
		w.Header()["Connection"] = []string{"close"}
	}
	(*l.handler.Load()).ServeHTTP(w, r)
}

// bind opens the listeners with the handlers of a starting venue.
func (v *Venue) bind(progress *startProgress) (err error) {
	o := &v.options
	files := cmp.Or(o.OpenFiles, openFiles())
	places := divideFiles(files)
	if files < 2*freeFiles {
		o.Log.Warn("the limit of open files is low: the venue serves few connections at once, and the journal may lack files", "limit", files, "api", places.api)
	}
	if err := v.startTLS(places.acme); err != nil {
		return err
	}
	rejects := gate.Draining
	if o.Cluster != nil {
		rejects = gate.Joining
	}
	startingAdmin := admin.Starting(o.Environment, o.Oracle, o.Cluster != nil, progress.now)
	if v.admin, err = v.listen("Admin", o.Admin, o.AdminListener, places.admin, startingAdmin); err != nil {
		return err
	}
	if v.portal, err = v.listen("Portal", o.Portal, o.PortalListener, places.portal, gate.Starting(nil, rejects, nil)); err != nil {
		return err
	}
	v.api, err = v.listen("API", o.API, o.APIListener, places.api, gate.Probes(v.health, startingAPI(v.origins(), rejects)))
	return err
}

// origins returns the browser origins that the API allows. The portal must be bound.
func (v *Venue) origins() []string {
	o := &v.options
	origins := slices.Clone(o.Origins)
	if o.Environment != "live" || o.PublicPortalURL != "" {
		origins = append(origins, v.PublicPortalURL())
	}
	return origins
}

// startingAPI answers in the form of the lane that a request is for.
func startingAPI(origins []string, rejects func(*http.Request) schemas.Error) http.Handler {
	return gate.Starting(origins, rejects, func(w http.ResponseWriter, r *http.Request, e schemas.Error) {
		if r.URL.Path == mcp.Path {
			mcp.Refuse(w, e)
			return
		}
		gate.WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
	})
}

// listen serves handler on l, or on a new listener at address if l is nil, to at most `most` connections at
// once. With certificates it speaks TLS, except to the operator on loopback.
func (v *Venue) listen(option, address string, l net.Listener, limit int, handler http.Handler) (*listener, error) {
	if l == nil {
		var err error
		// Every connection has a deadline or pings; probes would cost four calls of the system for each.
		config := net.ListenConfig{KeepAlive: -1}
		if l, err = config.Listen(context.Background(), "tcp", address); err != nil {
			return nil, &OptionError{option, err}
		}
	}
	out := &listener{url: "http://" + clientAddress(l)}
	if v.certificates != nil && (option != "Admin" || !isLoopback(l.Addr().String())) {
		out.url, out.tls, out.conns = "https://"+clientAddress(l), true, gate.WrapTLSListener(l, v.certificates, v.places(limit))
	} else {
		out.conns = gate.WrapListener(l, v.places(limit))
	}
	out.setHandler(handler)
	v.serve(gate.Server(out, v.options.Log), out.conns)
	return out, nil
}

// clientAddress returns the address at which a client on this machine reaches l.
func clientAddress(l net.Listener) string {
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", a.Port)
	}
	return l.Addr().String()
}
