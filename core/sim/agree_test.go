package sim

import (
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/sim/model"
	"duplex/core/venue"
)

var commands = flag.Int("commands", 20_000, "number of random commands to compare with the model")

// directRun is a venue and a model without engine and log: commands are applied one by one.
type directRun struct {
	work      *workload
	v         *venue.Venue
	m         *model.Venue
	now       int64
	events    core.Events
	done      int
	tally     tally
	extra     *rand.Rand           // draws commands that the workload of the hash test does not have; nil: none
	marking   *rand.Rand           // draws what is marked
	holdClock bool                 // apply no Clock before a command, even if something is due
	firsts    map[core.Mark]uint64 // the seq of each mark
	money     []core.Command       // accepted transfers, deposits and withdrawals, which are repeated unless extra is nil

	// before and applied, if not nil, are called for each command, before and after the venue
	// applied it.
	before  func(at core.Stamp)
	applied func(at core.Stamp, cmd core.Command, events []core.Event)

	// agreed, if not nil, is called for each command after the model applied it too.
	agreed func(at core.Stamp, cmd core.Command, want model.Outcome) error
}

// judgments are the model's words for those of the venue.
var judgments = map[venue.Judgment]string{venue.Effective: "", venue.Unauthorized: "unauthorized", venue.Late: "late", venue.Repeated: "repeated"}

// tally counts what happened in a run, so that a test can require enough of it.
type tally struct {
	fills      int
	rejects    map[core.Reject]int
	reasons    map[core.Reason]int
	rounds     map[core.RoundStatus]int
	afterClose int // placements after the close of a market that still trades

	unauthorized int // commands of a key that is not valid
	late         int // marked commands that were signed too long before their stamp or after it
	repeated     int // marked commands with the mark of another
	broken       map[core.MandateRule]int
	transfers    int
	asks         map[core.AskStatus]int
	midnights    int
	repeats      map[string]int // by type, of money that was moved before
}

func newDirectRun(seed uint64) *directRun {
	d := &directRun{v: venue.New(), m: model.New(), now: start(seed), firsts: map[core.Mark]uint64{}}
	d.work = newWorkload(rand.New(rand.NewPCG(seed, 0xd1)), func() int64 { return d.now }, func() uint64 { return d.v.Now().Seq }, func(look func(*venue.Venue)) { look(d.v) }, func(string, ...any) {})
	d.work.late = seed%4 == 3
	d.tally = tally{rejects: map[core.Reject]int{}, reasons: map[core.Reason]int{}, rounds: map[core.RoundStatus]int{}, broken: map[core.MandateRule]int{}, asks: map[core.AskStatus]int{}, repeats: map[string]int{}}
	d.extra, d.marking = rand.New(rand.NewPCG(seed, 0x1a7e)), rand.New(rand.NewPCG(seed, 0x3a4c))
	return d
}

func (m *tally) note(did model.Outcome, events []core.Event) {
	m.fills += len(did.Fills)
	m.rejects[did.Reject]++
	m.transfers += len(did.Transfers)
	if did.Violation != nil {
		m.broken[did.Violation.Rule]++
	}
	for _, e := range did.Asks {
		m.asks[e.Status]++
	}
	for _, e := range did.Ended {
		m.reasons[e.Reason]++
	}
	for _, e := range events {
		if e, ok := e.(*core.RoundChanged); ok {
			m.rounds[e.Round.Status]++
		}
	}
}

