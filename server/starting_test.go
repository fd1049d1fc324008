package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/logbuffer"
	"duplex/server"
	"duplex/server/servertest"
)

// listenLoopback listens on a free port of a loopback address that only this process uses,
// if the machine has more than 127.0.0.1: there the outgoing connection of another test
// could take the port as soon as it is free.
func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:0", 64+os.Getpid()>>8%128, os.Getpid()&255))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// heldStart is a start that blocks at its first progress in one phase until release.
type heldStart struct {
	api, portal, admin string // addresses
	release            func()
	done               chan error
	venue              *server.Venue
}

func holdStart(t *testing.T, ctx context.Context, data string, phase engine.Phase) *heldStart {
	t.Helper()
	o := servertest.LiveOptions(data, nil)
	o.Origins = []string{"https://screen.example"}
	o.APIListener, o.PortalListener, o.AdminListener = listenLoopback(t), listenLoopback(t), listenLoopback(t)
	s := &heldStart{api: o.APIListener.Addr().String(), portal: o.PortalListener.Addr().String(), admin: o.AdminListener.Addr().String(), done: make(chan error, 1)}
	reached, held := make(chan struct{}), make(chan struct{})
	s.release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(s.release)
	var once sync.Once
	o.Progress = func(p server.Progress) {
		if p.Phase == phase && !p.Ended {
			once.Do(func() { close(reached) })
			<-held
		}
	}
	go func() {
		var err error
		s.venue, err = server.Open(ctx, o)
		s.done <- err
	}()
	select {
	case <-reached:
	case err := <-s.done:
		t.Fatalf("the start ended before %q: %v", phase, err)
	case <-time.After(time.Minute):
		t.Fatalf("the start did not reach %q", phase)
	}
	return s
}

// TestListenersAnswerDuringTheStart tests that every listener answers while the venue
// replays its journal: it is live, it is not ready and reports its progress, and every
// request is rejected with draining. Then the venue serves on the same addresses.
func TestListenersAnswerDuringTheStart(t *testing.T) {
	dir, k := servertest.DataWithDeposits(t)
	s := holdStart(t, t.Context(), dir, engine.Proving)
	status, _, body := request(t, "GET", "http://"+s.admin+"/readyz", "")
	var ready struct {
		Live, Ready bool
		Reasons     []string
		Start       struct {
			Phase, Unit string
			Total       uint64
		}
	}
	if err := json.Unmarshal([]byte(body), &ready); err != nil || status != 503 {
		t.Errorf("/readyz during the start: %d %s %v, want 503", status, body, err)
	}
	if !ready.Live || ready.Ready || !slices.Equal(ready.Reasons, []string{"starting"}) {
		t.Errorf("/readyz during the start: %s, want live, not ready, and the reason starting", body)
	}
	if ready.Start.Phase != "proving the journal" || ready.Start.Unit != "bytes" || ready.Start.Total == 0 {
		t.Errorf("progress %+v", ready.Start)
	}
	const refused = `{"error":{"code":"draining","num":null,"origin":"gateway","message":"draining","details":null}}`
	for _, x := range []struct {
		method, url, body string
		header            []string
		status            int
		want              string
	}{
		{"GET", s.admin + "/livez", "", nil, 200, `"live":true`},
		{"GET", s.admin + "/admin/state", "", nil, 401, `"unauthorized"`},
		{"GET", s.admin + "/admin/state", "", []string{"Authorization", "Basic t"}, 401, `"unauthorized"`},
		{"GET", s.admin + "/admin/whoami", "", []string{"Authorization", "Bearer dxo_of-ann"}, 503, refused}, // may be a named operator's
		{"GET", s.admin + "/admin/state", "", []string{"Authorization", "Bearer t"}, 503, refused},
		{"GET", s.api + "/v1/time", "", nil, 503, refused},
		{"POST", s.api + "/v1/portfolio/orders", `{"client_order_id":"1"}`, nil, 503, refused},
		{"POST", s.api + "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil, 503, `{"jsonrpc":"2.0","error":{"code":503,"message":"draining","data":`},
		{"GET", s.portal + "/", "", nil, 503, refused},
	} {
		status, header, body := request(t, x.method, "http://"+x.url, x.body, x.header...)
		if status != x.status || !strings.Contains(body, x.want) || len(header.Get("X-Request-Id")) != 24 || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s during the start: %d %v %s, want %d JSON with %q and a request id", x.method, x.url, status, header, body, x.status, x.want)
		}
	}
	// A screen that is open in a browser learns that the venue is starting.
	const origin = "https://screen.example"
	if status, header, _ := request(t, "OPTIONS", "http://"+s.api+"/v1/time", "", "Origin", origin, "Access-Control-Request-Method", "GET"); status != 204 || header.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("a preflight: %d %v", status, header)
	}
	if status, header, body := request(t, "GET", "http://"+s.api+"/v1/time", "", "Origin", origin); status != 503 || header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(body, refused) {
		t.Errorf("a request of a browser: %d %v %s", status, header, body)
	}
	if status, header, _ := request(t, "OPTIONS", "http://"+s.api+"/v1/time", "", "Origin", "https://other.example", "Access-Control-Request-Method", "GET"); status != 503 || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight of another origin: %d %v", status, header)
	}
	s.release()
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
	servertest.CheckKey(t, servertest.Wrap(t, s.venue), k)
	if status, _, _ := request(t, "GET", "http://"+s.portal+"/", ""); status != 200 {
		t.Errorf("the portal: %d", status)
	}
	if status, _, body := request(t, "GET", "http://"+s.admin+"/readyz", ""); status != 503 || !strings.Contains(body, "oracle_stale") || strings.Contains(body, "start") {
		t.Errorf("/readyz of an open venue: %d %s", status, body)
	}
}

