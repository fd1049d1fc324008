package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"duplex/cluster"
	"duplex/core/engine"
	"duplex/core/history"
	"duplex/core/mirror"
	"duplex/core/view"
)

// MirrorOptions returns the options of the mirror of a data folder, which Options.Mirror names. ok is
// false if there is none.
func MirrorOptions(data, name string) (o mirror.Options, ok bool, err error) {
	o = mirror.Options{DSN: name, Dir: filepath.Join(data, "mirror"), Journal: filepath.Join(data, "journal")}
	switch {
	case name == "" || name == "off":
		return o, false, nil
	case name == "sqlite":
		o.DSN = mirror.SQLitePath(data)
	case !strings.HasPrefix(name, "postgres://") && !strings.HasPrefix(name, "postgresql://"):
		return o, false, errors.New("off, sqlite or postgres://user:password@host:5432/database")
	}
	return o, true, mirror.CheckDSN(o.DSN)
}

// newMirror creates the mirror, so that the journal keeps what it has not read.
func (v *Venue) newMirror(e *engine.Options) error {
	o, ok, err := MirrorOptions(v.options.Data, v.options.Mirror)
	if err != nil {
		return &OptionError{"Mirror", err}
	}
	if !ok {
		return nil
	}
	o.Journal, o.HoldBytes, o.Logf = v.keys.journal(), v.options.MirrorHold, e.Logf
	o.Copied = v.options.Follow != nil
	if v.options.Follow != nil || v.options.Cluster != nil {
		o.Others = otherMirrors{v}
	}
	o.Busy = func() bool { return v.engine.QueueDepth() > 0 }
	v.mirror = mirror.New(o)
	e.Hold = v.mirror.Hold
	if e.Caps == (view.RetentionCaps{}) {
		e.Caps = view.MirroredRetentionCaps()
	}
	return nil
}

// startMirror starts the mirror. Its errors never stop the venue.
func (v *Venue) startMirror() error {
	if v.mirror == nil {
		return nil
	}
	l, ok := v.engine.Log().(mirror.Log)
	if !ok {
		return &OptionError{"Mirror", errors.New("the log of this venue cannot be read by a mirror")}
	}
	v.mirror.Start(l)
	if n := v.nodes(); n != nil {
		n.SetHistory(http.HandlerFunc(v.serveOlderRows))
	}
	return nil
}

// historyReport is what this node tells the others about its history.
func (v *Venue) historyReport() cluster.History {
	if v.mirror == nil {
		return cluster.History{State: cluster.HistoryOff}
	}
	since, ok := v.mirror.Since()
	switch {
	case !ok:
		return cluster.History{State: cluster.HistoryOpening}
	case !v.mirror.Complete():
		return cluster.History{State: cluster.HistoryBehind, Since: since}
	}
	return cluster.History{State: cluster.HistoryComplete, Since: since}
}

// nodes are the other nodes of a cluster.
type nodes interface {
	SetHistory(h http.Handler)
	Histories(ctx context.Context) (of map[string]cluster.History, all bool)
	ReadHistory(ctx context.Context, node, query string) ([]byte, error)
}

// nodes returns the other nodes; nil on a single machine.
func (v *Venue) nodes() nodes {
	switch {
	case v.cluster != nil:
		return v.cluster
	case v.follower != nil:
		return v.follower
	}
	return nil
}

// otherMirrors are the mirrors of the other nodes.
type otherMirrors struct{ v *Venue }

var _ mirror.Others = otherMirrors{}

// Spans implements mirror.Others.
func (o otherMirrors) Spans(ctx context.Context) (spans map[string]mirror.Span, all bool) {
	of, all := o.v.nodes().Histories(ctx)
	spans = map[string]mirror.Span{}
	for node, h := range of {
		spans[node] = mirror.Span{Since: h.Since, Complete: h.State == cluster.HistoryComplete}
	}
	return spans, all
}

// OlderRows implements mirror.Others.
func (o otherMirrors) OlderRows(ctx context.Context, node string, key mirror.OlderRowsKey) ([]byte, error) {
	q := url.Values{"below": {strconv.FormatUint(key.Below, 10)}, "table": {key.Table}, "after": {key.After}}
	return o.v.nodes().ReadHistory(ctx, node, q.Encode())
}

// serveOlderRows answers OlderRows of another node.
func (v *Venue) serveOlderRows(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	below, err := strconv.ParseUint(q.Get("below"), 10, 64)
	if err != nil {
		http.Error(w, "below: a seq", http.StatusBadRequest)
		return
	}
	b, err := v.mirror.OlderRows(r.Context(), mirror.OlderRowsKey{Below: below, Table: q.Get("table"), After: q.Get("after")})
	switch {
	case errors.Is(err, history.ErrUnavailable):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(b) // the node that asked is gone
	}
}
