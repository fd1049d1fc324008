package cluster

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Figures are what the metrics of a member show about etcd and the archive.
type Figures struct {
	EtcdBytes       int64         // size of etcd's database
	ArchiveNumber   uint64        // of the last group that the archive has synced
	ArchiveUnsynced int64         // bytes of groups that the archive has not synced
	ArchiveAge      time.Duration // since the oldest of them arrived
	Compacted       uint64        // number up to which this member has made etcd forget groups; 0: it has not
}

// Figures returns those of now.
func (c *Cluster) Figures() (f Figures) {
	f.EtcdBytes = c.etcd.Server.Backend().Size()
	f.Compacted = c.peers.compacted.Load()
	if l := c.log.Load(); l != nil {
		f.ArchiveNumber = l.archive.Synced()
		bytes, since := l.unsynced.now()
		if f.ArchiveUnsynced = bytes; !since.IsZero() {
			f.ArchiveAge = time.Since(since)
		}
	}
	return f
}

// walSyncName is etcd's own histogram of the syncs of its WAL, which it registers with the default
// registry of Prometheus.
const walSyncName = "etcd_disk_wal_fsync_duration_seconds"

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
