package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds"
	"duplex/lanes/gate"
)

// metrics serves a registry of its own, so that nothing a dependency registers
// shows. What is counted lives where it happens; it is collected here as it is at
// the scrape. Times are in seconds, ages too.
func (l *lane) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(gauges{l}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	page := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		named(r, "metrics")
		page.ServeHTTP(w, r)
	})
}

// gauges reads the venue when it is scraped.
type gauges struct{ *lane }

// metric is one name with its help and labels.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("duplex_"+name, help, labels, nil), prometheus.CounterValue}
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("duplex_"+name, help, labels, nil), prometheus.GaugeValue}
}

var (
	groups     = counter("sequencer_groups_total", "Groups written to the log")
	commands   = counter("sequencer_commands_total", "Commands written to the log")
	logBytes   = counter("log_bytes_total", "Bytes of commands written to the log")
	syncTime   = counter("log_sync_seconds_total", "Time spent writing and syncing groups")
	syncMax    = gauge("log_sync_seconds_max", "The longest write and sync of a group since the start")
	applyTime  = counter("apply_seconds_total", "Time spent applying groups")
	applyMax   = gauge("apply_seconds_max", "The longest apply of a group since the start")
	shed       = counter("shed_total", "Commands refused before the log, under load or out of time")
	snapshots  = counter("snapshots_total", "Snapshots written")
	queueDepth = gauge("queue_depth", "Commands waiting to be sealed into a group")
	seq        = gauge("seq", "Sequence number of the last applied command")
	checks     = counter("invariant_checks_total", "Commands after which the sums of all money and contracts agreed")
	stopped    = gauge("sequencer_stopped", "1 when the log failed or the sums did not agree: nothing is taken any more")
	cramped    = gauge("disk_full", "1 while placements are refused since the disk is nearly full")
	ready      = gauge("ready", "1 when /readyz is 200")

	sequenced   = prometheus.NewDesc("duplex_sequencing_seconds", "Time from a group's first command to its answers", nil, nil)
	groupSizes  = prometheus.NewDesc("duplex_sequencer_group_size", "Commands in a group", nil, nil)
	syncSpread  = prometheus.NewDesc("duplex_log_sync_seconds", "Time to write and sync a group", nil, nil)
	applySpread = prometheus.NewDesc("duplex_apply_seconds", "Time to apply a group", nil, nil)

	requests    = counter("requests_total", "Requests by lane, operation and outcome; op is empty where none was reached", "lane", "op", "outcome")
	requestTime = prometheus.NewDesc("duplex_request_seconds", "Time from a request's head to its answer", []string{"lane", "op"}, nil)
	refusals    = counter("refusals_total", "Refusals by error code", "code")

	wsConnections   = gauge("ws_connections", "Open WebSockets")
	wsSubscriptions = gauge("ws_subscriptions", "Their subscriptions")
	wsQueued        = gauge("ws_queued_bytes", "Bytes of frames that wait for their readers")
	wsFrames        = counter("ws_frames_total", "Frames encoded")
	wsDeliveries    = counter("ws_deliveries_total", "Frames handed to a reader's queue")
	wsThinned       = counter("ws_conflations_total", "Queues thinned because their reader was behind")
	wsClosed        = counter("ws_closes_total", "Connections closed, by code", "code")

	users    = gauge("users", "Accounts")
	resting  = gauge("resting_orders", "Orders in all books")
	idBytes  = gauge("client_order_id_bytes", "Memory of the sets of used client order ids")
	rounds   = gauge("rounds", "Market slots by the status of their present round", "status")
	indexAge = gauge("oracle_index_age_seconds", "Age of a feed's last index tick", "feed")
	stale    = gauge("oracle_stale", "1 when a feed has no fresh index", "feed")
	open     = gauge("oracle_session_open", "1 while a feed's session is open", "feed")

	sourceAge      = gauge("oracle_source_age_seconds", "Age of a source's last price", "feed", "source")
	sourceFresh    = gauge("oracle_source_fresh", "1 when a source counts for a tick made now", "feed", "source")
	sourceUp       = gauge("oracle_source_up", "1 while a source is being run", "feed", "source")
	sourceRuns     = counter("oracle_source_runs_total", "How often a source was run", "feed", "source")
	sourceValues   = counter("oracle_source_values_total", "Values of a source by what became of them", "feed", "source", "verdict")
	sourcePrice    = gauge("oracle_source_price", "A source's last price, for people to look at", "feed", "source")
	sourceMessages = counter("oracle_source_messages_total", "Messages of a source", "feed", "source")
	sourceDrops    = counter("oracle_source_drops_total", "Values of a source that were no price, by reason", "feed", "source", "reason")
	sourceAgain    = counter("oracle_source_reconnects_total", "How often a source was connected again", "feed", "source")
	sourceOutliers = counter("oracle_source_outliers_total", "Ticks a source was left out of for being off the median", "feed", "source")
)

// Describe names nothing in advance: what there is depends on the venue.
func (gauges) Describe(chan<- *prometheus.Desc) {}

func (g gauges) Collect(out chan<- prometheus.Metric) {
	put := func(m metric, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
	}
	g.sequencer(put, out)
	g.gateway(put, out)
	g.sockets(put)
	g.market(put)
	g.oracle(put)
}