// apply applies a command to both and compares. The venue checks the invariant
// (docs/rules/money.md#the-invariant) itself after each command.
func (d *directRun) apply(cmd core.Command) error {
	if d.v.Due() <= d.now && !d.holdClock {
		if _, clock := cmd.(*core.Clock); !clock {
			if err := d.apply(&core.Clock{}); err != nil {
				return err
			}
		}
	}
	was := d.v.Now()
	st := core.Stamp{Seq: was.Seq + 1, Ts: max(d.now, was.Ts+1)}
	judged, first := d.v.Judge(cmd, st.Ts)
	if got, want := judgments[judged], d.m.Judge(cmd, st.Ts); got != want {
		return fmt.Errorf("%s: the venue judges it as %q, the model as %q", describe(cmd), got, want)
	}
	switch judged {
	case venue.Unauthorized:
		d.tally.unauthorized++
		return nil
	case venue.Late:
		d.tally.late++
		return nil
	case venue.Repeated:
		d.tally.repeated++
		if cmd := cmd.(*core.Marked); d.firsts[cmd.Mark] != first {
			return fmt.Errorf("%s: the first has seq %d, the venue says %d", describe(cmd), d.firsts[cmd.Mark], first)
		}
		return nil
	}
	full := cmd
	if c, ok := cmd.(*core.Marked); ok {
		d.firsts[c.Mark] = st.Seq
		cmd = c.Command
	}
	if was.Seq > 0 && core.DayOf(was.Ts) != core.DayOf(st.Ts) {
		d.tally.midnights++
	}
	d.events.Reset()
	if c := core.PlacementOf(cmd); c != nil {
		if m, opened := d.v.Market(c.Market); opened && m.Status == core.Trading && st.Ts >= m.CloseTs {
			d.tally.afterClose++
		}
	}
	preview := func(core.Reject, []core.Event) error { return nil }
	if c, ok := cmd.(*core.PlaceOrder); ok {
		preview = d.preview(c, st.Ts)
	}
	if d.before != nil {
		d.before(st)
	}
	rej := d.v.Apply(st, full, &d.events)
	d.done++
	if rej == core.OK {
		d.work.accepted(cmd, st.Seq)
		switch cmd.(type) {
		case *core.Transfer, *core.Deposit, *core.RequestWithdrawal, *core.DecideWithdrawal:
			if slices.Contains(d.money, cmd) {
				d.tally.repeats[fmt.Sprintf("%T", cmd)]++
			} else {
				d.money = append(d.money, cmd)
			}
		}
	}
	got := describeOutcome(rej, d.events.List)
	d.tally.note(got, d.events.List)
	if d.applied != nil {
		d.applied(st, full, d.events.List)
	}
	want := d.m.Apply(st, full)
	err := sameOutcome(got, want)
	if err == nil && d.agreed != nil {
		err = d.agreed(st, cmd, want)
	}
	if err != nil {
		return fmt.Errorf("seq %d: %s: %w", st.Seq, describe(cmd), err)
	}
	if err := preview(rej, d.events.List); err != nil {
		return fmt.Errorf("seq %d: %s: %w", st.Seq, describe(cmd), err)
	}
	return nil
}

// preview previews a placement. It returns a function that compares the preview with what the
// placement did.
func (d *directRun) preview(c *core.PlaceOrder, ts int64) func(core.Reject, []core.Event) error {
	p, r := d.v.Preview(c, ts)
	return func(rej core.Reject, events []core.Event) error {
		did := describeOutcome(rej, events)
		for _, e := range did.Asks {
			if e.Status != core.AskWaiting || p.Violation == nil {
				continue
			}
			did.Tick, did.Violation = e.Ask.Place.Tick, &core.Violation{Rule: core.RuleAskAbove, Rev: p.Violation.Rev, Limit: p.Violation.Limit, Used: uint64(e.Ask.OpenCost), Asked: uint64(e.Ask.Cost)}
		}
		if r != rej || !reflect.DeepEqual(p.Violation, did.Violation) || p.Tick != did.Tick {
			return fmt.Errorf("previewed %q at %d %+v, but it was %q at %d %+v", r, p.Tick, p.Violation, rej, did.Tick, did.Violation)
		}
		return nil
	}
}

func (m *tally) add(x tally) {
	m.fills += x.fills
	m.afterClose += x.afterClose
	m.unauthorized += x.unauthorized
	m.late += x.late
	m.repeated += x.repeated
	m.transfers += x.transfers
	m.midnights += x.midnights
	addCounts(m.repeats, x.repeats)
	addCounts(m.broken, x.broken)
	addCounts(m.asks, x.asks)
	addCounts(m.rejects, x.rejects)
	addCounts(m.reasons, x.reasons)
	addCounts(m.rounds, x.rounds)
}

