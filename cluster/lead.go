package cluster

import (
	"time"

	"duplex/core/engine"
)

// A leader gives the lead away when its disk is nearly full or its syncs are slow, to a member of
// which neither is true (docs/rules/operation.md#cluster).

const (
	leadDiskBytes = 256 << 20
	slowSync      = 1.024            // seconds; a limit of etcd's histogram
	slowFor       = 10 * time.Second // so long every sync was slow
)

// syncWindow tells whether the syncs of the last slowFor were all slow.
type syncWindow struct {
	samples []syncSample
}

type syncSample struct {
	at           time.Time
	syncs, quick uint64 // since the start
	head         uint64 // number of the newest group
}

// slow takes a sample and reports whether every sync that ended in the last slowFor took longer than
// slowSync. A sync that lasts longer than the window shows in groups that arrive while none ends.
func (w *syncWindow) slow(s syncSample) bool {
	w.samples = append(w.samples, s)
	for len(w.samples) > 1 && s.at.Sub(w.samples[1].at) >= slowFor {
		w.samples = w.samples[1:]
	}
	first := w.samples[0]
	if s.at.Sub(first.at) < slowFor || s.quick != first.quick {
		return false
	}
	return s.syncs > first.syncs || s.head > first.head
}

// guardLead gives the lead away if this member has it and its disk is in the way. pollPeers calls it
// after each poll.
func (c *Cluster) guardLead() {
	l := c.log.Load()
	report := c.report.Load()
	if l == nil || report == nil {
		return
	}
	c.guarding.Lock()
	defer c.guarding.Unlock()
	syncs, err := c.opt.readSyncs()
	if err != nil {
		c.opt.Log.Warn("the syncs of etcd cannot be watched", "err", err)
		return
	}
	slow := c.syncs.slow(syncSample{time.Now(), syncs.Count, syncs.AtMost[slowSync], l.knownHead()})
	c.slow.Store(slow)
	low := (*report)().DiskFree < leadDiskBytes
	if c.view.Load().leader != c.node || !slow && !low {
		return
	}
	healthy := func(h heard) bool {
		return h.State == engine.Serving.String() && h.DiskFree >= leadDiskBytes && !h.SlowSyncs && !h.missed
	}
	if err := c.moveLeader(c.ctx, "", healthy); err != nil {
		c.opt.Log.Warn("this member should not lead, and no other one takes the lead", "disk_low", low, "syncs_slow", slow, "err", err)
		return
	}
	c.opt.Log.Warn("this member has given the lead away", "disk_low", low, "syncs_slow", slow)
}