// spread tells a histogram whose values are counted in 1/unit.
func spread(out chan<- prometheus.Metric, desc *prometheus.Desc, s *engine.Spread, from, last int, unit float64, labels ...string) {
	count, sum, atMost := s.Read(from, last)
	buckets := map[float64]uint64{}
	for limit, n := range atMost {
		buckets[float64(limit)/unit] = n
	}
	out <- prometheus.MustNewConstHistogram(desc, count, float64(sum)/unit, buckets, labels...)
}

type putter func(m metric, v float64, labels ...string)

func (g gauges) sequencer(put putter, out chan<- prometheus.Metric) {
	e := g.Venue.Engine
	s := e.Stats()
	put(groups, float64(s.Groups.Load()))
	put(commands, float64(s.Commands.Load()))
	put(logBytes, float64(s.Bytes.Load()))
	put(syncTime, seconds(s.SyncNs.Load()))
	put(syncMax, seconds(s.SyncMaxNs.Load()))
	put(applyTime, seconds(s.ApplyNs.Load()))
	put(applyMax, seconds(s.ApplyMaxNs.Load()))
	put(shed, float64(s.Shed.Load()))
	put(snapshots, float64(s.Snapshots.Load()))
	put(queueDepth, float64(e.Depth()))
	spread(out, sequenced, &s.Sequenced, 16, 34, 1e9) // from 65 µs
	spread(out, groupSizes, &s.GroupSizes, 0, 12, 1)
	spread(out, syncSpread, &s.Syncs, 14, 34, 1e9) // from 16 µs
	spread(out, applySpread, &s.Applies, 10, 34, 1e9)
	put(seq, float64(e.Seq()))
	put(checks, float64(s.Checked.Load()))
	put(stopped, flag(e.Err() != nil))
	put(cramped, flag(e.Cramped()))
	put(ready, flag(g.health().Ready))
}

func (g gauges) gateway(put putter, out chan<- prometheus.Metric) {
	g.Gate.Stats.Ops(func(lane, op string, o *gate.OpStats) {
		put(requests, float64(o.Done.Load()), lane, op, "done")
		put(requests, float64(o.Failed.Load()), lane, op, "failed")
		spread(out, requestTime, &o.Took, 16, 34, 1e9, lane, op) // from 65 µs to 17 s
	})
	g.Gate.Stats.Refusals(func(code string, n uint64) { put(refusals, float64(n), code) })
}

func (g gauges) sockets(put putter) {
	if g.Sockets == nil {
		return
	}
	s := g.Sockets()
	put(wsConnections, float64(s.Connections))
	put(wsSubscriptions, float64(s.Subscriptions))
	put(wsQueued, float64(s.QueuedBytes))
	put(wsFrames, float64(s.Frames))
	put(wsDeliveries, float64(s.Deliveries))
	put(wsThinned, float64(s.Thinned))
	for code, n := range s.Closed {
		put(wsClosed, float64(n), strconv.Itoa(code))
	}
}

// market counts under the venue's lock and tells outside it: a slow scrape must not
// hold up the sequencer.
func (g gauges) market(put putter) {
	var accounts, orders int
	var ids uint64
	by := map[core.RoundStatus]int{core.Trading: 0, core.Frozen: 0, core.Proposed: 0, core.Settled: 0, core.Void: 0}
	g.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for range v.Users() {
			accounts++
		}
		orders, ids = v.Resting(), v.IDBytes()
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Slot(m); ok {
				by[s.Status]++
			}
		}
	})
	put(users, float64(accounts))
	put(resting, float64(orders))
	put(idBytes, float64(ids))
	for status, n := range by {
		put(rounds, float64(n), status.String())
	}
}

func (g gauges) oracle(put putter) {
	now := g.Venue.Terms.Now()
	for f := range core.Feed(core.Feeds) {
		var tick core.IndexTick
		var heard, silent, inSession bool
		g.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { tick, heard, silent, inSession = v.Index(f) })
		if heard {
			put(indexAge, seconds(now-tick.Second*core.NsPerSec), f.String())
		}
		put(stale, flag(silent), f.String())
		put(open, flag(inSession), f.String())
	}
	sources := g.sources(time.Unix(0, now))
	for i := range sources {
		g.source(put, &sources[i])
	}
}

// sources are those that run; where none does, prices come by hand, and those posted so
// are the sources. Beside others a price by hand is no source to watch: it is posted
// once, and not expected again.
func (l *lane) sources(now time.Time) []feeds.State {
	if l.Sources != nil {
		if run := l.Sources(); len(run) > 0 {
			return run
		}
	}
	return l.Desk.States(now)
}

func (g gauges) source(put putter, s *feeds.State) {
	of, name := s.Feed.String(), s.Source.Name
	if s.Source.Price > 0 {
		put(sourceAge, s.Age.Seconds(), of, name)
		put(sourcePrice, float64(s.Source.Price)/1e8, of, name)
	}
	put(sourceFresh, flag(s.Fresh), of, name)
	put(sourceUp, flag(s.Up), of, name)
	put(sourceRuns, float64(s.Runs), of, name)
	put(sourceAgain, float64(s.Reconnects()), of, name)
	put(sourceMessages, float64(s.Heard.Messages), of, name)
	for why, n := range s.Heard.Values {
		if feeds.Drop(why) != feeds.Sound {
			put(sourceDrops, float64(n), of, name, feeds.Drop(why).String())
		}
	}
	put(sourceOutliers, float64(s.Source.Outliers), of, name)
	for v, n := range s.Source.Counts {
		put(sourceValues, float64(n), of, name, feed.Verdict(v).String())
	}
	put(sourceValues, float64(s.Future), of, name, "future")
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
