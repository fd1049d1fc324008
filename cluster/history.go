package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// HistoryState says how much of the history a node knows (docs/rules/history.md#history-of-a-node).
type HistoryState string

// The states of a node's history. A node of a version that tells none has the empty one.
const (
	HistoryOff      HistoryState = "off"      // it has no mirror
	HistoryOpening  HistoryState = "opening"  // its database has not been opened yet
	HistoryBehind   HistoryState = "behind"   // another node may know more
	HistoryComplete HistoryState = "complete" // no other node knows more
)

// History is what a node knows of the history.
type History struct {
	State HistoryState `json:"state"`
	Since uint64       `json:"since_seq"` // rows of commands up to this seq are missing; 0: none
}

// known reports whether Since is known.
func (h History) known() bool { return h.State == HistoryBehind || h.State == HistoryComplete }

// historyPath is the path of the rows of a node's mirror on its follow port.
const historyPath = "/v1/history"

// maxHistoryBytes bounds one answer with rows of a mirror.
const maxHistoryBytes = 64 << 20

// historyHandler serves the rows of a node's mirror, once there is one.
type historyHandler struct{ handler atomic.Pointer[http.Handler] }

func (h *historyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if of := h.handler.Load(); of != nil {
		(*of).ServeHTTP(w, r)
		return
	}
	http.Error(w, "this node has no mirror", http.StatusServiceUnavailable)
}

// SetHistory sets what serves the rows of this node's mirror to the others.
func (c *Cluster) SetHistory(h http.Handler) { c.follow.setHistory(h) }

// SetHistory sets what serves the rows of this node's mirror to the others.
func (f *Follower) SetHistory(h http.Handler) { f.port.setHistory(h) }

func (p *followPort) setHistory(h http.Handler) {
	if p != nil {
		p.history.handler.Store(&h)
	}
}

// Histories returns what the other members know of the history, by name. all is false if one has not told.
func (c *Cluster) Histories(context.Context) (of map[string]History, all bool) {
	of, all = map[string]History{}, true
	for _, m := range c.config.Load().Members {
		if m.Node == c.node {
			continue
		}
		h, up := c.peers.of(m.Node)
		if up = up && !h.missed && h.History.State != "" && h.History.State != HistoryOpening; up && h.History.known() {
			of[m.Name] = h.History
		}
		all = all && up
	}
	return of, all
}

// ReadHistory reads rows of the mirror of another member.
func (c *Cluster) ReadHistory(ctx context.Context, name, query string) ([]byte, error) {
	m := c.config.Load().find(name)
	if m == nil || m.Follow == "" {
		return nil, fmt.Errorf("%s is no member that can be asked", name)
	}
	return c.toPeers.readHistory(ctx, m.Follow, query)
}

// Histories returns what the nodes know of the history that this one may follow, by their addresses. all is
// always false: there may be other nodes.
func (f *Follower) Histories(ctx context.Context) (of map[string]History, all bool) {
	of = map[string]History{}
	for _, from := range f.opt.From {
		if s, _, err := f.ask(ctx, from); err == nil && s.ClusterID == f.identity.ClusterID && s.History.known() {
			of[from] = s.History
		}
	}
	return of, false
}

// ReadHistory reads rows of the mirror of another node.
func (f *Follower) ReadHistory(ctx context.Context, address, query string) ([]byte, error) {
	return f.peers.readHistory(ctx, address, query)
}

// readHistory reads one answer with rows of a mirror.
func (p *peerClient) readHistory(ctx context.Context, address, query string) ([]byte, error) {
	body, err := p.fetch(ctx, address, historyPath+"?"+query)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(body, maxHistoryBytes+1))
	if err == nil && len(b) > maxHistoryBytes {
		err = fmt.Errorf("%s sent more than %d MiB", address, maxHistoryBytes>>20)
	}
	return b, errors.Join(err, body.Close())
}

// loses refuses to remove a member that may know more of the history than every other one. own is what this
// member knows.
func (c *Cluster) loses(leaves *member, own History) error {
	gone, _ := c.peers.of(leaves.Node) // as it was heard of last
	if gone.History.State == HistoryOff {
		return nil
	}
	mirrors := gone.History.known() // whether one of them may have a mirror
	for _, m := range c.config.Load().Members {
		if m.Node == leaves.Node {
			continue
		}
		h, up := c.peers.of(m.Node)
		if m.Node == c.node {
			h.History, up = own, true
		}
		mirrors = mirrors || !up || h.History.State != HistoryOff
		if up && (h.History.State == HistoryComplete || gone.History.known() && h.History.known() && h.History.Since <= gone.History.Since) {
			return nil
		}
	}
	if !mirrors {
		return nil
	}
	what := "what it knows of the history is not known"
	switch {
	case gone.History.known() && gone.History.Since == 0:
		what = "it has the whole history, and no other member that is up has as much"
	case gone.History.known():
		what = fmt.Sprintf("its history begins after seq %d, and no other member that is up has as much", gone.History.Since)
	}
	return refused("%s: wait until another one has history_since_seq as low (dx cluster status), or give --lose-history", what)
}
