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
	"duplex/internal/metrics"
	"duplex/lanes/funding"
	"duplex/lanes/gate"
)

// metrics serves the venue's metrics (docs/rules/operation.md#metrics). It uses a registry
// of its own, so that metrics of dependencies do not appear. Durations and ages are in
// seconds.
func (l *lane) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collector{l}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	page := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setOp(r, "metrics")
		page.ServeHTTP(w, r)
	})
}

// collector reads the counts of the venue at each scrape.
type collector struct{ *lane }

var (
	sequencingTime = prometheus.NewDesc("duplex_sequencing_seconds", "Time from a group's first command to its responses", nil, nil)
	groupSizes     = prometheus.NewDesc("duplex_sequencer_group_size", "Commands in a group", nil, nil)
	syncHistogram  = prometheus.NewDesc("duplex_journal_sync_seconds", "Time to write and sync a group; on a member, the time to a majority", nil, nil)
	applyHistogram = prometheus.NewDesc("duplex_apply_seconds", "Time to apply a group", nil, nil)

	requests       = metrics.Counter("requests_total", "Requests by lane, operation and outcome; op is empty if the request failed before its operation was known", "lane", "op", "outcome")
	requestTime    = prometheus.NewDesc("duplex_request_duration_seconds", "Time from the head of a request to its response", []string{"lane", "op"}, nil)
	errorResponses = metrics.Counter("errors_total", "Error responses by code", "code")

	connections         = metrics.Gauge("connections", "Open connections of a listener", "listener")
	connectionsUnsigned = metrics.Gauge("connections_unsigned", "Open connections of a listener that have shown no valid signature or token", "listener")
	connectionPlaces    = metrics.Gauge("connection_places", "Connections that a listener serves at once", "listener")
	connectionsEvicted  = metrics.Counter("connections_evicted_total", "Connections that ended for new ones, by reason: full (the listener), network, family", "listener", "reason")
	connectionsRejected = metrics.Counter("connections_rejected_total", "Connections that a listener closed at once because it was full of requests in progress", "listener")
	unauthenticatedShed = metrics.Counter("unauthenticated_shed_total", "Requests that were shed before their caller was known, because their network or all of them took too much")
	handshakesFailed    = metrics.Counter("tls_handshakes_failed_total", "Connections of a listener that ended in the TLS handshake", "listener")
	certificateEnd      = metrics.Gauge("tls_certificate_end_seconds", "Unix time at which the first certificate in use ends; 0 without one")

	archiveAge      = metrics.Gauge("archive_age_seconds", "Time since the newest copy of the journal in the archive; 0 without an archive")
	archiveReleased = metrics.Gauge("archive_hold_released", "1 if the journal was trimmed although the archive lacked it; 0 without an archive")

	logDropped = metrics.Counter("log_dropped_total", "Lines of the log that were dropped, because they could not be written")

	fundingWaiting    = metrics.Gauge("funding_events_waiting", "Deposits and withdrawals of which the funding service has not been told, at most 1000; 0 without one")
	fundingAge        = metrics.Gauge("funding_age_seconds", "Age of the first of them; 0 if there is none")
	fundingDeliveries = metrics.Counter("funding_deliveries_total", "Requests that told the funding service an event, by outcome", "outcome")

	users              = metrics.Gauge("users", "Accounts")
	resting            = metrics.Gauge("resting_orders", "Orders in all books")
	idBytes            = metrics.Gauge("client_order_id_bytes", "Memory of the sets of used client order ids, in bytes")
	pendingWithdrawals = metrics.Gauge("withdrawals_pending", "Withdrawals that wait for an operator, to be decided or to be paid")
	oldestWithdrawal   = metrics.Gauge("withdrawal_oldest_pending_seconds", "Time since the last step of the one that has waited longest; 0 without one")
	pendingApprovals   = metrics.Gauge("approvals_pending", "Actions that wait for a second operator")
	markets            = metrics.Gauge("markets", "Market slots by the status of their current round", "status")
	indexAge           = metrics.Gauge("oracle_index_age_seconds", "Age of a feed's last index tick", "feed")
	indexPrice         = metrics.Gauge("oracle_index_price", "A feed's index in dollars, for display only", "feed")
	indexSources       = metrics.Gauge("oracle_index_sources", "Fresh sources behind a feed's last index tick", "feed")
	leastSources       = metrics.Gauge("oracle_index_min_sources", "Fresh sources that an index tick of a feed needs", "feed")
	indexSeconds       = metrics.Counter("oracle_index_seconds_total", "Index seconds of a feed by outcome: posted, slow or rejected when posted, or the reason for a missing index", "feed", "outcome")
	stale              = metrics.Gauge("oracle_feed_stale", "1 when a feed has no fresh index", "feed")
	open               = metrics.Gauge("oracle_session_open", "1 while a feed's session is open", "feed")
	calendarEnd        = metrics.Gauge("oracle_calendar_end_timestamp_seconds", "Close of the last session in the holiday calendar, after which the feeds with sessions stay closed")

	sourceAge        = metrics.Gauge("oracle_source_age_seconds", "Age of a source's last price", "feed", "source")
	sourceFresh      = metrics.Gauge("oracle_source_fresh", "1 when a source would count for an index tick now", "feed", "source")
	sourceUp         = metrics.Gauge("oracle_source_running", "1 while the adapter of a source runs", "feed", "source")
	sourceValues     = metrics.Counter("oracle_source_values_total", "Values of a source by verdict", "feed", "source", "verdict")
	sourcePrice      = metrics.Gauge("oracle_source_price", "A source's last price in dollars, for display only", "feed", "source")
	sourceMessages   = metrics.Counter("oracle_source_messages_total", "Messages received from a source", "feed", "source")
	sourceDropped    = metrics.Counter("oracle_source_dropped_total", "Values of a source that were not a price, by reason", "feed", "source", "reason")
	sourceReconnects = metrics.Counter("oracle_source_reconnects_total", "Reconnections of a source", "feed", "source")
	sourceJumps      = metrics.Counter("oracle_source_jumps_total", "Index ticks that excluded a source because its price was beyond the jump limit", "feed", "source")
	sourceOutliers   = metrics.Counter("oracle_source_outliers_total", "Index ticks that excluded a source because its price was too far from the median", "feed", "source")
)

