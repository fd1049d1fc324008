package admin

import (
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/logbuffer"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
)

const token = "dxo_of-the-operator"

// testOperator sends requests to the listeners of a venue as its operator.
type testOperator struct {
	*lanetest.Server
	url  string
	logs *logbuffer.Buffer
}

// newTestOperator opens the API and admin listeners; with may change the options, and tune
// those of the engine.
func newTestOperator(t *testing.T, with func(*Options), tune ...func(*engine.Options)) *testOperator {
	d := &testOperator{Server: lanetest.New(t, tune...), logs: &logbuffer.Buffer{}}
	d.Gate.Log = slog.New(slog.NewTextHandler(d.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rest.Mount(d.Routes, d.Gate, "test")
	d.Serve()
	o := Options{Venue: d.Venue, Gate: d.Gate, Token: sha256.Sum256([]byte(token)), Oracle: "manual"}
	if with != nil {
		with(&o)
	}
	d.url = d.ServeHandler(New(o), d.Gate.Log)
	return d
}

// do sends one request as the operator.
func (d *testOperator) do(method, target, body string) (int, string) {
	d.T.Helper()
	status, _, got := d.send(method, target, body, bearer(token))
	return status, got
}

func (d *testOperator) send(method, target, body string, h http.Header) (int, http.Header, string) {
	d.T.Helper()
	return d.Request(method, d.url+target, body, h)
}

// want is a request and its expected response.
type want struct {
	method, target, body string
	status               int
	got                  string // a regular expression
}

func (d *testOperator) runCases(list []want) {
	d.T.Helper()
	d.as(token, list...)
}

// as runs cases with the token of an operator.
func (d *testOperator) as(token string, list ...want) {
	d.T.Helper()
	for _, w := range list {
		status, _, body := d.send(w.method, w.target, w.body, bearer(token))
		if ok, err := regexp.MatchString(w.got, body); status != w.status || !ok || err != nil {
			d.T.Errorf("%s %s %.200s\n  got  %d %.400q\n  want %d %s", w.method, w.target, w.body, status, body, w.status, w.got)
		}
	}
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// code returns a pattern of the error body with code c.
func code(c string) string { return `^\{"error":\{"code":"` + c + `",` }

func (d *testOperator) read(body string, into any) {
	d.T.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		d.T.Fatalf("%v in %s", err, body)
	}
}

// advance moves the clock forward and waits until the venue has reacted.
func (d *testOperator) advance(by time.Duration, until func(*venue.Venue) bool) {
	d.T.Helper()
	d.AdvanceClock(by)
	d.Server.Submit(&core.Clock{})
	d.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return until(v) })
}

// status returns a condition for advance: market m has status s.
func (d *testOperator) status(m core.MarketID, s core.RoundStatus) func(*venue.Venue) bool {
	return func(v *venue.Venue) bool { x, ok := v.Market(m); return ok && x.Status == s }
}
