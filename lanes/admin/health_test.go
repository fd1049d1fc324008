package admin

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/feeds"
	"duplex/lanes/lanetest"
)

func (d *testOperator) probe(target string) string {
	d.T.Helper()
	status, _, body := d.send("GET", target, "", nil)
	var h health
	d.read(body, &h)
	if h.Environment != "live" || h.Oracle != "manual" {
		d.T.Errorf("%s: %s, want environment live and the manual oracle", target, body)
	}
	return fmt.Sprintf("%d %s %s", status, strings.Join(h.Reasons, ","), strings.Join(h.StaleFeeds, ","))
}

func TestReadiness(t *testing.T) {
	var extra error
	d := newTestOperator(t, func(o *Options) { o.ExtraReadiness = func() error { return extra } })
	check := func(when, ready, live string) {
		t.Helper()
		if got := d.probe("/readyz"); got != ready {
			t.Errorf("%s: /readyz %q, want %q", when, got, ready)
		}
		if got := d.probe("/livez")[:3]; got != live {
			t.Errorf("%s: /livez %s, want %s", when, got, live)
		}
	}
	check("open", "200  ", "200")

	d.Server.Submit(&core.SetSession{Feed: core.Gold, Open: true})
	check("gold is stale", "200  gold", "200")

	d.advance(lanetest.StaleAfter+time.Second, func(v *venue.Venue) bool { _, _, stale, _ := v.Index(core.BTC); return stale })
	check("all feeds are stale", "503 oracle_stale BTC,gold", "200")

	d.do("POST", "/admin/oracle/ticks", `{"feed":0,"source":"a","price":"6500000000000"}`)
	check("BTC is fresh again", "200  gold", "200")

	extra = errors.New("calendar_ends")
	check("ExtraReadiness fails", "503 calendar_ends gold", "200")

	extra = nil
	d.Engine.Drain()
	check("draining", "503 draining gold", "200")
	d.runCases([]want{
		{"POST", "/admin/users", `{"name":"late"}`, 503, code("draining")},
		{"GET", "/admin/users", "", 200, `"users":\[`},
	})
}

// TestReadyOnANearlyFullDisk checks that a nearly full disk is a warning and a metric and
// leaves the venue ready for cancels, while placements and snapshots are shed.
func TestReadyOnANearlyFullDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	d := newTestOperator(t, nil, func(o *engine.Options) { o.Free = func() (uint64, error) { return free.Load(), nil } })
	d.FreezeClock() // prices stay fresh
	waitForWarning := func(want bool) string {
		t.Helper()
		for end := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) { // the free space is cached for a while
			status, _, body := d.send("GET", "/readyz", "", nil)
			var h health
			d.read(body, &h)
			if status != 200 || !h.Ready || len(h.Reasons) > 0 {
				t.Fatalf("/readyz on a nearly full disk: %d %s, want 200, ready without reasons", status, body)
			}
			if (len(h.Warnings) == 1 && h.Warnings[0] == "disk_full") == want {
				return body
			}
			if time.Now().After(end) {
				t.Fatalf("no such warnings within 3 min: %s", body)
			}
		}
	}
	if body := waitForWarning(false); !strings.Contains(body, `"warnings":[]`) {
		t.Error(body)
	}
	order := d.Server.Submit(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 4000, Qty: 1})
	free.Store(1 << 20)
	waitForWarning(true)
	if _, err := d.Engine.Submit(t.Context(), &core.PlaceOrder{User: 1, ClientID: 2, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 4000, Qty: 1}); !errors.Is(err, engine.ErrShed) {
		t.Errorf("a placement: %v", err)
	}
	d.Server.Submit(&core.CancelOrder{User: 1, Order: core.OrderID(order.Stamp.Seq)})
	d.runCases([]want{
		{"POST", "/admin/snapshot", "", 503, code("shed")},
		{"GET", "/metrics", "", 200, `(?s)duplex_disk_nearly_full 1\n.*duplex_ready 1\n`},
	})
	free.Store(1 << 40)
	waitForWarning(false)
	d.runCases([]want{{"POST", "/admin/snapshot", "", 200, `"seq"`}})
}

func TestMetrics(t *testing.T) {
	sources := []feeds.State{{
		Feed: core.Gold, Source: feed.SourceState{Name: "east", Price: 1, Outliers: 2, Counts: [feed.Verdicts]uint64{5, 1}}, Fresh: true, Age: 1500 * time.Millisecond, Up: true, Runs: 3,
	}}
	d := newTestOperator(t, func(o *Options) { o.Sources = func() []feeds.State { return sources } })
	d.do("POST", "/admin/oracle/ticks", `{"feed":1,"source":"manual","price":"7800000000"}`)
	d.Server.Submit(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Type: core.Limit, Tick: 5000, Qty: 10})
	d.do("POST", "/admin/users/9/suspend", "")
	d.Call(d.NewKey(1, core.ScopeRead), "GET", "/v1/time", "")
	_, page := d.do("GET", "/metrics", "")
	hasLines := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(page, "\n"+line+"\n") {
				t.Errorf("no line %s", line)
			}
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sequencer_groups_total", "journal_sync_seconds", "apply_seconds_max", "apply_seconds", "sequencer_queue_depth", "commands_shed_total", "oracle_index_age_seconds", "request_duration_seconds", "sequencing_seconds", "invariant_checks_total"} {
		if families["duplex_"+name] == nil {
			t.Errorf("no %s", name)
		}
	}
	hasLines(
		"duplex_users 2",
		"duplex_ready 1",
		"duplex_sequencer_stopped 0",
		"duplex_resting_orders 1",
		`duplex_markets{status="trading"} 3`,
		`duplex_markets{status="void"} 0`,
		`duplex_oracle_feed_stale{feed="BTC"} 0`,
		`duplex_oracle_feed_stale{feed="WTI"} 1`,
		`duplex_oracle_session_open{feed="gold"} 0`,
		`duplex_oracle_source_age_seconds{feed="gold",source="east"} 1.5`,
		`duplex_oracle_source_values_total{feed="gold",source="east",verdict="zero"} 1`,
		`duplex_oracle_source_outliers_total{feed="gold",source="east"} 2`,
		`duplex_errors_total{code="unknown_user"} 1`,
		`duplex_requests_total{lane="admin",op="admin_suspend_user",outcome="error"} 1`,
		`duplex_requests_total{lane="rest",op="get_time",outcome="ok"} 1`,
		`duplex_request_duration_seconds_count{lane="rest",op="get_time"} 1`,
	)
	if strings.Contains(page, `source="manual"`) {
		t.Error("a price by hand is reported beside running sources")
	}
	sources = nil // without running sources, prices by hand are reported
	_, page = d.do("GET", "/metrics", "")
	hasLines(
		`duplex_oracle_source_price{feed="gold",source="manual"} 78`,
		`duplex_oracle_source_fresh{feed="gold",source="manual"} 1`,
		`duplex_oracle_source_values_total{feed="gold",source="manual",verdict="`+feed.Verdict(0).String()+`"} 1`,
	)
	if families["go_goroutines"] == nil || !strings.Contains(page, "duplex_client_order_id_bytes ") {
		t.Error("no metrics of the Go runtime or of the client order ids")
	}
}

func TestProfiles(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"GET", "/debug/pprof", "", 200, `"profile","trace",.*"heap"`},
		{"GET", "/debug/pprof/goroutine?debug=1", "", 200, `^goroutine profile: total \d+`},
		{"GET", "/debug/pprof/profile?seconds=1", "", 200, `^\x1f`},
	})
}