// sequencerMetrics are those of the sequencer and of the journal.
var sequencerMetrics = metrics.Table[collector]{
	metrics.One(metrics.Counter("sequencer_groups_total", "Groups that this node has written to the log"), func(g collector) float64 { return float64(g.Venue.Engine.Stats().Groups.Load()) }),
	metrics.One(metrics.Counter("sequencer_commands_total", "Commands that this node has written to the log"), func(g collector) float64 { return float64(g.Venue.Engine.Stats().Commands.Load()) }),
	metrics.One(metrics.Counter("journal_bytes_total", "Bytes of commands written to the journal"), func(g collector) float64 { return float64(g.Venue.Engine.Stats().Bytes.Load()) }),
	metrics.One(metrics.Gauge("journal_sync_seconds_max", "Longest write and sync of a group since the start; on a member, the longest time to a majority"), func(g collector) float64 { return seconds(g.Venue.Engine.Stats().SyncMaxNs.Load()) }),
	metrics.One(metrics.Gauge("apply_seconds_max", "Longest apply of a group since the start"), func(g collector) float64 { return seconds(g.Venue.Engine.Stats().ApplyMaxNs.Load()) }),
	metrics.One(metrics.Counter("commands_shed_total", "Commands rejected before they were sequenced, because the queue was full or their time ran out"), func(g collector) float64 { return float64(g.Venue.Engine.Stats().Shed.Load()) }),
	metrics.One(metrics.Counter("snapshots_total", "Snapshots written"), func(g collector) float64 { return float64(g.Venue.Engine.Stats().Snapshots.Load()) }),
	metrics.One(metrics.Gauge("sequencer_queue_depth", "Commands waiting for a group"), func(g collector) float64 { return float64(g.Venue.Engine.QueueDepth()) }),
	metrics.One(metrics.Gauge("last_seq", "Sequence number of the last applied command"), func(g collector) float64 { return float64(g.Venue.Engine.Seq()) }),
	metrics.One(metrics.Counter("invariant_checks_total", "Commands after which the money invariant was checked and held"), func(g collector) float64 { return float64(g.Venue.Engine.Stats().InvariantChecks.Load()) }),
	metrics.One(metrics.Gauge("sequencer_stopped", "1 when the journal failed or the money invariant was violated: commands are no longer accepted"), func(g collector) float64 { return metrics.Bool(g.Venue.Engine.Err() != nil) }),
	metrics.One(metrics.Gauge("disk_nearly_full", "1 while placements are rejected because the disk is nearly full"), func(g collector) float64 { return metrics.Bool(g.Venue.Engine.DiskNearlyFull()) }),
	metrics.One(metrics.Gauge("ready", "1 when /readyz is 200"), func(g collector) float64 { return metrics.Bool(g.health().Ready) }),
}

