package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"duplex/core/engine"
	"duplex/server/cluster"
)

// The metrics of a member of several machines (docs/rules/operation.md#member-states). A single
// machine has none of them.
var (
	clusterState     = gauge("cluster_state", "1 for the state of this member, 0 for the others", "state")
	clusterMembers   = gauge("cluster_members", "Members by role: voter, and up for the voters that this member reaches", "role")
	clusterLeader    = gauge("cluster_is_leader", "1 while this member has the lead")
	clusterChanges   = counter("cluster_leader_changes_total", "Changes of the leader that this member has seen")
	clusterNumber    = gauge("cluster_number", "Number of the last applied group")
	clusterBehind    = gauge("cluster_behind_groups", "Groups that are in the log and not applied here")
	clusterAgain     = counter("cluster_proposals_again_total", "Proposals of this member that it put again, because the log did not confirm them")
	clusterRepeats   = counter("cluster_repeats_dropped_total", "Delivered groups without effect, because their proposal was applied before")
	clusterForeign   = counter("cluster_foreign_commands_total", "Delivered commands that another member proposed")
	clusterStamp     = gauge("cluster_stamp_ahead_seconds_max", "Longest time by which a delivered stamp was ahead of the clock of this member")
	clusterAttested  = gauge("cluster_attested_seq", "Seq of the newest checkpoint whose state a majority attests as this member has it")
	clusterVerdicts  = counter("cluster_attest_total", "Checkpoints by what this member concluded from their attestations", "verdict")
	clusterRTT       = gauge("cluster_peer_rtt_seconds", "Round trip to another member's follow port, the quickest of the last questions", "peer")
	clusterOffset    = gauge("cluster_clock_offset_seconds", "Clock of another member, ahead of the clock of this one", "peer")
	clusterUnsynced  = gauge("cluster_archive_unsynced_bytes", "Bytes of groups that the archive of this member has not synced")
	clusterArchive   = gauge("cluster_archive_number", "Number of the last group that the archive of this member has synced")
	clusterArchived  = gauge("cluster_archive_unsynced_seconds", "Time since the oldest group arrived that the archive has not synced; 0 if there is none")
	clusterEtcdBytes = gauge("cluster_etcd_db_bytes", "Size of etcd's database on this member")
	clusterCompacted = gauge("cluster_compacted_number", "Number of the group up to which this member, as the leader, made etcd forget groups; 0 if it never did")
	clusterSyncs     = prometheus.NewDesc("duplex_cluster_etcd_wal_fsync_seconds", "Time of a sync of etcd's write-ahead log", nil, nil)
	clusterProposing = prometheus.NewDesc("duplex_cluster_propose_seconds", "Time from a proposal of this member to its delivery", nil, nil)
)

func (g collector) collectMember(put emit, out chan<- prometheus.Metric) {
	e := g.Venue.Engine
	m, number, ok := e.Members()
	if !ok {
		return
	}
	status, _ := e.MemberStatus()
	for s := range engine.States {
		put(clusterState, boolGauge(s == status.State), s.String())
	}
	put(clusterMembers, float64(len(m.Voters)), "voter")
	put(clusterMembers, float64(len(m.Up)), "up")
	put(clusterLeader, boolGauge(e.IsLeader()))
	put(clusterChanges, float64(m.Changes))
	put(clusterNumber, float64(number))
	put(clusterBehind, float64(max(m.Head, number)-number))
	s := e.Stats()
	put(clusterAgain, float64(s.ProposedAgain.Load()))
	put(clusterRepeats, float64(s.RepeatsDropped.Load()))
	put(clusterForeign, float64(s.ForeignCommands.Load()))
	put(clusterStamp, seconds(s.StampAheadMaxNs.Load()))
	put(clusterAttested, float64(s.AttestedSeq.Load()))
	put(clusterVerdicts, float64(s.AttestConfirmed.Load()), "confirmed")
	put(clusterVerdicts, float64(s.AttestSuspect.Load()), "suspect")
	put(clusterVerdicts, float64(s.AttestDiverged.Load()), "diverged")
	g.collectEtcd(put, out)
	writeHistogram(out, clusterProposing, &s.Delivery, 16, 34, 1e9) // from 65 µs
}

// collectEtcd writes what etcd and the other members tell.
func (g collector) collectEtcd(put emit, out chan<- prometheus.Metric) {
	c := g.Cluster
	if c == nil {
		return // a test's log of several machines without etcd
	}
	c.PeerClocks(func(name string, rtt, offset time.Duration) {
		put(clusterRTT, rtt.Seconds(), name)
		put(clusterOffset, offset.Seconds(), name)
	})
	f := c.Figures()
	put(clusterUnsynced, float64(f.ArchiveUnsynced))
	put(clusterArchive, float64(f.ArchiveNumber))
	put(clusterArchived, f.ArchiveAge.Seconds())
	put(clusterEtcdBytes, float64(f.EtcdBytes))
	put(clusterCompacted, float64(f.Compacted))
	if s, err := cluster.ReadWALSyncs(); err == nil {
		out <- prometheus.MustNewConstHistogram(clusterSyncs, s.Count, s.Sum, s.AtMost)
	} else {
		out <- prometheus.NewInvalidMetric(clusterSyncs, err)
	}
}
