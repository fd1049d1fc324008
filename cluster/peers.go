package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/engine"
	"duplex/internal/backoff"
	"duplex/internal/timeouts"
)

// Status is what a node says about itself on its follow port.
type Status struct {
	ClusterID     ID       `json:"cluster_id"`
	Node          uint32   `json:"node"`
	Name          string   `json:"name"`
	Role          string   `json:"role"` // leader, voter, learner or follower
	Clock         int64    `json:"clock"`
	First         uint64   `json:"first"`          // of the oldest group of its archive; 0: none
	ArchiveNumber uint64   `json:"archive_number"` // of the last group that its archive has synced
	Number        uint64   `json:"number"`         // of the last group that it has applied
	SlowSyncs     bool     `json:"slow_syncs,omitempty"`
	MasterKeys    []string `json:"master_keys,omitempty"` // fingerprints of those that it has
	SealsUnder    string   `json:"seals_under,omitempty"` // fingerprint of the one under which it seals secrets
	EtcdBytes     int64    `json:"etcd_bytes"`
	CertEnd       int64    `json:"cert_end,omitempty"` // of its certificate, ns
	CAEnd         int64    `json:"ca_end,omitempty"`   // of its authority, ns

	// What a follower must have alike, or adopts.
	Voters    []uint32          `json:"voters,omitempty"`
	Settings  map[string]string `json:"settings,omitempty"`
	MasterKey string            `json:"master_key,omitempty"` // fingerprint
	Report
}

// The roles of a node.
const (
	roleLeader  = "leader"
	roleVoter   = "voter"
	roleLearner = "learner"
	roleFollows = "follower"
)

// Report is the part of a Status that the engine knows.
type Report struct {
	State        string  `json:"state"`
	Seq          uint64  `json:"seq"`
	AttestedSeq  uint64  `json:"attested_seq"`
	StateHash    string  `json:"state_hash"` // at AttestedSeq
	Version      string  `json:"version"`
	MemberURL    string  `json:"member_url,omitempty"` // base URL of the API of a member
	DiskFree     uint64  `json:"disk_free"`
	Revision     uint32  `json:"revision"` // newest revision of the rules that this version of dx knows
	History      History `json:"history,omitzero"`
	AppliedGroup uint64  `json:"-"`
}

// SetReport sets the function that tells about the engine.
func (c *Cluster) SetReport(f func() Report) { c.report.Store(&f) }

// Status returns the status of this node. It must not be called before Open has opened etcd.
func (c *Cluster) Status() Status {
	s := Status{ClusterID: c.id, Node: c.node, Name: c.opt.Name, Role: roleVoter, Clock: time.Now().UnixNano()}
	if l := c.log.Load(); l != nil {
		s.Clock, s.First, s.ArchiveNumber, s.Number = l.now(), l.archive.First(), l.archive.Synced(), l.archive.Head()
	}
	if cfg := c.config.Load(); cfg != nil {
		s.Settings, s.MasterKey = cfg.Settings, cfg.MasterKey
	}
	if f := c.report.Load(); f != nil {
		s.Report = (*f)()
		if s.AppliedGroup > 0 {
			s.Number = s.AppliedGroup
		}
	} else {
		s.State = engine.Joining.String()
	}
	s.MasterKeys, s.SealsUnder = c.keysOf()
	s.Version, s.SlowSyncs = c.opt.Version, c.slow.Load()
	s.EtcdBytes = c.etcd.Server.Backend().Size()
	s.CertEnd, s.CAEnd = c.CertificateEnds()
	if v := c.view.Load(); v != nil {
		s.Voters = v.voters
		switch {
		case v.leader == c.node:
			s.Role = roleLeader
		case !slices.Contains(v.voters, c.node):
			s.Role = roleLearner
		}
	}
	return s
}

// peers are the other members as this one heard of them last.
type peers struct {
	mu        sync.Mutex
	heard     map[uint32]heard
	compacted atomic.Uint64 // number below which this member has compacted etcd
}

type heard struct {
	Status
	at     time.Time
	offset time.Duration // of its clock, ahead of that of this member
	rtt    time.Duration
	missed bool // it did not answer the last question
}

func (p *peers) hear(h heard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard == nil {
		p.heard = map[uint32]heard{}
	}
	p.heard[h.Node] = h
}

// miss notes that a member did not answer. It counts as up for a while.
func (p *peers) miss(node uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, ok := p.heard[node]; ok {
		h.missed = true
		p.heard[node] = h
	}
}