// socketMetrics are those of the events lane.
var socketMetrics = metrics.Table[WebSocketStats]{
	metrics.One(metrics.Gauge("ws_connections", "Open WebSockets"), func(s WebSocketStats) float64 { return float64(s.Connections) }),
	metrics.One(metrics.Gauge("ws_subscriptions", "Subscriptions of all open WebSockets"), func(s WebSocketStats) float64 { return float64(s.Subscriptions) }),
	metrics.One(metrics.Gauge("ws_queued_bytes", "Bytes of frames in the send queues"), func(s WebSocketStats) float64 { return float64(s.QueuedBytes) }),
	metrics.One(metrics.Counter("ws_frames_total", "Frames of public channels encoded"), func(s WebSocketStats) float64 { return float64(s.Frames) }),
	metrics.One(metrics.Counter("ws_frames_queued_total", "Frames of public channels put into a send queue"), func(s WebSocketStats) float64 { return float64(s.Deliveries) }),
	metrics.Each(metrics.Counter("ws_conflations_total", "Send queues conflated because their reader had fallen behind: too many bytes, or the oldest too long", "cause"), func(s WebSocketStats, put func(float64, ...string)) {
		put(float64(s.ConflatedBytes), "bytes")
		put(float64(s.ConflatedAge), "age")
	}),
	metrics.Each(metrics.Counter("ws_closes_total", "WebSockets closed, by close code", "code"), func(s WebSocketStats, put func(float64, ...string)) {
		for code, n := range s.Closed {
			put(float64(n), strconv.Itoa(code))
		}
	}),
}

// Describe sends no descriptors, which makes the collector unchecked: the set of metrics
// depends on the venue.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g collector) Collect(out chan<- prometheus.Metric) {
	put := func(m metrics.Metric, v float64, labels ...string) { m.Put(out, v, labels...) }
	sequencerMetrics.Collect(g, out)
	g.collectHistograms(out)
	g.collectRequests(put, out)
	if g.WebSocketStats != nil {
		socketMetrics.Collect(g.WebSocketStats(), out)
	}
	g.collectMarkets(put)
	g.collectOracle(put)
	g.collectMirror(out)
	g.collectMember(out)
	if g.NodeMetrics != nil {
		g.NodeMetrics.Collect(out)
	}
}

