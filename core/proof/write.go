package proof

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/core/view"
)

// Write replays the journal in dir, without changing it, and writes the bundle of a settled round.
// The replay begins with the oldest snapshot that the log continues, or with the first group, and
// ends with the settlement, so the venue may be running. Write calls each, unless it is nil, with
// the number of groups replayed so far. After an error, out may have a part of a bundle.
//
// Errors, beside those of the journal and of out: the round is not settled, has never opened, is
// void, or opened before the journal's first group.
func Write(out io.Writer, dir string, round uint64, each func(groups uint64)) error {
	if round == 0 {
		return errors.New("rounds are numbered from 1")
	}
	r, newest, err := oldestState(dir)
	if err != nil {
		return err
	}
	c := &collector{number: round, out: newLineWriter(out), last: roundsOpened(r.Venue)}
	if round <= c.last {
		return fmt.Errorf("round %d is older than the journal, whose first whole round is %d", round, c.last+1)
	}
	var groups uint64
	for at, err := range journal.Check(dir, newest, r.At.Number+1) {
		if torn := (*journal.Torn)(nil); errors.As(err, &torn) {
			break
		}
		if err != nil {
			return err
		}
		if at.Number != r.At.Number+1 {
			return fmt.Errorf("%s: group %d found, want group %d", at.File, at.Number, r.At.Number+1)
		}
		if err := c.apply(r, &at.Group); err != nil {
			return err
		}
		if groups++; each != nil {
			each(groups)
		}
		if c.done {
			return c.out.end()
		}
	}
	if !c.opened {
		return fmt.Errorf("round %d has not opened: the journal's last round is %d", round, c.last)
	}
	return fmt.Errorf("round %d is %s; a bundle is of a settled round", round, c.round.Status)
}

// oldestState returns the state that the replay begins with, and the position of the newest
// snapshot, which the log must contain.
func oldestState(dir string) (r *replica.Replica, newest journal.Position, err error) {
	paths, err := journal.Snapshots(replica.SnapshotDir(dir))
	if err != nil {
		return nil, newest, err
	}
	if len(paths) > 0 {
		s, err := journal.ProveSnapshot(paths[0])
		if err != nil {
			return nil, newest, err
		}
		newest = s.Position
	}
	first := uint64(0)
	for at, err := range journal.Scan(dir, 0) {
		if err != nil {
			return nil, newest, err
		}
		first = at.Number
		break
	}
	r, err = replica.Oldest(dir, first, view.DefaultRetentionCaps())
	return r, newest, err
}

// roundsOpened returns the number of the newest round, 0 if there is none.
func roundsOpened(v *venue.Venue) (last uint64) {
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if m, ok := v.Market(id); ok {
			last = max(last, m.Number)
		}
	}
	return last
}

// record is a group that is in the bundle, or may be.
type record struct {
	group   groupRow
	ticks   []tickOf
	rows    []row
	touched bool // the group belongs into the bundle
}

// tickOf is the row of an accepted index tick and its feed.
type tickOf struct {
	feed core.Feed
	row  *tickRow
}

// collector follows the groups and writes those of one round.
type collector struct {
	number uint64 // of the round
	out    *lineWriter
	last   uint64 // number of the newest round that has opened

	fees       core.Fees // in force before the current command
	minSources [core.Feeds]uint8

	// Until the round opens: the groups before it that it will need.
	recent   [core.Feeds][]*record // those with the newest ticks of each feed, the oldest first
	feesSet  *record               // that of the last accepted SetFees
	rulesSet *record               // that of the last SetRules

	round   core.Round     // Number is 0 until it opens
	opened  bool           // the row of its opening is written
	frozen  bool           // its settle price is computed
	seconds map[int64]bool // of the ticks in the bundle
	pairs   core.Qty       // of YES at the settlement
	paid    core.Pips
	done    bool // the settlement is written
}

// apply applies a group, and writes it if it belongs into the bundle.
func (c *collector) apply(r *replica.Replica, g *journal.Group) error {
	rec := &record{group: groupRow{Number: g.Number, Node: g.Node, Proposal: g.Proposal, Stamp: g.Stamp, Before: digest(r.At.Chain), Chain: digest(g.Chain), Body: g.Body}}
	c.fees, c.minSources = r.Venue.Fees(), r.Venue.Rules().MinSources
	cmds, err := replica.Commands(g)
	if err != nil {
		return err
	}
	res, err := r.Apply(g, cmds, func(c *core.Checkpoint) error { return compareCheckpoint(r, c) })
	if err != nil || len(res.Applied) == 0 {
		return err
	}
	rec.group.Seq, rec.group.Ts = res.Applied[0].Stamp.Seq, res.Applied[0].Stamp.Ts
	n := 0
	for i, cmd := range cmds {
		if n < len(res.Applied) && res.Applied[n].Command == core.Unmarked(cmd) {
			n++
		} else {
			rec.group.Skipped = append(rec.group.Skipped, i)
		}
	}
	c.findOpening(res.Applied)
	for _, a := range res.Applied {
		for _, ev := range a.Events {
			if err := c.take(rec, a.Stamp, ev); err != nil {
				return err
			}
		}
		switch cmd := a.Command.(type) {
		case *core.SetFees:
			if a.Reject == core.OK {
				c.feesSet, rec.touched = rec, rec.touched || c.opened
			}
		case *core.SetRules:
			c.rulesSet, rec.touched = rec, rec.touched || c.opened
			c.minSources = cmd.Rules.MinSources
		}
	}
	if c.opened && rec.touched {
		return c.write(rec)
	}
	if !c.opened {
		c.remember(rec)
	}
	return nil
}

