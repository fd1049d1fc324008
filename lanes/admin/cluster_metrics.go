package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"duplex/core/engine"
	"duplex/internal/metrics"
)

// memberReading is what one scrape has read of a member.
type memberReading struct {
	*engine.Stats
	engine.Members
	state  engine.State
	leads  bool
	behind uint64 // groups of the log that are not applied here
	number uint64 // of the last applied group
}

// memberMetrics are those of a member of several machines (docs/rules/operation.md#member-states). A single
// machine has none of them.
var memberMetrics = metrics.Table[memberReading]{
	metrics.Each(metrics.Gauge("cluster_state", "1 for the state of this member, 0 for the others", "state"), func(r memberReading, put func(float64, ...string)) {
		for s := range engine.States {
			put(metrics.Bool(s == r.state), s.String())
		}
	}),
	metrics.Each(metrics.Gauge("cluster_members", "Members by role: voter, and up for the voters that this member reaches", "role"), func(r memberReading, put func(float64, ...string)) {
		put(float64(len(r.Voters)), "voter")
		put(float64(len(r.Up)), "up")
	}),
	metrics.One(metrics.Gauge("cluster_is_leader", "1 while this member has the lead"), func(r memberReading) float64 { return metrics.Bool(r.leads) }),
	metrics.One(metrics.Counter("cluster_leader_changes_total", "Changes of the leader that this member has seen"), func(r memberReading) float64 { return float64(r.Changes) }),
	metrics.One(metrics.Gauge("cluster_number", "Number of the last applied group"), func(r memberReading) float64 { return float64(r.number) }),
	metrics.One(metrics.Gauge("cluster_behind_groups", "Groups that are in the log and not applied here"), func(r memberReading) float64 { return float64(r.behind) }),
	metrics.One(metrics.Counter("cluster_proposals_again_total", "Proposals of this member that it put again, because the log did not confirm them"), func(r memberReading) float64 { return float64(r.ProposedAgain.Load()) }),
	metrics.One(metrics.Counter("cluster_repeats_dropped_total", "Delivered groups without effect, because their proposal was applied before"), func(r memberReading) float64 { return float64(r.RepeatsDropped.Load()) }),
	metrics.One(metrics.Counter("cluster_foreign_commands_total", "Delivered commands that another member proposed"), func(r memberReading) float64 { return float64(r.ForeignCommands.Load()) }),
	metrics.One(metrics.Gauge("cluster_stamp_ahead_seconds_max", "Longest time by which a delivered stamp was ahead of the clock of this member"), func(r memberReading) float64 { return seconds(r.StampAheadMaxNs.Load()) }),
	metrics.One(metrics.Gauge("cluster_attested_seq", "Seq of the newest checkpoint whose state a majority attests as this member has it"), func(r memberReading) float64 { return float64(r.AttestedSeq.Load()) }),
	metrics.Each(metrics.Counter("cluster_attest_total", "Checkpoints by what this member concluded from their attestations", "verdict"), func(r memberReading, put func(float64, ...string)) {
		put(float64(r.AttestConfirmed.Load()), "confirmed")
		put(float64(r.AttestSuspect.Load()), "suspect")
		put(float64(r.AttestDiverged.Load()), "diverged")
	}),
}

var clusterProposing = prometheus.NewDesc("duplex_cluster_propose_seconds", "Time from a proposal of this member to its delivery", nil, nil)

func (g collector) collectMember(out chan<- prometheus.Metric) {
	e := g.Venue.Engine
	m, number, ok := e.Members()
	if !ok {
		return
	}
	status, _ := e.MemberStatus()
	r := memberReading{e.Stats(), m, status.State, e.IsLeader(), max(m.Head, number) - number, number}
	memberMetrics.Collect(r, out)
	writeHistogram(out, clusterProposing, &r.Delivery, 16, 34, 1e9) // from 65 µs
}
