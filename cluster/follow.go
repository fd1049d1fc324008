package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"duplex/core/journal"
	"duplex/internal/timeouts"
)

// The follow port of a node serves the other nodes, over TLS with certificates of the cluster:
//
//	GET /v1/status        Status, as JSON
//	GET /v1/clock         {"clock": ns}
//	GET /v1/snapshot      the newest snapshot file; 404 if there is none
//	GET /v1/history       rows of the mirror, see mirror.OlderRows; 503 if there is none
//	POST /v1/defrag       of a member: writes etcd's database anew; Defragmented, as JSON
//	GET /v1/log?from=N    the groups from number N on, then each new one, as frames;
//	                      &follower=NAME counts against the followers of this node
//
// A frame of the log begins with its kind, one byte: 'G' is followed by the record of a group, 'B' is
// a beat, followed by the number of the newest group, the clock of the sender and the age, in ns by
// that clock, of what the sender knows of the venue: u64, i64 and i64, little-endian. A beat comes
// every 500 ms.

const (
	frameGroup = 'G'
	frameBeat  = 'B'
	beatEvery  = 500 * time.Millisecond
	beatBytes  = 24
)

// Headers of replies of the follow port.
const (
	snapshotName = "X-Name" // of a snapshot: the name of its file
	archiveHead  = "X-Head" // of the log: number of the newest group of the archive
)

// The bounds of a stream to a follower (docs/rules/operation.md#followers).
const (
	defaultFollowers = 16
	followBacklog    = 64 << 20
	followWrite      = 10 * time.Second // for what one write sends
)

// node is what a follow port serves: a member or a follower.
type node interface {
	Status() Status
	archiveLog() *journal.File // nil while the node starts
	snapshotDir() string
	now() int64
	head() (number uint64, age time.Duration) // of the venue as the node knows it, and how old that is
}

// followPort serves one node to the others.
type followPort struct {
	node      node
	mux       *http.ServeMux
	history   historyHandler
	server    *http.Server
	followers int64         // most streams to followers
	timeout   time.Duration // for what one write sends
	warn      func(msg string, args ...any)

	streams   atomic.Int64
	following atomic.Int64 // streams to followers
	cut       atomic.Uint64
}

// newFollowPort listens at an address.
func newFollowPort(ctx context.Context, n node, address string, o *Options) (*followPort, net.Listener, error) {
	p := &followPort{node: n, followers: int64(cmp.Or(o.Followers, defaultFollowers)), timeout: followWrite, warn: func(msg string, args ...any) { o.Log.Warn(msg, args...) }}
	mux := http.NewServeMux()
	p.mux = mux
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, n.Status()) })
	mux.HandleFunc("GET /v1/clock", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]int64{"clock": n.now()})
	})
	mux.HandleFunc("GET /v1/snapshot", p.serveSnapshot)
	mux.HandleFunc("GET /v1/log", p.serveLog)
	mux.Handle("GET "+historyPath, &p.history)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: timeouts.Of(5 * time.Second), ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn), BaseContext: func(net.Listener) context.Context { return ctx }}
	if o.Cert != "" {
		p.server.TLSConfig = o.serverTLS(roleMember, roleFollower)
	}
	l, err := listenTCP(address)
	return p, l, err
}

// serve serves until Close.
func (p *followPort) serve(l net.Listener) {
	if p.server.TLSConfig != nil {
		_ = p.server.ServeTLS(l, "", "")
		return
	}
	_ = p.server.Serve(l)
}

// listenFollow starts the follow port.
func (c *Cluster) listenFollow() error {
	if c.opt.FollowListen == "" {
		return nil
	}
	p, l, err := newFollowPort(c.ctx, c, c.opt.FollowListen, &c.opt)
	if err != nil {
		return err
	}
	p.mux.HandleFunc("POST "+defragPath, c.serveDefrag)
	p.server.Handler = c.whenKnown(p.mux)
	c.follow = p
	c.workers.Go(func() { p.serve(l) })
	return nil
}