func addCounts[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

// run applies at least n commands, and compares the whole state after every look of them.
func (d *directRun) run(n, look int) error {
	for _, cmd := range d.work.setup() {
		if err := d.apply(cmd); err != nil {
			return err
		}
	}
	next := 0
	for second := int64(0); d.done < n; {
		d.now += int64(d.work.r.IntN(int(80 * time.Millisecond)))
		if d.extra != nil && d.extra.IntN(4000) == 0 {
			d.now = max(d.now, int64(core.DayOf(d.now)+1)*core.NsPerDay-2*core.NsPerSec)
		}
		var cmds []core.Command
		if s := d.now / core.NsPerSec; s != second {
			if s%60 == 0 && d.extra != nil {
				if err := d.placeAfterClose(); err != nil {
					return err
				}
			}
			second, cmds = s, d.work.tick()
		}
		if cmd := d.work.operate; d.work.r.IntN(60) == 0 {
			if cmd := cmd(); cmd != nil {
				cmds = append(cmds, cmd)
			}
		}
		if d.extra != nil && d.extra.IntN(50) == 0 {
			cmds = append(cmds, d.work.rare(d.extra, marketsOf(d.v, core.Frozen, core.Proposed)))
		}
		if d.extra != nil && len(d.money) > 0 && d.extra.IntN(40) == 0 {
			cmds = append(cmds, d.money[d.extra.IntN(len(d.money))])
		}
		for _, cmd := range append(cmds, d.work.draw()) {
			if d.extra != nil {
				cmd = d.work.mark(d.marking, cmd)
			}
			if err := d.apply(cmd); err != nil {
				return err
			}
		}
		if d.done >= next {
			next = d.done + look
			if err := sameState(d.v, d.m); err != nil {
				return fmt.Errorf("after seq %d: %w", d.v.Now().Seq, err)
			}
			d.v.Audit()
		}
	}
	return nil
}

// placeAfterClose applies placements after the close of markets that still trade, because
// no Clock has been applied since.
func (d *directRun) placeAfterClose() error {
	d.holdClock = true
	defer func() { d.holdClock = false }()
	for range 1 + d.extra.IntN(16) {
		if err := d.apply(d.work.place()); err != nil {
			return err
		}
	}
	return nil
}

// TestModelAgreed repeats a run in which the two once differed: an agent whose loss was beyond its bound
// replaced an order by a market buy with max_cost 0.
func TestModelAgreed(t *testing.T) {
	if err := newDirectRun(70056).run(5000, 5000); err != nil {
		t.Fatal(err)
	}
}

// TestModelAgrees compares the venue with the model: the outcome of every command, and the
// whole state, after each command in the first run and every 50 commands in the others.
func TestModelAgrees(t *testing.T) {
	const each = 5000
	total := newDirectRun(0).tally
	for s := *first; s < *first+uint64((*commands+each-1)/each); s++ {
		look := 50
		if s == *first {
			look = 1
		}
		d := newDirectRun(s)
		if err := d.run(min(each, *commands), look); err != nil {
			t.Fatalf("%v\n\tgo test ./core/sim -run ModelAgrees -first %d -commands %d", err, s, each)
		}
		total.add(d.tally)
	}
	t.Logf("%d fills, rejections %v, orders ended %v, rounds %v, %d placements after a close", total.fills, total.rejects, total.reasons, total.rounds, total.afterClose)
	t.Logf("bounds broken %v, %d commands without a valid key, %d late, %d repeated, %d transfers, %d midnights, asks %v", total.broken, total.unauthorized, total.late, total.repeated, total.transfers, total.midnights, total.asks)
	if total.afterClose == 0 {
		t.Error("no placement came after the close of its market")
	}
	if total.late == 0 || total.repeated == 0 {
		t.Error("no marked command was late, or none was repeated")
	}
}

// The state hash is the same on every machine and with every compiler:
//
//	GOARCH=386 go test ./core/... -run Hash
func TestHashIsTheSameEverywhere(t *testing.T) {
	for revision, want := range map[core.Revision]string{
		core.RevisionOldest:    "aa889a40e12454bfbdc360a99d1320ec54b2db937759cf80f289da4c0d03a9fb",
		core.RevisionReplace:   "2ffe3cc3714fb1b97060c2ca99b0d21d5444f6c058eec56be1da0da9b9997fa8",
		core.RevisionForecasts: "52b096ce0e8601feba904dc57729d76083b231e0674d3f7e7a745800025e5cf7",
		core.RevisionDeposits:  "dd32c9fe5030d6c3640ec1aa1a7f0834affcf508782bff8f7eadf385d2540be1",

		core.RevisionReplaceSeen: "71d59df11b14c9af4e6b0465b4122ff0fab7ba9702fc907666c478aa2e5b837b",
		core.RevisionGrants:      "a4acc90f90025b87502947eccedef54db357296868faddb0adf7b48a3097aaff",
		core.RevisionSteps:       "0f7180251e1cbf518496273190266cba0e39d667bf3bae3237f6db3cce1fec8a",
		core.RevisionMakers:      "c8cc775f551f51c458de5a048321812b3590ccc929b1208cf7a0747aa1916fa4",
		core.RevisionAsks:        "7a750e2931dc4da07308e8c9fed14cd65c1b947ea78981caa1c9797f575c904b",
	} {
		d := newDirectRun(1)
		d.work.rules, d.work.unmarked, d.extra = revision, true, nil
		if err := d.run(10_000, 1000); err != nil {
			t.Fatal(err)
		}
		hash, err := d.v.Hash()
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(hash[:]); got != want {
			t.Errorf("revision %d: state hash %s after seq %d, want %s", revision, got, d.v.Now().Seq, want)
		}
	}
}
