package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"duplex/core/engine"
)

// TestMayLoseHistory checks which members may be removed, by what the others know of the history.
func TestMayLoseHistory(t *testing.T) {
	off, opening := History{State: HistoryOff}, History{State: HistoryOpening}
	complete := func(since uint64) History { return History{HistoryComplete, since} }
	behind := func(since uint64) History { return History{HistoryBehind, since} }
	for name, of := range map[string]struct {
		leaves, own, other History
		otherDown          bool
		refusal            string
	}{
		"all have everything":                          {complete(0), complete(0), complete(0), false, ""},
		"the others copy still":                        {complete(0), behind(500), behind(700), false, "has the whole history"},
		"another one has as much":                      {complete(500), behind(700), behind(500), false, ""},
		"another one knows that nobody has more":       {behind(0), behind(700), complete(600), false, ""},
		"the one that has everything is down":          {complete(0), behind(500), complete(0), true, "has the whole history"},
		"nobody has a mirror":                          {off, off, off, false, ""},
		"the one that leaves has none":                 {off, behind(500), opening, false, ""},
		"the one that leaves is the only one with any": {complete(900), off, off, false, "begins after seq 900"},
		"never heard of, nobody else has a mirror":     {History{}, off, off, false, ""},
		"never heard of, one other has a mirror":       {History{}, behind(500), off, false, "is not known"},
		"it was never heard of":                        {History{}, behind(500), behind(500), false, "is not known"},
		"never heard of, and another one is whole":     {History{}, complete(0), behind(500), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{node: 1}
			c.config.Store(&config{Members: []member{{Node: 1, Name: "a"}, {Node: 2, Name: "b"}, {Node: 3, Name: "c"}}})
			hear := func(node uint32, of History, down bool) {
				h := heard{Status: Status{Node: node, Report: Report{History: of}}, at: time.Now()}
				if down {
					h.at = h.at.Add(-time.Hour)
				}
				c.peers.hear(h)
			}
			if of.leaves.State != "" {
				hear(3, of.leaves, true)
			}
			hear(2, of.other, of.otherDown)
			err := c.loses(&member{Node: 3, Name: "c"}, of.own)
			if of.refusal == "" && err != nil || of.refusal != "" && (!errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), of.refusal) || !strings.Contains(err.Error(), "--lose-history")) {
				t.Errorf("%v, want a refusal with %q", err, of.refusal)
			}
		})
	}
}
