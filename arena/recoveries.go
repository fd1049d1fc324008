package arena

import (
	"slices"
	"strings"

	"duplex/lanes/mcp"
	"duplex/tools"
)

// afterRevocation returns where the requests are after the first that was answered unauthorized because
// the key is revoked, and whether there is a first: 0 or 1. An earlier answer of this kind is about a
// signature.
func (t *tested) afterRevocation() (seqs []uint64, answered int) {
	revoked := slices.IndexFunc(t.rows, func(r callRow) bool { return r.Fault == revokeKey })
	if revoked < 0 {
		return nil, 0
	}
	for i := range t.rows {
		r := &t.rows[i]
		if r.Method == "" || r.Done < t.rows[revoked].Ts {
			continue
		}
		if answered > 0 {
			seqs = append(seqs, t.seqAt(r.Done))
		} else if r.Status == 401 || strings.Contains(string(r.Answer), `"unauthorized"`) {
			answered = 1
		}
	}
	return seqs, answered
}

// slowRecoveries returns where the faults are after which no command was accepted, and no wait was open,
// within recoverWithin, and how many faults it judged that show something: one of requests shows it at a
// placement. What happens when the seat has been asked to end counts no more.
func (t *tested) slowRecoveries() (seqs []uint64, judged int) {
	last := t.end
	for i := range t.rows {
		if t.rows[i].Fault == askedToEnd {
			last = t.rows[i].Ts
		}
	}
	if len(t.rows) == 0 {
		return []uint64{t.seqAt(last)}, 0
	}
	for i := range t.rows {
		r := &t.rows[i]
		lasts := r.Fault == staleIndex || r.Fault == pauseMarket
		if r.Fault == "" || r.Fault == askedToEnd || lasts || r.Done+recoverWithin > last {
			continue
		}
		if f := (fault{name: r.Fault}); !f.ofRequests() || len(ordersIn(r)) > 0 {
			judged++
		}
		recovered := false
		for k := range t.rows {
			if k != i && t.goesOn(&t.rows[k], r.Done) {
				recovered = true
				break
			}
		}
		if !recovered {
			seqs = append(seqs, t.seqAt(r.Done))
		}
	}
	return seqs, judged
}

// goesOn reports whether a call shows that its seat goes on after a fault that ended at a time: it is a
// command that came within recoverWithin and was accepted, or a wait that was open then. To read shows
// nothing, and neither does a call that has no answer or an error for one.
func (t *tested) goesOn(r *callRow, ended int64) bool {
	if r.Method == "" || r.Fault != "" || r.Status == 0 || r.Status >= 400 || errorCode(r) != "" || r.Ts > ended+recoverWithin {
		return false
	}
	path, _, _ := strings.Cut(r.Target, "?")
	name := r.tool()
	if name == "wait_for_event" || name == tools.AdvanceClock.Name || path == tools.AdvanceClock.Path {
		return r.Done >= ended
	}
	if r.Ts < ended {
		return false
	}
	if orders := ordersIn(r); len(orders) > 0 {
		return slices.ContainsFunc(orders, func(o wireOrder) bool { return t.accepted(o.ClientID) != 0 })
	}
	if path == mcp.Path {
		verb, _, _ := strings.Cut(name, "_")
		return name != "" && verb != "get" && verb != "list" && verb != "preview"
	}
	return r.Method != "GET" && path != tools.PreviewOrder.Path
}