// writeHistogram emits a histogram. Its values are divided by unit; from and last are the
// powers of two of the first and last bucket.
func writeHistogram(out chan<- prometheus.Metric, desc *prometheus.Desc, s *engine.Histogram, from, last int, unit float64, labels ...string) {
	count, sum, atMost := s.Read(from, last)
	buckets := map[float64]uint64{}
	for limit, n := range atMost {
		buckets[float64(limit)/unit] = n
	}
	out <- prometheus.MustNewConstHistogram(desc, count, float64(sum)/unit, buckets, labels...)
}

type emit func(m metrics.Metric, v float64, labels ...string)

func (g collector) collectHistograms(out chan<- prometheus.Metric) {
	s := g.Venue.Engine.Stats()
	writeHistogram(out, sequencingTime, &s.GroupLatency, 16, 34, 1e9) // from 65 µs
	writeHistogram(out, groupSizes, &s.GroupSizes, 0, 12, 1)
	writeHistogram(out, syncHistogram, &s.SyncLatency, 14, 34, 1e9) // from 16 µs
	writeHistogram(out, applyHistogram, &s.ApplyLatency, 10, 34, 1e9)
}

func (g collector) collectRequests(put emit, out chan<- prometheus.Metric) {
	g.Gate.Stats.Ops(func(lane, op string, o *gate.OpStats) {
		put(requests, float64(o.Succeeded.Load()), lane, op, "ok")
		put(requests, float64(o.Failed.Load()), lane, op, "error")
		writeHistogram(out, requestTime, &o.Latency, 16, 34, 1e9, lane, op) // from 65 µs to 17 s
	})
	for name, l := range g.Listeners {
		put(connections, float64(l.Conns()), name)
		put(connectionsUnsigned, float64(l.Unsigned()), name)
		put(connectionPlaces, float64(l.Places()), name)
		l.Evicted(func(reason string, n uint64) { put(connectionsEvicted, float64(n), name, reason) })
		put(connectionsRejected, float64(l.Rejected()), name)
		put(handshakesFailed, float64(l.FailedHandshakes()), name)
	}
	put(unauthenticatedShed, float64(g.Gate.UnauthenticatedShed()))
	end := time.Unix(0, 0)
	if g.CertificateEnd != nil {
		if first := g.CertificateEnd(); !first.IsZero() {
			end = first
		}
	}
	put(certificateEnd, float64(end.Unix()))
	var age time.Duration
	var released bool
	if g.Archive != nil {
		age, released = g.Archive()
	}
	put(archiveAge, age.Seconds())
	put(archiveReleased, metrics.Bool(released))
	put(logDropped, g.droppedLines())
	g.putFunding(put)
	g.Gate.Stats.Errors(func(code string, n uint64) { put(errorResponses, float64(n), code) })
}

// collectMarkets counts under the venue's lock and emits outside it, so that a slow scrape
// does not delay the sequencer.
func (g collector) collectMarkets(put emit) {
	var accounts, orders int
	var ids uint64
	var waiting, approvals int
	now := g.Venue.Config.Now()
	oldest := now // ns
	by := map[core.RoundStatus]int{core.Trading: 0, core.Frozen: 0, core.Proposed: 0, core.Settled: 0, core.Void: 0}
	g.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for range v.Users() {
			accounts++
		}
		orders, ids = v.Resting(), v.IDBytes()
		for w := range v.OpenWithdrawals(0) {
			if w.State != core.WithdrawalSent { // that waits for a bank
				waiting++
				oldest = min(oldest, w.Ts)
			}
		}
		for range v.PendingApprovals(now) {
			approvals++
		}
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok {
				by[s.Status]++
			}
		}
	})
	put(users, float64(accounts))
	put(resting, float64(orders))
	put(idBytes, float64(ids))
	put(pendingWithdrawals, float64(waiting))
	put(oldestWithdrawal, seconds(max(0, now-oldest)))
	put(pendingApprovals, float64(approvals))
	for status, n := range by {
		put(markets, float64(n), status.String())
	}
}

