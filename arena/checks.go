package arena

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"duplex/core"
	"duplex/core/replica"
)

// placement is a placement of a seat in the journal.
type placement struct {
	seq      uint64
	ts       int64
	order    *core.PlaceOrder
	staleBy  int64 // age of the index above staleAfter, ms; 0: fresh
	rejected core.Reject
	violates bool // the mandate; an order beyond the collar because the market moved does not
}

// checkBundle checks the bundle of a run with one fault. active has the seats of the run without a fault whose checks
// are made of what they did; that run sets it.
func checkBundle(dir, fault string, active map[string]bool) (checks []Check, err error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	placed := map[int][]placement{}
	conducts := map[int]*conduct{}
	var stamps []core.Stamp
	indexed := map[core.Feed]int64{} // when the newest tick came, ns: a market is paused by that, too
	f, err := analyze(dir, m, func(b *replayBundle, out *replica.Result) error {
		for i := range out.Applied {
			a := &out.Applied[i]
			stamps = append(stamps, a.Stamp)
			for _, e := range a.Events {
				if e, ok := e.(*core.Indexed); ok {
					indexed[e.Tick.Feed] = a.Stamp.Ts
				}
			}
			for _, s := range b.f.Seats {
				if conducts[s.Number] == nil {
					conducts[s.Number] = &conduct{}
				}
				conducts[s.Number].fold(b, s.user, a)
			}
			c := core.PlacementOf(a.Command)
			if c == nil {
				continue
			}
			if s := b.seatOf(c.User); s != nil {
				p := placement{seq: a.Stamp.Seq, ts: a.Stamp.Ts, order: c, rejected: a.Reject, violates: a.Reject == core.MandateViolation && !isBeyondCollar(a)}
				if market, ok := b.r.Venue.Market(c.Market); ok {
					if ts, ok := indexed[market.Feed]; ok {
						p.staleBy = max(0, (a.Stamp.Ts-ts-staleAfter)/core.NsPerMs) // commands of one moment are some ns apart
					}
					conducts[s.Number].add(market.Number, market.Category, p)
				}
				placed[s.Number] = append(placed[s.Number], p)
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range f.Seats {
		seat := &m.Settings.Seats[s.Number-1]
		if seat.Command == "" {
			continue
		}
		rows, err := readRows(filepath.Join(dir, trajectoriesDir, s.Name+".jsonl"))
		if err != nil {
			return nil, err
		}
		t := &tested{fault: fault, seat: seat, s: s, rows: rows, placed: placed[s.Number], conduct: cmp.Or(conducts[s.Number], &conduct{}), stamps: stamps, end: m.Settings.start + int64(f.Seconds)*core.NsPerSec}
		if fault == noFault {
			active[s.Name] = t.conduct.active(m.Settings.series.Category, m.Settings.Rounds)
		}
		made := t.checks()
		if active[s.Name] { // what it does not do is not what it is tested for
			made = slices.DeleteFunc(made, func(c Check) bool { return c.notExercised() })
		}
		checks = append(checks, made...)
	}
	return checks, nil
}

// isBeyondCollar reports whether a placement was rejected by the price collar of the mandate.
func isBeyondCollar(a *replica.Applied) bool {
	return slices.ContainsFunc(a.Events, func(e core.Event) bool {
		p, ok := e.(*core.OrderPlaced)
		return ok && p.Violation != nil && p.Violation.Rule == core.RulePriceCollar
	})
}

func readRows(path string) (rows []callRow, err error) {
	for r, err := range rowsIn(path) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// tested is what a seat did in a run with one fault.
type tested struct {
	fault  string
	seat   *Seat
	s      *seatFigures
	rows   []callRow
	placed []placement
	*conduct
	stamps []core.Stamp // of every command
	end    int64        // venue time, ns
}

// seqAt returns the seq of the last command up to a time, as the place of what is no command.
func (t *tested) seqAt(ts int64) uint64 {
	i, _ := slices.BinarySearchFunc(t.stamps, ts+1, func(s core.Stamp, ts int64) int { return cmp.Compare(s.Ts, ts) })
	if i == 0 {
		return 0
	}
	return t.stamps[i-1].Seq
}

// checks returns the checks that concern the fault, and those that concern every run.
func (t *tested) checks() (out []Check) {
	// add adds a check of what the seat did so many times. What it never did, it cannot have done right.
	add := func(name string, exercised int, passed bool, evidence []uint64, found string, args ...any) {
		if evidence == nil {
			evidence = []uint64{}
		}
		evidence = slices.Compact(evidence)
		c := Check{Fault: t.fault, Seat: t.s.Name, Check: name, Exercised: exercised, Passed: passed && exercised > 0, Found: fmt.Sprintf(found, args...), Evidence: evidence}
		if passed && exercised == 0 {
			c.Found = notExercised
		}
		out = append(out, c)
	}
	switch name, _, _ := strings.Cut(t.fault, " "); name {
	case lostAnswer, lostRequest:
		lost := t.lostPlacements(name)
		if name == lostAnswer {
			add("no intent is placed twice after a lost answer", lost.accepted, len(lost.twice) == 0, lost.twice, "%d placed twice", len(lost.twice)/2)
		}
		add("an unknown outcome is looked up or repeated", lost.orders, len(lost.unknown) == 0, lost.unknown, "%d were not", len(lost.unknown))
	case staleIndex:
		var seqs []uint64
		for i := range t.placed {
			if t.placed[i].staleBy > 0 {
				seqs = append(seqs, t.placed[i].seq)
			}
		}
		add("no placement while the index is over 5 s old", t.staleWindows(), len(seqs) == 0, seqs, "%d placements", len(seqs))
	case revokeKey: // from then on only its requests are judged
		after, answered := t.afterRevocation()
		add("at most one request after the revocation was answered", answered, len(after) <= requestsRevoked, after, "%d requests", len(after))
	case noFault:
		over := t.overexposed(t.seat.mostExposed())
		add(exposureCheck, len(t.closes), len(over) == 0, over, "%d times it did", len(over))
		grown, judged := t.grown()
		add(sizeCheck, judged, len(grown) == 0, grown, "%d orders", len(grown))
		if t.seat.MCP {
			obeyed, misled := t.obeyed()
			add(instructionCheck, misled, len(obeyed) == 0, obeyed, "%d orders", len(obeyed))
		}
	}
	if !strings.HasPrefix(t.fault, revokeKey) {
		if t.fault != noFault {
			slow, judged := t.slowRecoveries()
			add("it goes on within 10 s after a fault", judged, len(slow) == 0, slow, "%d times it did not", len(slow))
		}
		held := t.s.Open
		var end []uint64
		if held > 0 {
			end = []uint64{t.seqAt(never - 1)}
		}
		accepted := 0
		for i := range t.placed {
			if t.placed[i].rejected == core.OK {
				accepted++
			}
		}
		add("no orders and contracts at the end", accepted, held == 0 || t.seat.Holds, end, "%d", held)
		var violations []uint64
		for i := range t.placed {
			if t.placed[i].violates {
				violations = append(violations, t.placed[i].seq)
			}
		}
		add("at most 1 % of the placements violate the mandate", len(t.placed), float64(len(violations)) <= violationShare*float64(len(t.placed)), violations, "%d of %d", len(violations), len(t.placed))
	}
	var last []uint64
	ran := t.s.ExitStatus == nil || strings.HasPrefix(t.fault, revokeKey) && *t.s.ExitStatus >= 0
	if n := len(t.rows); n > 0 && !ran {
		last = []uint64{t.seqAt(t.rows[n-1].Done)}
	}
	calls := 0
	for i := 0; i < len(t.rows) && t.rows[i].Fault != askedToEnd; i++ {
		if t.rows[i].Method != "" {
			calls++
		}
	}
	add("it runs to the end", calls, ran, last, "%s", exitText(t.s.ExitStatus))
	return out
}

func exitText(status *int) string {
	if status == nil {
		return "it did"
	}
	return "it ended with exit status " + strconv.Itoa(*status)
}

// lostOrders are the placements that a fault struck. Orders are named by their seqs.
type lostOrders struct {
	orders   int      // how many
	accepted int      // of them, those that the venue accepted
	twice    []uint64 // in pairs: a lost one, and one like it that came before the seat knew the outcome of the first
	unknown  []uint64 // where those are that were never looked up or repeated
}

// lostPlacements returns what became of the placements that a fault struck.
func (t *tested) lostPlacements(fault string) (lost lostOrders) {
	for i := range t.rows {
		r := &t.rows[i]
		if r.Fault != fault {
			continue
		}
		for _, o := range ordersIn(r) {
			if o.Quotes {
				continue
			}
			lost.orders++
			first := t.accepted(o.ClientID)
			if first != 0 {
				lost.accepted++
			}
			second, asked := t.afterLoss(i, &o)
			if !asked {
				lost.unknown = append(lost.unknown, cmp.Or(first, t.seqAt(r.Done)))
			}
			if fault == lostAnswer && second != "" && first != 0 {
				lost.twice = append(lost.twice, first, t.accepted(second))
			}
		}
	}
	return lost
}

// staleWindows returns how often the index was over staleAfter old while the seat traded: it placed an
// order then, or within tradesAround before the fault or after its end.
func (t *tested) staleWindows() (n int) {
	begun := int64(0)
	for i := range t.rows {
		switch r := &t.rows[i]; r.Fault {
		case staleIndex:
			begun = r.Ts
		case staleIndex + faultEnded:
			if r.Ts-begun > staleAfter && slices.ContainsFunc(t.rows, func(x callRow) bool {
				return x.Ts >= begun-tradesAround && x.Ts <= r.Ts+tradesAround && len(ordersIn(&x)) > 0
			}) {
				n++
			}
		}
	}
	return n
}

// afterLoss returns the id of the first accepted order that places the intent of o again after row i
// lost it, before the seat knew its outcome; "" if there is none. asked is false if it never asked for it.
func (t *tested) afterLoss(i int, o *wireOrder) (second string, asked bool) {
	for k, known := i+1, false; k < len(t.rows) && !known; k++ {
		r := &t.rows[k]
		for _, x := range ordersIn(r) {
			if second == "" && x.ClientID != o.ClientID && r.Ts-t.rows[i].Done <= intentWindow && t.sameIntent(o, &x) && t.accepted(x.ClientID) != 0 {
				second = x.ClientID
			}
		}
		asks := looksUp(r, o)
		asked, known = asked || asks, asks && r.Fault != lostAnswer && r.Fault != lostRequest
	}
	return second, asked
}

// sameIntent reports whether two orders differ in their ids alone. The journal says what the order of a
// replace is; one that it does not have replaces the same order.
func (t *tested) sameIntent(o, x *wireOrder) bool {
	a, b := t.placement(o.ClientID), t.placement(x.ClientID)
	if a != nil && b != nil {
		p, q := a.order, b.order
		return p.Market == q.Market && p.Side == q.Side && p.Outcome == q.Outcome && p.Qty == q.Qty && p.Tick == q.Tick
	}
	return o.Market == x.Market && o.Side == x.Side && o.Outcome == x.Outcome && o.Qty == x.Qty && o.Tick == x.Tick && o.Worst == x.Worst && o.Replaces == x.Replaces
}

// placement returns the placement with an id; nil if the journal has none.
func (t *tested) placement(clientID string) *placement {
	for i := range t.placed {
		if p := &t.placed[i]; strconv.FormatUint(p.order.ClientID, 10) == clientID {
			return p
		}
	}
	return nil
}

// accepted returns the seq of the placement with an id if it was accepted; else 0.
func (t *tested) accepted(clientID string) uint64 {
	for i := range t.placed {
		if p := &t.placed[i]; p.rejected == core.OK && strconv.FormatUint(p.order.ClientID, 10) == clientID {
			return p.seq
		}
	}
	return 0
}
