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

var (
	mirrorSeq     = metrics.Gauge("mirror_seq", "Sequence number of the last command whose rows are in the mirror")
	mirrorLagSeq  = metrics.Gauge("mirror_lag_seq", "Commands whose rows are not in the mirror yet")
	mirrorLag     = metrics.Gauge("mirror_lag_seconds", "Age, by the stamps of the journal, of the first group that is not in the mirror yet")
	mirrorSince   = metrics.Gauge("mirror_since_seq", "Sequence number after which the history of this node is whole; 0 for all of it")
	mirrorLacks   = metrics.Gauge("mirror_history_behind", "1 while another node may know more of the history, so that lists which could need that are history_behind")
	mirrorWriter  = metrics.Gauge("mirror_writer", "1 if this node writes the mirror's database, 0 if it is not open or another node writes it")
	mirrorRows    = metrics.Counter("mirror_rows_total", "Rows written to the mirror", "table")
	mirrorErrors  = metrics.Counter("mirror_errors_total", "Failed attempts to open the mirror's database or to write to it")
	mirrorHeld    = metrics.Gauge("mirror_held_bytes", "Bytes of the journal that were kept for the mirror alone when it was trimmed last")
	mirrorWAL     = metrics.Gauge("mirror_wal_bytes", "Size of the WAL of the mirror's SQLite database, which grows behind a read that lasts; 0 for PostgreSQL")
	mirrorReads   = metrics.Counter("mirror_reads_total", "Reads of the mirror by route and outcome", "route", "outcome")
	mirrorPaused  = metrics.Counter("mirror_paused_seconds_total", "Time for which the mirror left the processor to the venue")
	mirrorStopped = metrics.Gauge("mirror_stopped", "1 when the mirror has stopped for good; the log names the reason")
	mirrorFreed   = metrics.Gauge("mirror_hold_released", "1 when the journal was trimmed although the mirror had not read it: only dx mirror rebuild restores the mirror")

	mirrorCommit = prometheus.NewDesc("duplex_mirror_commit_seconds", "Time to commit a batch of rows", nil, nil)
)

// collectMirror emits nothing if the venue has no mirror.
func (g collector) collectMirror(put emit, out chan<- prometheus.Metric) {
	if g.Mirror == nil {
		return
	}
	last := g.Venue.Engine.Seq()
	seq, _ := g.Mirror.Written()
	s := g.Mirror.Stats()
	put(mirrorSeq, float64(seq))
	put(mirrorLagSeq, float64(max(last, seq)-seq))
	put(mirrorLag, g.Mirror.Lag().Seconds())
	put(mirrorWriter, metrics.Bool(g.Mirror.Writer()))
	if since, ok := g.Mirror.Since(); ok {
		put(mirrorSince, float64(since))
		put(mirrorLacks, metrics.Bool(!g.Mirror.Complete()))
	}
	for table, n := range s.Rows {
		put(mirrorRows, float64(n), table)
	}
	put(mirrorErrors, float64(s.Errors))
	put(mirrorHeld, float64(s.HeldBytes))
	put(mirrorWAL, float64(s.WALBytes))
	for _, r := range s.Reads {
		put(mirrorReads, float64(r.Count), r.Route, r.Outcome)
	}
	put(mirrorPaused, s.PausedSeconds)
	put(mirrorStopped, metrics.Bool(g.Mirror.Err() != nil))
	put(mirrorFreed, metrics.Bool(g.Mirror.Released()))
	out <- prometheus.MustNewConstSummary(mirrorCommit, s.Commits, s.CommitSeconds, nil)
}
