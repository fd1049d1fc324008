package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"duplex/core/engine"
	"duplex/internal/metrics"
)

// The metrics of a member of several machines (docs/rules/operation.md#member-states). A single
// machine has none of them.
var (
	clusterState     = metrics.Gauge("cluster_state", "1 for the state of this member, 0 for the others", "state")
	clusterMembers   = metrics.Gauge("cluster_members", "Members by role: voter, and up for the voters that this member reaches", "role")
	clusterLeader    = metrics.Gauge("cluster_is_leader", "1 while this member has the lead")
	clusterChanges   = metrics.Counter("cluster_leader_changes_total", "Changes of the leader that this member has seen")
	clusterNumber    = metrics.Gauge("cluster_number", "Number of the last applied group")
	clusterBehind    = metrics.Gauge("cluster_behind_groups", "Groups that are in the log and not applied here")
	clusterAgain     = metrics.Counter("cluster_proposals_again_total", "Proposals of this member that it put again, because the log did not confirm them")
	clusterRepeats   = metrics.Counter("cluster_repeats_dropped_total", "Delivered groups without effect, because their proposal was applied before")
	clusterForeign   = metrics.Counter("cluster_foreign_commands_total", "Delivered commands that another member proposed")
	clusterStamp     = metrics.Gauge("cluster_stamp_ahead_seconds_max", "Longest time by which a delivered stamp was ahead of the clock of this member")
	clusterAttested  = metrics.Gauge("cluster_attested_seq", "Seq of the newest checkpoint whose state a majority attests as this member has it")
	clusterVerdicts  = metrics.Counter("cluster_attest_total", "Checkpoints by what this member concluded from their attestations", "verdict")
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
		put(clusterState, metrics.Bool(s == status.State), s.String())
	}
	put(clusterMembers, float64(len(m.Voters)), "voter")
	put(clusterMembers, float64(len(m.Up)), "up")
	put(clusterLeader, metrics.Bool(e.IsLeader()))
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
	writeHistogram(out, clusterProposing, &s.Delivery, 16, 34, 1e9) // from 65 µs
}