func (p *peers) isUp(node uint32) bool {
	_, up := p.of(node)
	return up
}

// of returns what was heard of another member last, and whether it is up.
func (p *peers) of(node uint32) (h heard, up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.heard[node]
	return h, ok && time.Since(h.at) < timeouts.Of(upFor)
}

// statuses returns those of the other members that are up.
func (p *peers) statuses() (list []heard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.heard {
		if time.Since(h.at) < timeouts.Of(upFor) {
			list = append(list, h)
		}
	}
	return list
}

// pollPeers asks every other member for its status and its clock.
func (c *Cluster) pollPeers() {
	for {
		c.pollOnce()
		if c.endIfRemoved() {
			return
		}
		c.promoteReady()
		c.guardLead()
		if !backoff.Sleep(c.ctx, c.untilPoll()) {
			return
		}
	}
}

// untilPoll is the time until the next poll. Until the clocks were compared for the first time it is
// short: members that start together do not answer the first question, and one that has compared
// nothing takes no commands.
func (c *Cluster) untilPoll() time.Duration {
	if c.clock.Load() == nil {
		return pollFirst
	}
	return pollEvery
}

func (c *Cluster) pollOnce() {
	var all sync.WaitGroup
	for _, m := range c.config.Load().Members {
		if m.Node == c.node || m.Follow == "" {
			continue
		}
		all.Go(func() {
			h, err := c.ask(m.Follow)
			if err != nil || h.ClusterID != c.id || h.Node != m.Node {
				c.peers.miss(m.Node)
				return
			}
			c.peers.hear(h)
			if l := c.log.Load(); l != nil {
				l.heardOf(h.Number)
			}
		})
	}
	all.Wait()
	c.compareClocks()
}

// askTries is how often the clock of a member is read; the quickest reply counts.
const askTries = 3

func (c *Cluster) ask(follow string) (best heard, err error) {
	now := func() int64 { return c.Status().Clock }
	for range askTries {
		ctx, cancel := context.WithTimeout(c.ctx, pollEvery)
		before := now()
		var s Status
		_, err = c.toPeers.get(ctx, follow, "/v1/status", &s)
		after := now()
		cancel()
		if err != nil {
			return best, err
		}
		h := heard{Status: s, at: time.Now(), rtt: time.Duration(after - before), offset: time.Duration(s.Clock - (before+after)/2)}
		if best.at.IsZero() || h.rtt < best.rtt {
			best = h
		}
	}
	return best, nil
}

// farthest is the longest round trip between members.
const farthest = 100 * time.Millisecond

// nearBy is the longest round trip for which the default heartbeat and election time are meant.
const nearBy = 10 * time.Millisecond

// How long a member asks another one again that seems far away, and the pause before each time. A machine
// with no processor to spare answers late for seconds, and is not refused for that.
const (
	defaultFarTimeout = 15 * time.Second
	farPause          = 100 * time.Millisecond
	nearTries         = 2 // to say whether it is nearBy, for which less is at stake
)

// checkDistances refuses a member that is too far from another one. A round trip is the quickest of
// several.
func (c *Cluster) checkDistances() error {
	c.pollOnce()
	for _, h := range c.peers.statuses() {
		m := c.config.Load().find(h.Name)
		if m == nil {
			continue
		}
		begun := time.Now()
		for try := 0; h.rtt > farthest && time.Since(begun) < cmp.Or(c.opt.farTimeout, defaultFarTimeout) || h.rtt > nearBy && try < nearTries; try++ {
			if h.rtt > farthest {
				backoff.Sleep(c.ctx, farPause)
			}
			if again, err := c.ask(m.Follow); err == nil {
				h.rtt = min(h.rtt, again.rtt)
			}
		}
		if err := c.checkDistance(h.Name, h.rtt); err != nil {
			return err
		}
	}
	return nil
}

// checkDistance returns an error about a member that is too far away, and warns about one for which the
// times of etcd are too short.
func (c *Cluster) checkDistance(name string, rtt time.Duration) error {
	switch {
	case rtt > farthest:
		return &OptionError{"cluster", fmt.Errorf("%s is %v away by round trip, and members may be %v apart", name, rtt.Round(time.Millisecond), farthest)}
	case rtt > nearBy && c.opt.Election < time.Second:
		c.opt.Log.Warn("a member is far away: give all members --heartbeat 100ms --election 1s", "member", name, "round_trip", rtt.Round(time.Millisecond).String())
	}
	return nil
}

