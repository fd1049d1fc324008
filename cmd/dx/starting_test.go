package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/engine"
	"duplex/schemas"
)

// freeListeners are three addresses that a test knows before anything listens there.
// They are of a loopback address of this process's own, where there are others than
// 127.0.0.1: on that one a connection of another test may have taken the port by then.
func freeListeners(t *testing.T) listeners {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.1", 64+os.Getpid()>>8%128, os.Getpid()&255)
	if l, err := net.Listen("tcp", host+":0"); err != nil {
		host = "127.0.0.1"
	} else {
		l.Close()
	}
	var out [3]string
	for i := range out {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		out[i] = l.Addr().String()
		defer l.Close()
	}
	return listeners{out[0], out[1], out[2]}
}

// heldStart is a start that stands still in its first call of progress until release is
// called.
type heldStart struct {
	listeners
	reached chan struct{}
	release func()
	done    chan error
	server  *venueServer
}

func holdStart(t *testing.T, ctx context.Context, dir string, phase engine.Phase) *heldStart {
	t.Helper()
	s := &heldStart{listeners: freeListeners(t), reached: make(chan struct{}), done: make(chan error, 1)}
	gate := make(chan struct{})
	s.release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(s.release)
	p := serverOptions{listeners: s.listeners, dir: dir, environment: "live", oracle: "manual", log: slog.New(slog.DiscardHandler), operatorToken: "t", ownsMasterKey: true}
	var err error
	if p.masterKey, err = loadMasterKey("", dir); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	p.progress = func(at engine.Progress) {
		if at.Phase == phase {
			once.Do(func() { close(s.reached) })
			<-gate
		}
	}
	go func() {
		h, err := openServer(ctx, p)
		if err == nil {
			err = h.listen()
		}
		s.server = h
		s.done <- err
	}()
	select {
	case <-s.reached:
	case err := <-s.done:
		t.Fatal("the start did not come to", phase, err)
	case <-time.After(time.Minute):
		t.Fatal("the start did not come to", phase)
	}
	return s
}

// traded is a data directory with a few groups in its journal; killed leaves them
// without a snapshot.
func traded(t *testing.T) (dir string, k schemas.NewKey) {
	t.Helper()
	dir = t.TempDir()
	h := openTestServer(t, dir, nil)
	k = h.key(t, "a")
	for i := range 5 {
		if err := h.submitOwn(&core.Deposit{User: 1, DepositID: string(rune('a' + i)), Amount: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	h.mustClose(t)
	return dir, k
}

func httpAnswer(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// While a venue replays its journal every listener answers: it lives, it is not ready
// and says how far it is, and every request is refused as surely not done. Then, on the
// same addresses, it serves.
func TestListenersAnswerDuringTheStart(t *testing.T) {
	dir, k := traded(t)
	s := holdStart(t, t.Context(), dir, engine.Proving)
	status, _, body := httpAnswer(t, "GET", "http://"+s.Admin+"/readyz", "")
	var ready struct {
		Live, Ready bool
		Reasons     []string
		Start       struct {
			Phase, Unit string
			Total       uint64
		}
	}
	if err := json.Unmarshal([]byte(body), &ready); err != nil || status != 503 || !ready.Live || ready.Ready || len(ready.Reasons) != 1 || ready.Reasons[0] != "starting" {
		t.Errorf("/readyz: %d %s %v", status, body, err)
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
		{"GET", s.Admin + "/livez", "", nil, 200, `"live":true`},
		{"GET", s.Admin + "/admin/state", "", nil, 401, `"unauthorized"`},
		{"GET", s.Admin + "/metrics", "", []string{"Authorization", "Bearer wrong"}, 401, `"unauthorized"`},
		{"GET", s.Admin + "/admin/state", "", []string{"Authorization", "Bearer t"}, 503, refused},
		{"GET", s.API + "/v1/time", "", nil, 503, refused},
		{"POST", s.API + "/v1/portfolio/orders", `{"client_order_id":"1"}`, nil, 503, refused},
		{"POST", s.API + "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil, 503, `{"jsonrpc":"2.0","error":{"code":503,"message":"draining","data":`},
		{"GET", s.Portal + "/", "", nil, 503, refused},
	} {
		status, header, body := httpAnswer(t, x.method, "http://"+x.url, x.body, x.header...)
		if status != x.status || !strings.Contains(body, x.want) || len(header.Get("X-Request-Id")) != 24 || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %v %s", x.method, x.url, status, header, body)
		}
	}
	s.release()
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
	defer s.server.mustClose(t)
	s.server.checkKeyWorks(t, k)
	if status, _, _ := httpAnswer(t, "GET", "http://"+s.Portal+"/", ""); status != 200 {
		t.Errorf("the portal: %d", status)
	}
	if status, _, body := httpAnswer(t, "GET", "http://"+s.Admin+"/readyz", ""); status != 503 || !strings.Contains(body, "oracle_stale") || strings.Contains(body, "start") {
		t.Errorf("/readyz of an open venue: %d %s", status, body)
	}
}

// A start that is told to stop ends in any phase, frees addresses and journal, and
// leaves a directory that the next start opens.
func TestAStartCanBeStopped(t *testing.T) {
	dir, k := traded(t)
	for _, phase := range []engine.Phase{engine.Loading, engine.Proving} {
		ctx, stop := context.WithCancel(t.Context())
		s := holdStart(t, ctx, dir, phase)
		stop()
		s.release()
		if err := <-s.done; !errors.Is(err, context.Canceled) || unlessStopped(ctx, err) != nil {
			t.Errorf("%s: %v", phase, err)
		}
		for _, at := range []string{s.API, s.Portal, s.Admin} {
			l, err := net.Listen("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	}
	h := openTestServer(t, dir, nil)
	h.checkKeyWorks(t, k)
	h.mustClose(t)
}

// Where there is no terminal the log has a line every few seconds; where there is one,
// one line is drawn anew.
func TestProgressOfAStart(t *testing.T) {
	var log, term bytes.Buffer
	s := newStarting(slog.New(slog.NewTextHandler(&log, nil)))
	s.term = nil
	at := func(n uint64) { s.at(engine.Progress{Phase: engine.Replaying, Done: n, Total: 200}) }
	at(10)
	if log.Len() > 0 {
		t.Errorf("at once: %s", &log)
	}
	s.shown = s.shown.Add(-cli.LineEvery)
	at(50)
	at(51)
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg=starting phase="replaying the journal" groups=50 of=200`) {
		t.Errorf("%s", got)
	}
	s.term = &term
	s.shown = s.shown.Add(-cli.RedrawEvery)
	at(100)
	if got := term.String(); got != "\r\x1b[Kreplaying the journal: 50 % of 200 groups" {
		t.Errorf("%q", got)
	}
	if s.end(nil, errors.New("damage")); !strings.HasSuffix(term.String(), "groups\r\x1b[K") {
		t.Errorf("%q", term.String())
	}
}

func TestCollectorPace(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 100 << 20: 400, 256 << 20: 400, 512 << 20: 200, 1 << 30: 100, 3 << 30: 33, 100 << 30: 25} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes live: %d", live, got)
		}
	}
}
