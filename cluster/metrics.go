package cluster

import (
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"duplex/internal/metrics"
)

// memberMetrics are those of a member that the engine does not know (docs/rules/operation.md#member-states).
var memberMetrics = metrics.Table[*Cluster]{
	metrics.Each(metrics.Gauge("cluster_peer_rtt_seconds", "Round trip to another member's follow port, the quickest of the last questions", "peer"), func(c *Cluster, put func(float64, ...string)) {
		for _, h := range c.peers.statuses() {
			put(h.rtt.Seconds(), h.Name)
		}
	}),
	metrics.Each(metrics.Gauge("cluster_clock_offset_seconds", "Clock of another member, ahead of the clock of this one", "peer"), func(c *Cluster, put func(float64, ...string)) {
		for _, h := range c.peers.statuses() {
			put(h.offset.Seconds(), h.Name)
		}
	}),
	metrics.One(metrics.Gauge("cluster_archive_unsynced_bytes", "Bytes of groups that the archive of this member has not synced"), func(c *Cluster) float64 {
		bytes, _ := c.unsynced()
		return float64(bytes)
	}),
	metrics.One(metrics.Gauge("cluster_archive_unsynced_seconds", "Time since the oldest group arrived that the archive has not synced; 0 if there is none"), func(c *Cluster) float64 {
		if _, since := c.unsynced(); !since.IsZero() {
			return time.Since(since).Seconds()
		}
		return 0
	}),
	metrics.One(metrics.Gauge("cluster_archive_number", "Number of the last group that the archive of this member has synced"), func(c *Cluster) float64 {
		if l := c.log.Load(); l != nil {
			return float64(l.archive.Synced())
		}
		return 0
	}),
	metrics.One(metrics.Gauge("cluster_etcd_db_bytes", "Size of etcd's database on this member"), func(c *Cluster) float64 { return float64(c.etcd.Server.Backend().Size()) }),
	metrics.One(metrics.Gauge("cluster_compacted_number", "Number of the group up to which this member, as the leader, made etcd forget groups; 0 if it never did"), func(c *Cluster) float64 { return float64(c.peers.compacted.Load()) }),
}

// followerMetrics are those of a follower (docs/rules/operation.md#followers).
var followerMetrics = metrics.Table[*Follower]{
	metrics.One(metrics.Gauge("cluster_follow_lag_groups", "Groups that this follower knows of and has not received"), func(f *Follower) float64 {
		groups, _, _ := f.Lag()
		return float64(groups)
	}),
	metrics.One(metrics.Gauge("cluster_follow_beat_age_seconds", "Age of what this follower knows of the venue; +Inf before the first beat"), func(f *Follower) float64 {
		if _, age, never := f.Lag(); !never {
			return age.Seconds()
		}
		return math.Inf(1)
	}),
	metrics.One(metrics.Counter("cluster_follow_begun_total", "Streams that this follower has begun to read"), func(f *Follower) float64 { return float64(f.attempts.Load()) }),
	metrics.One(metrics.Counter("cluster_follow_rejected_total", "Streams that this follower has rejected, because they do not continue what it has"), func(f *Follower) float64 { return float64(f.rejected.Load()) }),
}

// portOfNode is what a member and a follower tell of their ports towards the others.
type portOfNode interface {
	FollowStats() FollowStats
	CertificateEnds() (own, ca int64) // ns since 1970; 0 without certificates
}

// nodeMetrics are those of both: of the follow port, and of the certificates towards the others.
var nodeMetrics = metrics.Table[portOfNode]{
	metrics.One(metrics.Gauge("cluster_follow_streams", "Streams of the log that other nodes read from this one"), func(n portOfNode) float64 { return float64(n.FollowStats().Streams) }),
	metrics.One(metrics.Counter("cluster_follow_cut_total", "Streams of the log that this node has ended, because the other node was too slow"), func(n portOfNode) float64 { return float64(n.FollowStats().Cut) }),
	metrics.Each(metrics.Gauge("cluster_certificate_end_seconds", "Unix time at which the certificate that this node uses towards the others ends, and that of its authority", "certificate"), func(n portOfNode, put func(float64, ...string)) {
		if own, ca := n.CertificateEnds(); own > 0 {
			put(float64(own)/1e9, "node")
			put(float64(ca)/1e9, "ca")
		}
	}),
}

// Metrics are those of the member that the engine does not know.
func (c *Cluster) Metrics() prometheus.Collector {
	return metrics.Collector(func(out chan<- prometheus.Metric) {
		memberMetrics.Collect(c, out)
		nodeMetrics.Collect(c, out)
		if s, err := ReadWALSyncs(); err == nil {
			out <- prometheus.MustNewConstHistogram(walSyncs, s.Count, s.Sum, s.AtMost)
		} else {
			out <- prometheus.NewInvalidMetric(walSyncs, err)
		}
	})
}

// Metrics are those of the follower that the engine does not know.
func (f *Follower) Metrics() prometheus.Collector {
	return metrics.Collector(func(out chan<- prometheus.Metric) {
		followerMetrics.Collect(f, out)
		nodeMetrics.Collect(f, out)
	})
}

// unsynced returns the bytes of groups that the archive has not synced, and when the oldest of them arrived.
func (c *Cluster) unsynced() (bytes int64, since time.Time) {
	if l := c.log.Load(); l != nil {
		return l.unsynced.now()
	}
	return 0, since
}

// walSyncName is etcd's own histogram of the syncs of its WAL, which it registers with the default
// registry of Prometheus.
const walSyncName = "etcd_disk_wal_fsync_duration_seconds"

var walSyncs = prometheus.NewDesc("duplex_cluster_etcd_wal_fsync_seconds", "Time of a sync of etcd's write-ahead log", nil, nil)

// WALSyncs is the time that the syncs of etcd's WAL took since the start, in seconds.
type WALSyncs struct {
	Count  uint64
	Sum    float64
	AtMost map[float64]uint64 // by limit
}

var errNoSyncs = errors.New("etcd has no histogram of its syncs")

// ReadWALSyncs reads etcd's histogram.
func ReadWALSyncs() (s WALSyncs, err error) {
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		return s, err
	}
	for _, f := range families {
		if f.GetName() != walSyncName || f.GetType() != dto.MetricType_HISTOGRAM || len(f.GetMetric()) != 1 {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		s.Count, s.Sum, s.AtMost = h.GetSampleCount(), h.GetSampleSum(), map[float64]uint64{}
		for _, b := range h.GetBucket() {
			s.AtMost[b.GetUpperBound()] = b.GetCumulativeCount()
		}
		return s, nil
	}
	return s, errNoSyncs
}
