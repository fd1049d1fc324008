package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core/engine"
	"duplex/lanes/admin"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/schemas"
)

// front is the handler of a listener that is bound before the venue can serve: until its
// lane is there, it answers that the venue is starting.
type front struct{ now atomic.Pointer[http.Handler] }

func newFront(h http.Handler) *front {
	f := new(front)
	f.open(h)
	return f
}

func (f *front) open(h http.Handler) { f.now.Store(&h) }

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*f.now.Load()).ServeHTTP(w, r) }

// closedAPI, closedPortal and closedAdmin are the listeners' answers until then.
func closedAPI() http.Handler {
	return gate.Starting(func(w http.ResponseWriter, r *http.Request, e schemas.Error) {
		if r.URL.Path == mcp.Path {
			mcp.Refuse(w, e)
			return
		}
		gate.WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
	})
}

func closedPortal() http.Handler { return gate.Starting(nil) }

func (p *serverOptions) closedAdmin(s *starting) http.Handler {
	return admin.Starting(sha256.Sum256([]byte(p.operatorToken)), p.environment, p.oracle, s.start)
}

// starting tells of a start's progress: to /readyz, and to the terminal or the log.
type starting struct {
	log   *slog.Logger
	term  io.Writer // nil: no terminal
	begun time.Time
	shown time.Time

	mu  sync.Mutex
	now engine.Progress
}

func newStarting(log *slog.Logger) *starting {
	s := &starting{log: log, begun: time.Now(), now: engine.Progress{Phase: engine.Loading}}
	s.shown = s.begun
	if cli.IsTerminal(os.Stderr) {
		s.term = os.Stderr
	}
	return s
}

// at is told of progress by one goroutine at a time.
func (s *starting) at(p engine.Progress) {
	s.mu.Lock()
	s.now = p
	s.mu.Unlock()
	every := cli.LineEvery
	if s.term != nil {
		every = cli.RedrawEvery
	}
	if time.Since(s.shown) < every {
		return
	}
	s.shown = time.Now()
	n := s.start()
	if s.term == nil {
		s.log.Info("starting", "phase", n.Phase, n.Unit, n.Done, "of", n.Total)
		return
	}
	fmt.Fprintf(s.term, "\r\x1b[K%s: %d %% of %d %s", n.Phase, n.Done*100/max(n.Total, 1), n.Total, n.Unit)
}

// end is told once, when the venue is open or will not be.
func (s *starting) end(e *engine.Engine, err error) {
	if s.term != nil {
		fmt.Fprint(s.term, "\r\x1b[K")
	}
	if took := time.Since(s.begun); err == nil && took > time.Second {
		s.log.Info("started", "seq", e.Seq(), "took", took.Round(time.Millisecond).String())
	}
}

// start is the present progress as /readyz shows it.
func (s *starting) start() admin.Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	unit := "bytes"
	if s.now.Phase == engine.Replaying {
		unit = "groups"
	}
	return admin.Start{Phase: string(s.now.Phase), Unit: unit, Done: s.now.Done, Total: s.now.Total}
}

// unlessStopped is the error of a start; none where the operator ended it.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
