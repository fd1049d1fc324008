package mirror

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/view"
	"duplex/internal/memdir"
)

var tempDir = memdir.New

// unbounded are caps that no test reaches.
func unbounded() view.RetentionCaps {
	const n = 1 << 30
	return view.RetentionCaps{Tape: n, Terminal: n, Rejects: n, Fills: n, Settlements: n, Events: n, Rounds: n, Actions: n, Routine: n, Ledger: n, AccountRounds: n, Deposits: n, Forecasts: n}
}

// venueLog writes the journal of a venue with random commands, and keeps the state with all rows.
type venueLog struct {
	t        testing.TB
	dir      string // of the journal
	file     *journal.File
	state    *replica.Replica // nil in benchmarks
	r        *rand.Rand
	now      int64
	proposal uint64
	seconds  int
	id       uint64
	perGroup int
}

const testUsers = 6

func newVenueLog(t testing.TB, seed uint64) *venueLog {
	t.Helper()
	v := &venueLog{t: t, dir: filepath.Join(tempDir(t), "journal"), r: rand.New(rand.NewPCG(seed, 1)), state: replica.New(unbounded()), perGroup: 8, id: math.MaxUint64}
	v.now = 1_800_000_000*core.NsPerSec - 1_800_000_000*core.NsPerSec%(900*core.NsPerSec) + core.NsPerSec + 7
	v.open()
	t.Cleanup(func() { v.file.Close() })
	by := core.Audit{Who: "operator", Why: "a test"}
	rules := core.DefaultRules()
	rules.DisputeNs = 2 * core.NsPerSec
	cmds := []core.Command{&core.SetRules{Rules: rules, Audit: by}, &core.ActivateRules{Revision: core.RevisionNewest, Audit: by}}
	for u := range testUsers {
		cmds = append(cmds, &core.CreateUser{Name: fmt.Sprint("user", u), Referrer: core.UserID(u), TokenHash: [32]byte{byte(u + 1)}, Audit: by})
	}
	for u := range core.UserID(testUsers) {
		cmds = append(cmds, &core.Deposit{User: u + 1, DepositID: fmt.Sprint("d", u), Amount: 100_000_000_000, Audit: by},
			&core.CreateKey{User: u + 1, Key: fmt.Sprint("dxk", u), Scopes: core.ScopeRead | core.ScopeTrade, Sealed: []byte("sealed"), Audit: by})
	}
	cmds = append(cmds, &core.SetSession{Feed: core.BTC, Open: true})
	v.propose(cmds...)
	v.second()
	return v
}

func (v *venueLog) open() {
	v.t.Helper()
	start := journal.Position{}
	paths, err := journal.Snapshots(replica.SnapshotDir(v.dir))
	if err != nil {
		v.t.Fatal(err)
	}
	if len(paths) > 0 {
		r, err := replica.Load(paths[0], caps(), nil)
		if err != nil {
			v.t.Fatal(err)
		}
		start = r.At
	}
	if v.file, err = journal.Open(v.dir, journal.Options{Now: func() int64 { return v.now }, Start: start}); err != nil {
		v.t.Fatal(err)
	}
}

// propose writes a group.
func (v *venueLog) propose(cmds ...core.Command) {
	v.t.Helper()
	v.proposal++
	g := journal.Group{Proposal: v.proposal}
	for _, c := range cmds {
		var err error
		if g.Body, err = journal.AppendCommand(g.Body, c); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := v.file.Propose(v.t.Context(), g); err != nil {
		v.t.Fatal(err)
	}
	last := v.file.Last()
	g.Number, g.Chain, g.Stamp = last.Number, last.Chain, last.Stamp
	if _, err := v.state.Apply(&g, cmds, nil); err != nil {
		v.t.Fatal(err)
	}
}

// second lets one second pass: the clock, an index tick, and some groups of commands.
func (v *venueLog) second() {
	v.t.Helper()
	v.now += core.NsPerSec
	v.seconds++
	if v.state.Venue.Due() <= v.now {
		v.propose(&core.Clock{})
	}
	at := v.now / core.NsPerSec
	v.propose(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: at, Price: 6_500_000_000_000 + core.Price(v.r.IntN(1_000_000_000)), Count: 3,
		Sources: []core.SourcePrice{{Name: "a", Price: 6_500_000_000_000}, {Name: `"b"`, Price: 6_500_000_000_001}}}})
	if v.state.Venue.Due() <= v.now {
		v.propose(&core.Clock{})
	}
	if v.seconds < 3 {
		return
	}
	for range 2 {
		v.now += core.NsPerMs
		cmds := make([]core.Command, v.perGroup)
		for i := range cmds {
			cmds[i] = v.command()
		}
		v.propose(cmds...)
	}
}

func (v *venueLog) run(seconds int) {
	v.t.Helper()
	for range seconds {
		v.second()
	}
}

// command draws a command.
func (v *venueLog) command() core.Command {
	u := core.UserID(1 + v.r.IntN(testUsers))
	m := core.MarketID(1 + v.r.IntN(3))
	for try := range core.MarketID(40) {
		if s, ok := v.state.Venue.Market(m + try); ok && s.Status == core.Trading {
			m += try
			break
		}
	}
	by := core.Audit{Who: "operator", Why: "it's a test"}
	switch v.r.IntN(30) {
	case 0:
		return &core.CancelAll{User: u}
	case 1, 2, 3:
		for o := range v.state.View.Orders(u, 0) {
			if o.Status.Live() {
				return &core.CancelOrder{User: u, Order: o.ID}
			}
		}
	case 4:
		for o := range v.state.View.Orders(u, 0) {
			if o.Status.Live() && o.Left > 1 {
				return &core.DecreaseOrder{User: u, Order: o.ID, Amount: 1}
			}
		}
	case 5:
		return &core.Redeem{User: u, Market: m, Qty: 1}
	case 6:
		return &core.RequestWithdrawal{User: u, ClientID: fmt.Sprint("w", v.r.IntN(1000)), Amount: core.Pips(1 + v.r.IntN(100)), Destination: "bank"}
	case 11:
		for x := range v.state.Venue.Withdrawals(0) {
			return &core.DecideWithdrawal{Withdrawal: x.ID, Complete: v.r.IntN(2) == 0, Audit: by}
		}
	case 7:
		return &core.Deposit{User: u, DepositID: fmt.Sprint("x", v.r.IntN(1000)), Amount: 5, Audit: by}
	case 9, 10:
		if s, ok := v.state.Venue.Market(m); ok {
			return &core.SubmitForecast{User: u, Market: m, Generation: s.Generation, P: core.Probability(v.r.IntN(10_001))}
		}
	case 8:
		return &core.SuspendUser{User: u, Lift: v.r.IntN(4) > 0, Audit: by}
	}
	v.id -= uint64(v.r.IntN(3)) // client order ids from 2^64-1 down; some are duplicates
	p := &core.PlaceOrder{User: u, Market: m, ClientID: v.id, Side: core.Side(v.r.IntN(4) / 3), Outcome: core.Outcome(v.r.IntN(2)), Tick: core.Tick(4000 + 100*v.r.IntN(20)), Qty: core.Qty(1 + v.r.IntN(20)), Group: uint32(v.id % 3), Key: core.KeyNumber(v.r.IntN(2) * int(u))}
	if v.r.IntN(8) == 0 {
		p.TIF, p.Expiry = core.GTT, v.now+int64(v.r.IntN(20))*core.NsPerSec
	}
	if v.r.IntN(8) == 0 {
		p.Type, p.TIF, p.MaxCost = core.Market, core.IOC, math.MaxUint64
	}
	return p
}

// snapshot writes a snapshot of the journal's state, and trims the log before it.
func (v *venueLog) snapshot(trim bool) {
	v.t.Helper()
	im, err := v.state.Image()
	if err != nil {
		v.t.Fatal(err)
	}
	defer im.View.End(noLock{})
	w, err := journal.CreateSnapshot(replica.SnapshotDir(v.dir), im.Seq, im.At)
	if err != nil {
		v.t.Fatal(err)
	}
	hash, err := im.Stream(w, noLock{}, func() error { return nil }, nil)
	if err == nil {
		_, err = w.Commit(hash)
	}
	if err == nil && trim {
		err = v.file.Trim(im.At.Number + 1)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// options returns the options of a mirror of this venue.
func (v *venueLog) options(dsn string) Options {
	return Options{DSN: dsn, Dir: filepath.Join(filepath.Dir(v.dir), "mirror"), Journal: v.dir, Logf: func(msg string, args ...any) { v.t.Log(append([]any{msg}, args...)...) }}
}

// waitFor waits until the mirror is at the end of the journal.
func (v *venueLog) waitFor(m *Mirror) {
	v.t.Helper()
	want := v.file.Last().Number
	waitUntil(v.t, func() bool {
		if err := m.Err(); err != nil {
			v.t.Fatal(err)
		}
		_, at := m.Position()
		return at.Number == want
	})
}

func waitUntil(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition never held")
		}
	}
}