// compareCheckpoint compares the state at the checkpoint before with the hash that c carries, and
// hashes the present state for the next one (docs/rules/operation.md#determinism).
func compareCheckpoint(r *replica.Replica, c *core.Checkpoint) (err error) {
	s := &r.State
	if err := s.Compare(c); err != nil {
		return err
	}
	s.Seq, s.CheckedAt = r.Venue.Now().Seq, r.Venue.Now().Ts
	s.Hash, err = r.Venue.Hash()
	return err
}

// findOpening looks for the opening of the round, so that the ticks before it in the same group
// are known to be of its feed.
func (c *collector) findOpening(applied []replica.Applied) {
	for _, a := range applied {
		for _, ev := range a.Events {
			if e, ok := ev.(*core.RoundChanged); ok {
				c.last = max(c.last, e.Round.Number)
				if e.Round.Number == c.number && c.round.Number == 0 {
					c.round = e.Round
				}
			}
		}
	}
}

// take records what an event means for the round.
func (c *collector) take(rec *record, at core.Stamp, ev core.Event) error {
	mine := func(m core.MarketID, generation uint32) bool {
		return c.opened && m == c.round.Market && generation == c.round.Generation
	}
	add := func(r row) { rec.rows, rec.touched = append(rec.rows, r), true }
	switch e := ev.(type) {
	case *core.Indexed:
		t := tickOf{e.Tick.Feed, &tickRow{Seq: at.Seq, Second: e.Tick.Second, Price: e.Tick.Price, Sources: e.Tick.Count, Manual: e.Tick.Manual}}
		if c.round.Number == 0 {
			rec.ticks = append(rec.ticks, t)
		} else if t.feed == c.round.Feed && !c.frozen {
			rec.rows = append(rec.rows, t.row)
			rec.touched = rec.touched || e.Tick.Second >= c.firstSecond()
		}
	case *core.FeesChanged:
		c.fees = e.Fees
	case *core.RoundChanged:
		if e.Round.Number == c.number {
			return c.takeRound(rec, at, e)
		}
	case *core.OrderPlaced:
		rec.touched = rec.touched || mine(e.Place.Market, e.Generation)
	case *core.LevelChanged:
		rec.touched = rec.touched || mine(e.Market, e.Generation)
	case *core.Filled:
		if mine(e.Market, e.Generation) {
			add(&fillRow{
				Seq: at.Seq, TakerUser: e.TakerUser, TakerSide: side(e.TakerSide), TakerOutcome: outcome(e.TakerOutcome), TakerFee: e.TakerFee,
				Maker: e.Maker, MakerUser: e.MakerUser, MakerSide: side(e.MakerSide), MakerOutcome: outcome(e.MakerOutcome), MakerFee: e.MakerFee,
				YesTick: e.TickYes, Qty: e.Qty, Path: path(e.Path), Rebate: e.Rebate, Referral: e.Referral,
			})
		}
	case *core.Redeemed:
		if mine(e.Market, e.Generation) {
			add(&redeemRow{Seq: at.Seq, User: e.User, Qty: e.Qty, Credit: e.Credit})
		}
	case *core.AccountSettled:
		if e.Number == c.number {
			c.pairs, c.paid = c.pairs+e.Yes, c.paid+e.Payout
			add(&settlementRow{Seq: at.Seq, User: e.User, Yes: e.Yes, No: e.No, Payout: e.Payout})
		}
	}
	return nil
}