func (g collector) collectOracle(put emit) {
	now := g.Venue.Config.Now()
	for f := range core.Feed(core.Feeds) {
		var tick core.IndexTick
		var present, silent, inSession bool
		var rules core.Rules
		g.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
			tick, present, silent, inSession = v.Index(f)
			rules = v.Rules()
		})
		if present {
			put(indexAge, seconds(now-tick.Second*core.NsPerSec), f.String())
			put(indexPrice, float64(tick.Price)/1e8, f.String())
			put(indexSources, float64(tick.Count), f.String())
		}
		put(leastSources, float64(rules.LeastSources(f)), f.String())
		g.collectSeconds(put, f)
		put(stale, metrics.Bool(silent), f.String())
		put(open, metrics.Bool(inSession), f.String())
	}
	if g.Venue.Sessions != nil {
		put(calendarEnd, float64(g.Venue.Sessions.End())/1e9)
	}
	sources := g.sources(time.Unix(0, now))
	for i := range sources {
		g.collectSource(put, &sources[i])
	}
}

// collectSeconds emits the outcomes of the index seconds of a feed.
func (g collector) collectSeconds(put emit, f core.Feed) {
	if g.Index == nil {
		return
	}
	s := g.Index(f)
	put(indexSeconds, float64(s.Posted), f.String(), "posted")
	put(indexSeconds, float64(s.Late), f.String(), "slow")
	put(indexSeconds, float64(s.Failed), f.String(), "rejected")
	for gap, n := range s.Gaps {
		if gap := feed.Gap(gap); gap != feed.NoGap && gap != feed.Unknown {
			put(indexSeconds, float64(n), f.String(), gap.String())
		}
	}
}

// sources returns the running sources, or the prices by hand if no source runs. With
// running sources a price by hand is not reported, since it is posted once and would only
// age.
func (l *lane) sources(now time.Time) []feeds.State {
	if l.Sources != nil {
		if run := l.Sources(); len(run) > 0 {
			return run
		}
	}
	return l.ManualOracle.States(now)
}

func (g collector) collectSource(put emit, s *feeds.State) {
	of, name := s.Feed.String(), s.Source.Name
	if s.Source.Price > 0 {
		put(sourceAge, s.Age.Seconds(), of, name)
		put(sourcePrice, float64(s.Source.Price)/1e8, of, name)
	}
	put(sourceFresh, metrics.Bool(s.Fresh), of, name)
	put(sourceUp, metrics.Bool(s.Up), of, name)
	put(sourceReconnects, float64(s.Reconnects()), of, name)
	put(sourceMessages, float64(s.Counts.Messages), of, name)
	for reason, n := range s.Counts.Values {
		if feeds.DropReason(reason) != feeds.NotDropped {
			put(sourceDropped, float64(n), of, name, feeds.DropReason(reason).String())
		}
	}
	put(sourceOutliers, float64(s.Source.Outliers), of, name)
	put(sourceJumps, float64(s.Source.Jumps), of, name)
	for v, n := range s.Source.Counts {
		put(sourceValues, float64(n), of, name, feed.Verdict(v).String())
	}
	put(sourceValues, float64(s.FutureValues), of, name, "future")
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// putFunding puts the metrics of the funding service.
func (g collector) putFunding(put emit) {
	var x funding.Stats
	if g.Funding != nil {
		x = g.Funding()
	}
	age := 0.0
	if !x.Oldest.IsZero() {
		age = max(0, g.Venue.Config.Wall().Time().Sub(x.Oldest).Seconds())
	}
	put(fundingWaiting, float64(x.Waiting))
	put(fundingAge, age)
	put(fundingDeliveries, float64(x.Delivered), "delivered")
	put(fundingDeliveries, float64(x.Failed), "failed")
}

// droppedLines returns how many lines of the log were dropped.
func (g collector) droppedLines() float64 {
	if g.LogDropped == nil {
		return 0
	}
	return float64(g.LogDropped())
}
