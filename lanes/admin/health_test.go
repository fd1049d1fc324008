package admin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/feeds"
)

func (d *desk) probe(target string) string {
	d.T.Helper()
	status, _, body := d.send("GET", target, "", nil)
	var h health
	d.read(body, &h)
	if h.Environment != "live" || h.Oracle != "manual" {
		d.T.Errorf("%s", body)
	}
	return fmt.Sprintf("%d %s %s", status, strings.Join(h.Reasons, ","), strings.Join(h.StaleFeeds, ","))
}

func TestReadiness(t *testing.T) {
	var extra error
	d := start(t, func(o *Options) { o.Ready = func() error { return extra } })
	is := func(when, ready, live string) {
		t.Helper()
		if got := d.probe("/readyz"); got != ready {
			t.Errorf("%s: /readyz %q, want %q", when, got, ready)
		}
		if got := d.probe("/livez")[:3]; got != live {
			t.Errorf("%s: /livez %s, want %s", when, got, live)
		}
	}
	is("open", "200  ", "200")

	d.House.Do(&core.SetSession{Feed: core.Gold, Open: true})
	is("gold in session and silent", "200  gold", "200")

	d.pass(6*time.Second, func(v *venue.Venue) bool { _, _, stale, _ := v.Index(core.BTC); return stale })
	is("all silent", "503 oracle_stale BTC,gold", "200")

	d.do("POST", "/admin/oracle/ticks", `{"feed":0,"source":"a","price":"6500000000000"}`)
	is("BTC again", "200  gold", "200")

	extra = errors.New("calendar_ends")
	is("something else is missing", "503 calendar_ends gold", "200")

	extra = nil
	d.Engine.Drain()
	is("draining", "503 draining gold", "200")
	d.play([]want{
		{"POST", "/admin/users", `{"name":"late"}`, 503, code("draining")},
		{"GET", "/admin/users", "", 200, `"users":\[`},
	})
}

func TestMetrics(t *testing.T) {
	sources := []feeds.State{{
		Feed: core.Gold, Source: feed.SourceState{Name: "east", Price: 1, Outliers: 2, Counts: [feed.Verdicts]uint64{5, 1}}, Fresh: true, Age: 1500 * time.Millisecond, Up: true, Runs: 3,
	}}
	d := start(t, func(o *Options) { o.Sources = func() []feeds.State { return sources } })
	d.do("POST", "/admin/oracle/ticks", `{"feed":1,"source":"desk","price":"7800000000"}`)
	d.House.Do(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Type: core.Limit, Tick: 5000, Qty: 10})
	d.do("POST", "/admin/users/9/suspend", "")
	d.Call(d.Key(1, core.ScopeRead), "GET", "/v1/time", "")
	_, page := d.do("GET", "/metrics", "")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sequencer_groups_total", "log_sync_seconds_total", "apply_seconds_max", "queue_depth", "shed_total", "oracle_index_age_seconds", "request_seconds", "sequencing_seconds", "invariant_checks_total"} {
		if families["duplex_"+name] == nil {
			t.Errorf("no %s", name)
		}
	}
	for _, line := range []string{
		"duplex_users 2",
		"duplex_ready 1",
		"duplex_sequencer_stopped 0",
		"duplex_resting_orders 1",
		`duplex_rounds{status="trading"} 3`,
		`duplex_rounds{status="void"} 0`,
		`duplex_oracle_stale{feed="BTC"} 0`,
		`duplex_oracle_stale{feed="WTI"} 1`,
		`duplex_oracle_session_open{feed="gold"} 0`,
		`duplex_oracle_source_age_seconds{feed="gold",source="east"} 1.5`,
		`duplex_oracle_source_values_total{feed="gold",source="east",verdict="zero"} 1`,
		`duplex_oracle_source_outliers_total{feed="gold",source="east"} 2`,
		`duplex_refusals_total{code="unknown_user"} 1`,
		`duplex_requests_total{lane="admin",op="admin_suspend_user",outcome="failed"} 1`,
		`duplex_requests_total{lane="rest",op="get_time",outcome="done"} 1`,
		`duplex_request_seconds_count{lane="rest",op="get_time"} 1`,
	} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(page, `source="desk"`) {
		t.Error("a price by hand is watched like a source")
	}
	sources = nil // where none runs it is one
	_, page = d.do("GET", "/metrics", "")
	for _, line := range []string{
		`duplex_oracle_source_price{feed="gold",source="desk"} 78`,
		`duplex_oracle_source_fresh{feed="gold",source="desk"} 1`,
		`duplex_oracle_source_values_total{feed="gold",source="desk",verdict="taken"} 1`,
	} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if families["go_goroutines"] == nil || !strings.Contains(page, "duplex_client_order_id_bytes ") {
		t.Error("no runtime, or no id sets")
	}
}

func TestProfiles(t *testing.T) {
	d := start(t, nil)
	d.play([]want{
		{"GET", "/debug/pprof", "", 200, `"profile","trace",.*"heap"`},
		{"GET", "/debug/pprof/goroutine?debug=1", "", 200, `^goroutine profile: total \d+`},
		{"GET", "/debug/pprof/profile?seconds=1", "", 200, `^\x1f`},
	})
}