// TestAStartCanBeStopped tests that a start whose context ends stops in any phase, frees
// addresses and journal, and leaves a data folder that the next start opens.
func TestAStartCanBeStopped(t *testing.T) {
	dir, k := servertest.DataWithDeposits(t)
	for _, phase := range []engine.Phase{engine.Loading, engine.Proving} {
		ctx, stop := context.WithCancel(t.Context())
		s := holdStart(t, ctx, dir, phase)
		stop()
		s.release()
		if err := <-s.done; !errors.Is(err, context.Canceled) {
			t.Errorf("a start that is stopped in %s: %v, want context.Canceled", phase, err)
		}
		for _, at := range []string{s.api, s.portal, s.admin} {
			l, err := net.Listen("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	}
	h := servertest.OpenLive(t, dir, nil)
	servertest.CheckKey(t, h, k)
	h.Close()
}

// TestProgressInTheLog tests that the log has a line about a start every few seconds, but
// none if the options take the progress.
func TestProgressInTheLog(t *testing.T) {
	var log bytes.Buffer
	p := server.NewStartProgress(slog.New(slog.NewTextHandler(&log, nil)), nil)
	at := func(n uint64) { p.Update(engine.Progress{Phase: engine.Replaying, Done: n, Total: 200}) }
	at(10)
	if log.Len() > 0 {
		t.Errorf("at once: %s", &log)
	}
	p.Elapse()
	at(50)
	at(51)
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="venue starting" phase="replaying the journal" groups=50 of=200`) {
		t.Errorf("the log after two updates: %s, want one line, of group 50", got)
	}
	var last server.Progress
	log.Reset()
	p = server.NewStartProgress(slog.New(slog.NewTextHandler(&log, nil)), func(p server.Progress) { last = p })
	p.Elapse()
	at(100)
	if want := (server.Progress{Phase: engine.Replaying, Unit: "groups", Done: 100, Total: 200}); last != want || log.Len() > 0 {
		t.Errorf("the options get %+v, want %+v, and the log has %q, want nothing", last, want, &log)
	}
	if p.End(nil, errors.New("damage")); !last.Ended || last.Done != 100 {
		t.Errorf("at the end: %+v", last)
	}
}

// TestNewestRevision tests that a start puts the newest revision of the rules in force, and
// that the log has one line if that changes the revision of an older journal.
func TestNewestRevision(t *testing.T) {
	data := t.TempDir()
	var log logbuffer.Buffer
	start := func() {
		t.Helper()
		v := servertest.OpenLive(t, data, func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		defer v.Close()
		v.Engine().Read(func(s *venue.Venue, _ *view.View) {
			if got := s.Rules(); got.Revision != core.RevisionNewest || got.DisputeNs != 0 {
				t.Errorf("the rules are %+v, want the newest revision and no dispute window", got)
			}
		})
	}
	const line = "newest revision"
	if start(); strings.Contains(log.String(), line) {
		t.Errorf("a new venue has no older journal:\n%s", log.String())
	}
	journal := filepath.Join(data, "journal")
	if err := os.RemoveAll(journal); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(engine.Options{Dir: journal})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), &core.ActivateRules{Revision: core.RevisionOldest}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		start()
		if got := log.String(); strings.Count(got, line) != 1 || !strings.Contains(got, fmt.Sprintf("revision=%d before=%d ", core.RevisionNewest, core.RevisionOldest)) {
			t.Errorf("the log is\n%s", got)
		}
	}
}
