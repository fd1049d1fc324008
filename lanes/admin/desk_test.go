package admin

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
)

const token = "dxo_of-the-operator"

// desk is an operator at a venue, on real listeners.
type desk struct {
	*lanetest.House
	url  string
	logs *record
}

// record is a log that may be read while it is written.
type record struct {
	mu sync.Mutex
	b  strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// start opens API and admin listener; with may change the options.
func start(t *testing.T, with func(*Options)) *desk {
	d := &desk{House: lanetest.New(t), logs: &record{}}
	d.Gate.Log = slog.New(slog.NewTextHandler(d.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rest.Mount(d.Routes, d.Gate, "test")
	d.Serve()
	o := Options{Venue: d.Venue, Gate: d.Gate, Token: sha256.Sum256([]byte(token)), Oracle: "manual"}
	if with != nil {
		with(&o)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config = gate.Server(New(o), d.Gate.Log)
	s.Listener = gate.Listen(s.Listener)
	s.Start()
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// do sends one request as the operator.
func (d *desk) do(method, target, body string) (int, string) {
	d.T.Helper()
	status, _, got := d.send(method, target, body, http.Header{"Authorization": {"Bearer " + token}})
	return status, got
}

func (d *desk) send(method, target, body string, h http.Header) (int, http.Header, string) {
	d.T.Helper()
	r, err := http.NewRequest(method, d.url+target, strings.NewReader(body))
	if err != nil {
		d.T.Fatal(err)
	}
	for k, v := range h {
		r.Header[k] = v
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		d.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.T.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// want is one exchange of a table: what is asked, and what must come.
type want struct {
	method, target, body string
	status               int
	got                  string // a regular expression
}

func (d *desk) play(list []want) {
	d.T.Helper()
	for _, w := range list {
		status, body := d.do(w.method, w.target, w.body)
		if ok, err := regexp.MatchString(w.got, body); status != w.status || !ok || err != nil {
			d.T.Errorf("%s %s %.200s\n  got  %d %.400q\n  want %d %s", w.method, w.target, w.body, status, body, w.status, w.got)
		}
	}
}

// code is a pattern for the error body of a code.
func code(c string) string { return `^\{"error":\{"code":"` + c + `",` }

func (d *desk) read(body string, into any) {
	d.T.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		d.T.Fatalf("%v in %s", err, body)
	}
}

// pass lets venue time pass and what is due happen.
func (d *desk) pass(by time.Duration, until func(*venue.Venue) bool) {
	d.T.Helper()
	d.Skip(by)
	d.House.Do(&core.Clock{})
	d.Until(func(v *venue.Venue, _ *view.View) bool { return until(v) })
}

func (d *desk) status(m core.MarketID, s core.RoundStatus) func(*venue.Venue) bool {
	return func(v *venue.Venue) bool { x, ok := v.Slot(m); return ok && x.Status == s }
}