// whenKnown serves once this member knows who it is and has etcd. The port is bound before that, so
// that an address that is in use stops the start before it has any effect on the cluster.
func (c *Cluster) whenKnown(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.known.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the node that asked is gone
}

func (p *followPort) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	path, err := journal.LatestSnapshot(p.node.snapshotDir())
	if errors.Is(err, journal.ErrNoSnapshot) {
		http.Error(w, "no snapshot yet", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set(snapshotName, filepath.Base(path))
	http.ServeFile(w, r, path)
}

func (c *Cluster) snapshotDir() string { return filepath.Join(c.archive, journal.SnapshotDir) }

func (c *Cluster) archiveLog() *journal.File {
	if l := c.log.Load(); l != nil {
		return l.archive
	}
	return nil
}

func (c *Cluster) now() int64 {
	if l := c.log.Load(); l != nil {
		return l.now()
	}
	return time.Now().UnixNano()
}

func (c *Cluster) head() (uint64, time.Duration) {
	return c.log.Load().knownHead(), time.Since(c.began) - time.Duration(c.contact.Load())
}

// FollowStats are counts of a follow port.
type FollowStats struct {
	Streams int64  // of the log, that are open
	Cut     uint64 // streams that this node has ended because the other one was too slow
}

func (p *followPort) stats() (s FollowStats) {
	if p == nil {
		return s
	}
	return FollowStats{Streams: p.streams.Load(), Cut: p.cut.Load()}
}

// FollowStats returns counts of the follow port.
func (c *Cluster) FollowStats() FollowStats { return c.follow.stats() }

// serveLog sends groups until the reader is gone, or is too slow.
func (p *followPort) serveLog(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
	archive := p.node.archiveLog()
	switch {
	case err != nil || from == 0:
		http.Error(w, "from: the number of a group, from 1 on", http.StatusBadRequest)
		return
	case archive == nil:
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	case from < archive.First():
		http.Error(w, fmt.Sprintf("the archive begins at group %d", archive.First()), http.StatusGone)
		return
	case from > archive.Head()+1:
		http.Error(w, fmt.Sprintf("the archive ends at group %d", archive.Head()), http.StatusConflict)
		return
	}
	p.streams.Add(1)
	defer p.streams.Add(-1)
	if r.URL.Query().Has("follower") {
		defer p.following.Add(-1)
		if p.following.Add(1) > p.followers {
			http.Error(w, fmt.Sprintf("this node has %d followers, which is its limit", p.followers), http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set(archiveHead, strconv.FormatUint(archive.Head(), 10))
	out := &logWriter{node: p.node, timeout: p.timeout, w: bufio.NewWriterSize(w, 64<<10), control: http.NewResponseController(w)}
	err = out.send(r.Context(), archive, from)
	switch {
	case errors.Is(err, errTooSlow), errors.Is(err, os.ErrDeadlineExceeded):
		p.cut.Add(1)
		p.warn("a stream of the log was ended, because the other node is too slow", "node", r.RemoteAddr, "err", err)
	case err != nil && r.Context().Err() == nil:
		p.warn("the log cannot be sent to another node", "node", r.RemoteAddr, "err", err)
	}
}

var errTooSlow = fmt.Errorf("more than %d MiB behind", followBacklog>>20)

type logWriter struct {
	node    node
	timeout time.Duration // for what one write sends
	w       *bufio.Writer
	control *http.ResponseController
	frame   []byte
	next    uint64 // number of the group to send
	sent    int64  // bytes of the records sent
	live    bool   // the reader had every group at some time
	ahead   int64  // bytes by which what was written to the archive exceeded sent then
}

// send sends the groups from a number on. One goroutine reads the archive, so that beats go on while
// there is no group. A reader that never had every group may take its time, because the archive
// costs no memory; one that had them and has fallen far behind is cut, and may find a faster node.
func (o *logWriter) send(ctx context.Context, archive *journal.File, from uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type item struct {
		g   journal.Group
		err error
	}
	groups := make(chan item, 16) // of up to 1 MiB each, for each stream
	go func() {
		defer close(groups)
		for g, err := range archive.From(ctx, from) {
			select {
			case groups <- item{g, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	o.next = from
	if err := o.beat(); err != nil {
		return err
	}
	for {
		var err error
		select {
		case i, ok := <-groups:
			switch {
			case !ok:
				return ctx.Err()
			case i.err != nil:
				return i.err
			}
			err = o.group(&i.g)
			if err == nil && len(groups) == 0 {
				err = o.flush()
			}
		case <-beat.C:
			if err = o.checkBacklog(archive); err == nil {
				err = o.beat()
			}
		}
		if err != nil {
			return err
		}
	}
}

// checkBacklog returns errTooSlow if the reader had every group and lacks too much now.
func (o *logWriter) checkBacklog(archive *journal.File) error {
	written := archive.Written()
	if o.next > archive.Head() {
		o.live, o.ahead = true, written-o.sent
	}
	if o.live && written-o.sent-o.ahead > followBacklog {
		return errTooSlow
	}
	return nil
}

func (o *logWriter) group(g *journal.Group) error {
	o.frame = journal.AppendRecord(append(o.frame[:0], frameGroup), g)
	o.next, o.sent = g.Number+1, o.sent+int64(len(o.frame)-1)
	return o.write(o.frame)
}

func (o *logWriter) beat() error {
	number, age := o.node.head()
	o.frame = append(o.frame[:0], frameBeat)
	o.frame = binary.LittleEndian.AppendUint64(o.frame, number)
	o.frame = binary.LittleEndian.AppendUint64(o.frame, uint64(o.node.now()))
	o.frame = binary.LittleEndian.AppendUint64(o.frame, uint64(age))
	if err := o.write(o.frame); err != nil {
		return err
	}
	return o.flush()
}

// write buffers a frame. What goes to the connection meanwhile has followWrite for it.
func (o *logWriter) write(b []byte) error {
	if o.w.Available() < len(b) {
		if err := o.control.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
			return err
		}
	}
	_, err := o.w.Write(b)
	return err
}

func (o *logWriter) flush() error {
	if err := o.control.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
		return err
	}
	if err := o.w.Flush(); err != nil {
		return err
	}
	return o.control.Flush()
}

// beat is what a node says about the venue every 500 ms.
type beat struct {
	head  uint64        // number of the newest group that it knows of
	clock int64         // of the node, when it said so
	age   time.Duration // of what it knows, by then
}

// readFrames reads the frames of a log until an error.
func readFrames(r io.Reader, group func(journal.Group) error, onBeat func(beat) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		kind, err := in.ReadByte()
		if err != nil {
			return err
		}
		switch kind {
		case frameGroup:
			g, err := journal.ReadRecord(in)
			if err == nil {
				err = group(g)
			}
			if err != nil {
				return err
			}
		case frameBeat:
			var b [beatBytes]byte
			if _, err := io.ReadFull(in, b[:]); err != nil {
				return err
			}
			u64 := binary.LittleEndian.Uint64
			if err := onBeat(beat{u64(b[:]), int64(u64(b[8:])), time.Duration(u64(b[16:]))}); err != nil {
				return err
			}
		default:
			return fmt.Errorf("frame of kind %d", kind)
		}
	}
}

// readLog is readFrames, and verifies every group against the position before it.
func readLog(r io.Reader, at journal.Position, group func(journal.Group) error, onBeat func(beat) error) error {
	return readFrames(r, func(g journal.Group) error {
		if !g.Follows(at) {
			return fmt.Errorf("group %d: %w", g.Number, errOtherChain)
		}
		at = g.After()
		return group(g)
	}, onBeat)
}