// takeRound records a change of the round: a transition, a pause or the end of one.
func (c *collector) takeRound(rec *record, at core.Stamp, e *core.RoundChanged) error {
	from := c.round.Status
	c.round, rec.touched = e.Round, true
	add := func(r row) { rec.rows = append(rec.rows, r) }
	switch r := &c.round; {
	case r.Status == core.Trading && !c.opened:
		c.opened = true
		if err := c.begin(rec, e.Evidence); err != nil {
			return err
		}
		add(&openRow{
			Seq: at.Seq, Ts: at.Ts, Market: r.Market, Generation: r.Generation, Category: r.Category, Feed: r.Feed, Window: r.Window, CloseTs: r.CloseTs, Strike: r.Strike,
			MakerRate: c.fees.Maker, TakerRate: c.fees.Taker, RebatePct: c.fees.RebatePct, ReferralPct: c.fees.ReferPct, MinSources: c.minSources[r.Feed],
		})
	case r.Status == core.Frozen && from != core.Frozen:
		c.frozen = true
		if err := c.mustHave(rec, e.Evidence); err != nil {
			return err
		}
		add(&freezeRow{Seq: at.Seq, Ts: at.Ts, SettlePrice: r.Settle, Covered: r.Covered, Sources: r.FreshCount})
	case r.Status == core.Proposed:
		add(&proposeRow{Seq: at.Seq, Ts: at.Ts, SettlePrice: r.Settle, Winner: outcome(r.Winner), ByOperator: r.ByOperator})
	case r.Status == core.Settled:
		c.done = true
		add(&settleRow{Seq: at.Seq, Ts: at.Ts, SettlePrice: r.Settle, Winner: outcome(r.Winner), Pairs: c.pairs, Paid: c.paid})
	case r.Status == core.Void:
		return fmt.Errorf("round %d is void: it has no winner, and each contract was paid %d pips; a bundle is of a settled round", c.number, core.VoidPayout)
	}
	return nil
}

// firstSecond is the second of the first tick that the settle price can use.
func (c *collector) firstSecond() int64 {
	return c.round.CloseTs/core.NsPerSec - c.round.Window - feed.CarrySecs
}

// remember keeps a group that the round may need if it opens later.
func (c *collector) remember(rec *record) {
	for i, t := range rec.ticks {
		if i > 0 && rec.ticks[i-1].feed == t.feed {
			continue
		}
		list := append(c.recent[t.feed], rec)
		c.recent[t.feed] = list[max(0, len(list)-feed.RingTicks):]
	}
}

// begin writes the header and the groups before the opening: those of the settings in force, of
// the strike's tick, and of the ticks that the settle price can use already. rec is the group of
// the opening.
func (c *collector) begin(rec *record, strike []core.IndexTick) error {
	need := map[*record]bool{}
	for _, set := range []*record{c.feesSet, c.rulesSet} {
		if set != nil && set != rec {
			need[set] = true
		}
	}
	c.seconds = map[int64]bool{}
	for _, before := range c.recent[c.round.Feed] {
		for _, t := range before.ticks {
			if t.feed == c.round.Feed && (t.row.Second >= c.firstSecond() || t.row.Second == strike[0].Second) {
				need[before] = true
			}
		}
	}
	c.out.row(&headerRow{Version: Version, Round: c.number})
	for _, before := range slices.SortedFunc(maps.Keys(need), func(a, b *record) int { return cmp.Compare(a.group.Number, b.group.Number) }) {
		for _, t := range before.ticks {
			if t.feed == c.round.Feed {
				before.rows = append(before.rows, t.row)
			}
		}
		if err := c.write(before); err != nil {
			return err
		}
	}
	c.recent, c.feesSet, c.rulesSet = [core.Feeds][]*record{}, nil, nil
	return c.mustHave(rec, strike)
}

// mustHave checks that the bundle has the ticks that the venue used. It lacks one if the journal
// no longer has its group.
func (c *collector) mustHave(rec *record, ticks []core.IndexTick) error {
	c.note(rec)
	for i := range ticks {
		if !c.seconds[ticks[i].Second] {
			return fmt.Errorf("round %d used the index of second %d, which is older than the journal", c.number, ticks[i].Second)
		}
	}
	return nil
}

// note notes the seconds of a group's ticks.
func (c *collector) note(rec *record) {
	for _, r := range rec.rows {
		if t, ok := r.(*tickRow); ok {
			c.seconds[t.Second] = true
		}
	}
}

func (c *collector) write(rec *record) error {
	c.note(rec)
	c.out.row(&rec.group)
	for _, r := range rec.rows {
		c.out.row(r)
	}
	return c.out.err
}

// lineWriter writes the lines of a bundle. It keeps the first error.
type lineWriter struct {
	out   *bufio.Writer
	sum   hash.Hash
	lines int
	err   error
}

func newLineWriter(out io.Writer) *lineWriter {
	return &lineWriter{out: bufio.NewWriter(out), sum: sha256.New()}
}

func (w *lineWriter) row(r row) {
	line, err := encode(r)
	if w.err == nil {
		w.err = err
	}
	if w.err == nil {
		_, w.err = w.out.Write(line)
	}
	w.sum.Write(line)
	w.lines++
}

// end writes the last line.
func (w *lineWriter) end() error {
	w.row(&endRow{Lines: w.lines + 1, SHA256: digest(w.sum.Sum(nil))})
	return errors.Join(w.err, w.out.Flush())
}