// compareClocks compares the clock of this member with the median of the members' clocks. With the
// clocks of less than a majority nothing is measured.
func (c *Cluster) compareClocks() {
	offsets, voters := []time.Duration{0}, c.view.Load().voters
	for _, h := range c.peers.statuses() {
		if slices.Contains(voters, h.Node) {
			offsets = append(offsets, h.offset)
		}
	}
	if len(offsets) < len(voters)/2+1 {
		return
	}
	slices.Sort(offsets)
	n := len(offsets)
	median := (offsets[(n-1)/2] + offsets[n/2]) / 2
	c.clock.Store(&engine.ClockOffset{Offset: -median, Measured: time.Now()})
}

// peerClient reads from the follow ports of other nodes.
type peerClient struct {
	http    *http.Client
	scheme  string
	log     *slog.Logger
	timeout time.Duration // with a node that sends a stream and is silent
}

// silentFor is how long a node that sends a stream may be silent. A log stream has a heartbeat every
// beatEvery.
const silentFor = 10 * time.Second

// peerClient returns a client with the certificates of these options. It accepts the answers of nodes
// with one of the roles: a member must not take groups, clocks or states from a follower.
func (o *Options) peerClient(roles ...string) *peerClient {
	p := &peerClient{http: o.httpClient(roles...), scheme: "http", log: o.Log, timeout: silentFor}
	if o.Cert != "" {
		p.scheme = "https"
	}
	return p
}

// get reads a JSON document from a node. A node that was stopped accepts the connection and never
// answers, so the answer has a time.
func (p *peerClient) get(ctx context.Context, address, path string, into any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.send(ctx, http.MethodGet, address, path, into)
}

// send sends a request without a body, and reads the header and the JSON document of the reply.
func (p *peerClient) send(ctx context.Context, method, address, path string, into any) (http.Header, error) {
	body, header, err := p.request(ctx, method, address, path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return header, json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(into)
}

// fetch begins to read a stream from a follow port. The stream ends if the node is silent.
func (p *peerClient) fetch(ctx context.Context, address, path string) (io.ReadCloser, error) {
	body, _, err := p.stream(ctx, address, path)
	return body, err
}

// fetchLog begins to read the log of a node from a group on. head is the number of the newest group that
// its archive had by then.
func (p *peerClient) fetchLog(ctx context.Context, address string, from uint64) (body io.ReadCloser, head uint64, err error) {
	body, header, err := p.stream(ctx, address, "/v1/log?from="+strconv.FormatUint(from, 10))
	if err != nil {
		return nil, 0, err
	}
	if head, err = strconv.ParseUint(header.Get(archiveHead), 10, 64); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%s: %w", archiveHead, err), body.Close())
	}
	return body, head, nil
}

// stream is fetch, with the header of the reply.
func (p *peerClient) stream(ctx context.Context, address, path string) (io.ReadCloser, http.Header, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watched{ctx: ctx, cancel: cancel, timeout: p.timeout}
	w.timer = time.AfterFunc(w.timeout, func() { cancel(fmt.Errorf("%s sent nothing for %v", address, w.timeout)) })
	body, header, err := p.request(ctx, http.MethodGet, address, path)
	w.timer.Stop()
	if err != nil {
		err = errors.Join(context.Cause(ctx), err)
		cancel(nil)
		return nil, nil, err
	}
	w.body = body
	return w, header, nil
}

// watched is the body of a reply that ends with an error if a read takes too long: a process that was
// stopped, or a machine that is gone, closes no connection.
type watched struct {
	body    io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
}

func (w *watched) Read(b []byte) (int, error) {
	w.timer.Reset(w.timeout)
	n, err := w.body.Read(b)
	w.timer.Stop()
	if err != nil && err != io.EOF {
		err = errors.Join(context.Cause(w.ctx), err)
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.body.Close()
}

// request sends a request without a body. A reply that is not 200 is an error.
func (p *peerClient) request(ctx context.Context, method, address, path string) (io.ReadCloser, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.scheme+"://"+address+path, nil)
	if err != nil {
		return nil, nil, err
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // for the message alone
		resp.Body.Close()
		return nil, nil, &statusError{resp.StatusCode, fmt.Sprintf("%s%s: %s %s", address, path, resp.Status, bytes.TrimSpace(text))}
	}
	return resp.Body, resp.Header, nil
}

type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }
