package day

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds/sim"
	"duplex/internal/atomicfile"
)

// Date is the day, in UTC.
const Date = "2026-11-22"

const (
	start   = int64(1_795_305_600)      // the first second of Date
	seconds = int64(24*time.Hour) / 1e9 // of the day
	until   = seconds - 5*60            // when the session ends: the last rounds settle before midnight
	pause   = 2                         // seconds before the first prices, so that every source has one
	cents   = core.Tick(100)            // pips
	dollars = core.Pips(10_000)         // pips
	funds   = 10_000 * dollars          // of a trader
	stock   = 1_000_000 * dollars       // of the maker
	name    = "journal"                 // of the journal in a data directory
)

// The accounts, in the order in which they are created.
const (
	maker = core.UserID(1 + iota) // quotes both outcomes of every round
	ann                           // takes quotes that are behind the index
	ben                           // trades at random; ann referred him
	cy                            // buys long shots
	dee                           // bids inside the maker's spread, and sells what it has
)

var names = []string{maker: "maker", ann: "ann", ben: "ben", cy: "cy", dee: "dee"}

// Report says what Write has written.
type Report struct {
	Seq    uint64 // of the last command
	Groups uint64
	Chain  [32]byte // running hash of the journal after the last group
	Rounds uint64
}

// Write writes the journal of a day into the data directory dir, which must not have one yet.
// progress is called now and then with the seconds of the day that are done, and of all; nil is not
// called. After an error, the directory has no journal.
func Write(ctx context.Context, dir string, seed uint64, progress func(done, total uint64)) (r Report, err error) {
	to := filepath.Join(dir, name)
	if _, err := os.Lstat(to); err == nil {
		return r, fmt.Errorf("%s: %w", to, os.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, err
	}
	temp, err := os.MkdirTemp(dir, "."+name+"-*")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // after a rename there is nothing to remove
	d := &day{r: rand.New(rand.NewPCG(seed, 0xda7)), world: sim.New(seed), state: replica.New(view.MirroredRetentionCaps())}
	// Unsynced: a day can be made again, and a sync for each of its 137,000 groups would take minutes.
	if d.log, err = journal.Open(temp, journal.Options{Now: func() int64 { return d.now }, Unsynced: true}); err != nil {
		return r, err
	}
	err = d.run(ctx, progress)
	if err = errors.Join(err, d.log.Close()); err != nil {
		return r, err
	}
	if err := os.Rename(temp, to); err != nil {
		return r, err
	}
	return Report{Seq: d.state.Venue.Now().Seq, Groups: d.proposals, Chain: d.log.Last().Chain, Rounds: d.rounds}, atomicfile.SyncDir(dir)
}

// day is the state of one Write.
type day struct {
	r         *rand.Rand
	world     *sim.World
	index     feed.Index
	prices    prices
	log       *journal.File
	state     *replica.Replica
	now       int64 // ns
	proposals uint64
	rounds    uint64
	next      uint64      // client_order_id
	live      []liveRound // of this second
	withdrawn uint64      // id of the withdrawal that waits
}

// operator is the audit entry of the operator's commands.
func operator(why string) core.Audit { return core.Audit{Who: "operator", Why: why} }

func (d *day) run(ctx context.Context, progress func(done, total uint64)) error {
	d.now = start*core.NsPerSec + core.NsPerMs
	cmds := []core.Command{
		&core.ActivateRules{Revision: core.RevisionNewest, Audit: operator("a simulated day")},
		&core.SetFees{Fees: core.Fees{Taker: 250, RebatePct: 20, ReferPct: 10}, Audit: operator("makers and referrers have a share")},
	}
	for u := maker; u <= dee; u++ {
		amount, referrer := funds, core.UserID(0)
		if u == maker {
			amount = stock
		}
		if u == ben {
			referrer = ann
		}
		cmds = append(cmds, &core.CreateUser{Name: names[u], Referrer: referrer, TokenHash: [32]byte{byte(u)}, Audit: operator("a simulated account")},
			&core.Deposit{User: u, DepositID: "first-" + names[u], Amount: amount, Audit: operator("a simulated deposit")})
	}
	cmds = append(cmds, &core.SetSession{Feed: core.BTC, Open: true, Until: (start + until) * core.NsPerSec})
	if err := d.propose(cmds); err != nil {
		return err
	}
	for s := range seconds {
		if s%60 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(uint64(s), uint64(seconds))
			}
		}
		if err := d.second(s); err != nil {
			return fmt.Errorf("second %d: %w", s, err)
		}
	}
	if len(d.live) > 0 {
		return errors.New("rounds are open at the end of the day")
	}
	return nil
}

// second lets one second of the day pass.
func (d *day) second(s int64) error {
	begins := (start + s) * core.NsPerSec
	for _, q := range d.world.Step(time.Second) {
		d.index.Update(q.Feed, q.Source, q.Price, begins-core.NsPerSec+int64(q.After))
	}
	if s < pause {
		return nil
	}
	d.now = begins + core.NsPerMs*int64(1+d.r.IntN(9))
	tick, gap := d.index.Tick(core.BTC, d.now)
	if gap != feed.NoGap {
		return fmt.Errorf("no index: %v", gap)
	}
	d.prices.add(start+s, tick.Price)
	if err := d.propose([]core.Command{&core.PostIndex{Tick: tick}}); err != nil {
		return err
	}
	d.findLive()
	d.now += core.NsPerMs * int64(20+d.r.IntN(60))
	if err := d.propose(append(d.operate(s), d.quote(s)...)); err != nil {
		return err
	}
	d.now += core.NsPerMs * int64(100+d.r.IntN(700))
	return d.propose(d.trade())
}

// propose writes and applies a group, unless it has no commands.
func (d *day) propose(cmds []core.Command) error {
	if d.state.Venue.Due() <= d.now {
		cmds = append([]core.Command{&core.Clock{}}, cmds...)
	}
	if len(cmds) == 0 {
		return nil
	}
	d.proposals++
	g := journal.Group{Proposal: d.proposals}
	var err error
	for _, c := range cmds {
		if g.Body, err = journal.AppendCommand(g.Body, c); err != nil {
			return err
		}
	}
	if err := d.log.Propose(context.Background(), g); err != nil {
		return err
	}
	at := d.log.Last()
	g.Number, g.Chain, g.Stamp = at.Number, at.Chain, at.Stamp
	done, err := d.state.Apply(&g, cmds, nil)
	for _, a := range done.Applied {
		for _, e := range a.Events {
			if e, ok := e.(*core.RoundChanged); ok {
				d.rounds = max(d.rounds, e.Round.Number)
			}
		}
	}
	return err
}

// operate returns what the operator does in this second of the day.
func (d *day) operate(s int64) (cmds []core.Command) {
	const minute, hour = int64(60), int64(3600)
	switch s {
	case 9 * hour:
		cmds = append(cmds, &core.Deposit{User: cy, DepositID: "second-cy", Amount: 2_500 * dollars, Audit: operator("a wire transfer")})
	case 12 * hour, 15 * hour:
		d.withdrawn = d.state.Venue.Now().Seq + 1 // the first command of its group: no Clock is due
		u := ann
		if s == 15*hour {
			u = dee
		}
		cmds = append(cmds, &core.RequestWithdrawal{User: u, ClientID: fmt.Sprint("w", s), Amount: 1_000*dollars + 1, Destination: "bank"})
	case 12*hour + 5*minute, 15*hour + 5*minute:
		cmds = append(cmds, &core.DecideWithdrawal{Withdrawal: d.withdrawn, Complete: s < 13*hour, Audit: operator("the bank's answer")})
	case 13*hour + 37*minute + 30:
		for i := range d.live {
			if r := &d.live[i]; r.Category == 1 {
				cmds = append(cmds, &core.VoidMarket{Market: r.Market, Audit: operator("a simulated dispute")})
			}
		}
	}
	return cmds
}

// liveRound is a round that trades.
type liveRound struct {
	venue.MarketState
	left   int64     // seconds to the close, rounded down
	fair   core.Tick // of YES, by the index of this second
	spread core.Tick // from the fair value to the maker's bid
}

func (d *day) findLive() {
	d.live = d.live[:0]
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		m, ok := d.state.Venue.Market(id)
		if !ok || m.Status.Final() {
			continue
		}
		r := liveRound{MarketState: m, left: (m.CloseTs - d.now) / core.NsPerSec}
		if m.Status == core.Trading && d.now < m.CloseTs {
			r.fair, r.spread = d.prices.value(&m.Round, r.left)
		}
		d.live = append(d.live, r)
	}
}