// start starts a mirror that the test ends.
func (v *venueLog) start(o Options) *Mirror {
	m := New(o)
	m.limit = time.Minute // a busy machine may take longer than the limit of a venue
	m.Start(v.file)
	v.t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

// mirror brings a mirror to the end of the journal and closes it.
func (v *venueLog) mirror(o Options) {
	v.t.Helper()
	m := v.start(o)
	v.waitFor(m)
	mustClose(v.t, m)
}

// check compares every list of the mirror, read in pages, with the view that keeps all rows.
func (v *venueLog) check(m *Mirror) {
	v.t.Helper()
	w := v.state.View
	since, _ := m.Since()
	for user := range v.state.Venue.Users() {
		u := user.ID
		compare(v, "orders", filter(w.Orders(u, 0), func(o *view.Order) bool { return o.UpdateSeq > since }), func(from uint64) ([]view.Order, error) { return m.Orders(ctx, u, from, 90, history.OrderFilter{}) },
			func(o *view.Order) uint64 { return o.CreatedSeq }, func(o *view.Order) { o.Key = 0 })
		compare(v, "fills", values(w.Fills(u, 0), since, func(f *view.Fill) uint64 { return f.Seq }), unnumbered(func(from uint64) ([]history.Numbered[view.Fill], error) {
			return m.Fills(ctx, u, from, 90, history.FillFilter{})
		}),
			func(f *view.Fill) uint64 { return f.N }, func(f *view.Fill) { f.Key, f.Group = 0, 0 })
		compare(v, "settlements", values(w.Settlements(u, 0), since, func(s *view.Settlement) uint64 { return s.Seq }), unnumbered(func(from uint64) ([]history.Numbered[view.Settlement], error) {
			return m.Settlements(ctx, u, from, 1e6, history.SettlementFilter{})
		}), nil, nil)
		compare(v, "ledger", values(w.Ledger(u, 0), since, func(r *view.LedgerRow) uint64 { return r.Seq }), func(from uint64) ([]view.LedgerRow, error) { return m.Ledger(ctx, u, from, 90, history.LedgerFilter{}) },
			func(r *view.LedgerRow) uint64 { return r.N }, nil)
		at := v.state.Venue.Now().Seq
		compare(v, "forecasts", values(w.Forecasts(u, 0), since, func(f *view.Forecast) uint64 { return f.Seq }), func(from uint64) ([]view.Forecast, error) {
			return m.Forecasts(ctx, u, from, 9, at, history.ForecastFilter{})
		},
			func(f *view.Forecast) uint64 { return f.N }, nil)
		rounds := func(yield func(*view.AccountRound) bool) {
			for _, x := range w.AccountRounds(u, 0) {
				if x.UpdateSeq > since && !yield(&x) {
					return
				}
			}
		}
		compare(v, "user_rounds", rounds, func(from uint64) ([]view.AccountRound, error) {
			return m.AccountRounds(ctx, u, from, 7, history.AccountRoundFilter{})
		},
			func(x *view.AccountRound) uint64 { return x.Number }, nil)
	}
	for id := range core.MarketID(60) {
		compare(v, "trades", values(w.Trades(id, 0), since, func(x *view.Trade) uint64 { return x.Seq }), unnumbered(func(from uint64) ([]history.Numbered[view.Trade], error) {
			return m.Trades(ctx, id, from, 1e6, history.TradeFilter{})
		}), nil, nil)
	}
	rounds := filter(w.Rounds(0), func(r *view.Round) bool { return r.Seq > since })
	compare(v, "rounds", rounds, func(from uint64) ([]view.Round, error) { return m.Rounds(ctx, from, 3, history.RoundFilter{}) },
		func(r *view.Round) uint64 { return r.Number }, func(r *view.Round) { r.Strikes, r.Evidence = nil, nil })
	for r := range rounds {
		got, err := m.Round(ctx, r.Market, r.Number)
		if err != nil {
			v.t.Fatal(err)
		}
		want := *r
		for _, list := range []*[]core.IndexTick{&want.Strikes, &want.Evidence, &got.Strikes, &got.Evidence} {
			*list = withoutEmpty(*list)
		}
		if since == 0 && !reflect.DeepEqual(got, &want) {
			v.t.Errorf("round %d: got %+v, want %+v", r.Number, got, want)
		}
		if since == 0 && w.HasRoundSeconds(&r.Round) { // not of the oldest rounds of a long journal
			compare(v, "round_seconds", w.RoundSeconds(&r.Round, math.MaxInt64, math.MaxInt), func(from uint64) ([]view.RoundSecond, error) {
				return m.RoundSeconds(ctx, r.Number, 0, int64(from), 50)
			},
				func(s *view.RoundSecond) uint64 { return uint64(s.Second) }, nil)
		}
	}
	for f := range core.Feed(core.Feeds) {
		if since == 0 {
			compare(v, "ticks", w.PriceTicks(f, math.MaxInt64, math.MaxInt), func(from uint64) ([]view.PriceTick, error) { return m.PriceTicks(ctx, f, 0, int64(from), 50) },
				func(s *view.PriceTick) uint64 { return uint64(s.Second) }, nil)
		}
	}
	compare(v, "actions", filter(w.Actions(0), func(a *view.Action) bool { return a.Seq > since }), func(from uint64) ([]view.Action, error) { return m.Actions(ctx, from, 90, history.ActionFilter{}) },
		func(a *view.Action) uint64 { return a.Seq }, nil)
}

var ctx = context.Background()

// compare compares the rows of the view, newest first, with those of the mirror, which are read in
// pages if at returns the position of a row. strip removes what the mirror does not keep.
func compare[T any](v *venueLog, name string, want iter.Seq[*T], page func(from uint64) ([]T, error), at func(*T) uint64, strip func(*T)) {
	v.t.Helper()
	var all, got []T
	for x := range want {
		c := *x
		if strip != nil {
			strip(&c)
		}
		all = append(all, c)
	}
	for from := uint64(0); ; {
		list, err := page(from)
		if err != nil {
			v.t.Fatalf("%s: %v", name, err)
		}
		got = append(got, list...)
		if len(list) == 0 || at == nil {
			break
		}
		from = at(&list[len(list)-1])
	}
	if len(got) != len(all) {
		v.t.Errorf("%s: %d rows, want %d", name, len(got), len(all))
		return
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], all[i]) {
			v.t.Errorf("%s: got %+v, want %+v", name, got[i], all[i])
			return
		}
	}
}

func filter[T any](list iter.Seq[*T], keep func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for x := range list {
			if keep(x) && !yield(x) {
				return
			}
		}
	}
}

func values[T any](list iter.Seq2[uint64, *T], since uint64, seq func(*T) uint64) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, x := range list {
			if seq(x) > since && !yield(x) {
				return
			}
		}
	}
}

func unnumbered[T any](page func(uint64) ([]history.Numbered[T], error)) func(uint64) ([]T, error) {
	return func(from uint64) (out []T, err error) {
		list, err := page(from)
		for _, x := range list {
			out = append(out, x.Row)
		}
		return out, err
	}
}

// withoutEmpty returns the ticks with nil for every empty list.
func withoutEmpty(ticks []core.IndexTick) (out []core.IndexTick) {
	for _, t := range ticks {
		if len(t.Sources) == 0 {
			t.Sources = nil
		}
		out = append(out, t)
	}
	return out
}
