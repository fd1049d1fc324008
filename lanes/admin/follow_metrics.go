package admin

import (
	"math"

	"duplex/server/cluster"
)

// The metrics of the follow port of a member or follower, and of what a follower copies
// (docs/rules/operation.md#followers).
var (
	followStreams   = gauge("cluster_follow_streams", "Streams of the log that other nodes read from this one")
	followCut       = counter("cluster_follow_cut_total", "Streams of the log that this node has ended, because the other node was too slow")
	followLag       = gauge("cluster_follow_lag_groups", "Groups that this follower knows of and has not received")
	followBeatAge   = gauge("cluster_follow_beat_age_seconds", "Age of what this follower knows of the venue; +Inf before the first beat")
	followBegun     = counter("cluster_follow_begun_total", "Streams that this follower has begun to read")
	certificateEnds = gauge("cluster_certificate_end_seconds", "Unix time at which the certificate that this node uses towards the others ends, and that of its authority", "certificate")
	followRejected  = counter("cluster_follow_rejected_total", "Streams that this follower has rejected, because they do not continue what it has")
)

func (g collector) collectFollow(put emit) {
	port := func(s cluster.FollowStats) {
		put(followStreams, float64(s.Streams))
		put(followCut, float64(s.Cut))
	}
	certificates := func(node, ca int64) {
		if node > 0 {
			put(certificateEnds, float64(node)/1e9, "node")
			put(certificateEnds, float64(ca)/1e9, "ca")
		}
	}
	if g.Cluster != nil {
		port(g.Cluster.FollowStats())
		certificates(g.Cluster.CertificateEnds())
	}
	f := g.Follower
	if f == nil {
		return
	}
	port(f.FollowStats())
	certificates(f.CertificateEnds())
	groups, age, never := f.Lag()
	put(followLag, float64(groups))
	if never {
		put(followBeatAge, math.Inf(1))
	} else {
		put(followBeatAge, age.Seconds())
	}
	begun, rejected := f.Streams()
	put(followBegun, float64(begun))
	put(followRejected, float64(rejected))
}
