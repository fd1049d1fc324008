package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"duplex/core/history"
	"duplex/internal/metrics"
)

// Mirror is what the metrics read of the mirror; *mirror.Mirror is one.
type Mirror interface {
	Written() (seq uint64, stamp int64)
	Lag() time.Duration
	Stats() history.Stats
	Err() error     // why it has stopped for good, or nil
	Released() bool // whether the journal was trimmed although the mirror had not read it
	Since() (seq uint64, ok bool)
	Writer() bool   // it writes its database, and no other node
	Complete() bool // no other node has rows from before Since
}

// mirrorReading is what one scrape has read of the mirror.
type mirrorReading struct {
	Mirror
	history.Stats
	last uint64 // seq of the venue
}

func (r mirrorReading) seq() uint64 { seq, _ := r.Written(); return seq }

// mirrorMetrics are those of a venue with a mirror.
var mirrorMetrics = metrics.Table[mirrorReading]{
	metrics.One(metrics.Gauge("mirror_seq", "Sequence number of the last command whose rows are in the mirror"), func(r mirrorReading) float64 { return float64(r.seq()) }),
	metrics.One(metrics.Gauge("mirror_lag_seq", "Commands whose rows are not in the mirror yet"), func(r mirrorReading) float64 { return float64(r.last - min(r.last, r.seq())) }),
	metrics.One(metrics.Gauge("mirror_lag_seconds", "Age, by the stamps of the journal, of the first group that is not in the mirror yet"), func(r mirrorReading) float64 { return r.Lag().Seconds() }),
	metrics.One(metrics.Gauge("mirror_writer", "1 if this node writes the mirror's database, 0 if it is not open or another node writes it"), func(r mirrorReading) float64 { return metrics.Bool(r.Writer()) }),
	metrics.Each(metrics.Gauge("mirror_since_seq", "Sequence number after which the history of this node is whole; 0 for all of it"), func(r mirrorReading, put func(float64, ...string)) {
		if since, ok := r.Since(); ok {
			put(float64(since))
		}
	}),
	metrics.Each(metrics.Gauge("mirror_history_behind", "1 while another node may know more of the history, so that lists which could need that are history_behind"), func(r mirrorReading, put func(float64, ...string)) {
		if _, ok := r.Since(); ok {
			put(metrics.Bool(!r.Complete()))
		}
	}),
	metrics.Each(metrics.Counter("mirror_rows_total", "Rows written to the mirror", "table"), func(r mirrorReading, put func(float64, ...string)) {
		for table, n := range r.Rows {
			put(float64(n), table)
		}
	}),
	metrics.One(metrics.Counter("mirror_errors_total", "Failed attempts to open the mirror's database or to write to it"), func(r mirrorReading) float64 { return float64(r.Errors) }),
	metrics.One(metrics.Gauge("mirror_held_bytes", "Bytes of the journal that were kept for the mirror alone when it was trimmed last"), func(r mirrorReading) float64 { return float64(r.HeldBytes) }),
	metrics.One(metrics.Gauge("mirror_wal_bytes", "Size of the WAL of the mirror's SQLite database, which grows behind a read that lasts; 0 for PostgreSQL"), func(r mirrorReading) float64 { return float64(r.WALBytes) }),
	metrics.Each(metrics.Counter("mirror_reads_total", "Reads of the mirror by route and outcome", "route", "outcome"), func(r mirrorReading, put func(float64, ...string)) {
		for _, x := range r.Reads {
			put(float64(x.Count), x.Route, x.Outcome)
		}
	}),
	metrics.One(metrics.Counter("mirror_paused_seconds_total", "Time for which the mirror left the processor to the venue"), func(r mirrorReading) float64 { return r.PausedSeconds }),
	metrics.One(metrics.Gauge("mirror_stopped", "1 when the mirror has stopped for good; the log names the reason"), func(r mirrorReading) float64 { return metrics.Bool(r.Err() != nil) }),
	metrics.One(metrics.Gauge("mirror_hold_released", "1 when the journal was trimmed although the mirror had not read it: only dx mirror rebuild restores the mirror"), func(r mirrorReading) float64 { return metrics.Bool(r.Released()) }),
}

var mirrorCommit = prometheus.NewDesc("duplex_mirror_commit_seconds", "Time to commit a batch of rows", nil, nil)

// collectMirror emits nothing if the venue has no mirror.
func (g collector) collectMirror(out chan<- prometheus.Metric) {
	if g.Mirror == nil {
		return
	}
	r := mirrorReading{g.Mirror, g.Mirror.Stats(), g.Venue.Engine.Seq()}
	mirrorMetrics.Collect(r, out)
	out <- prometheus.MustNewConstSummary(mirrorCommit, r.Commits, r.CommitSeconds, nil)
}
