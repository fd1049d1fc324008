package admin

import (
	"context"
	"slices"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// The history of a day (docs/rules/operation.md#admin-last_day).
const (
	dayLength   = 24 * time.Hour
	dayInterval = 5 * time.Minute
	// placesEvery is how often the open connections are counted: the most in an interval are kept.
	placesEvery = 10 * time.Second
)

// Day keeps what this node did in the last 24 hours, in intervals that begin at a multiple of five
// minutes. It is in memory and begins with the node: a snapshot does not hold it, because the state of
// the venue must not depend on the clock of a machine. It is safe for concurrent use.
type Day struct {
	venue *tools.Venue
	stats *gate.Stats
	api   *gate.Listener // may be nil

	mu     sync.Mutex
	since  time.Time
	last   totals                // at the end of the newest interval in done
	done   []schemas.DayInterval // oldest first
	begins time.Time             // of the interval in progress
	places int                   // most in the interval in progress
}

// totals are sums since the start of the node, but for money: those are since the venue began.
type totals struct {
	contracts                  uint64
	fees, deposited, paid      core.Pips
	requests, rejected, faults uint64
}

// NewDay begins a history now. api may be nil.
func NewDay(v *tools.Venue, stats *gate.Stats, api *gate.Listener) *Day {
	now := v.Config.Wall().Time()
	d := &Day{venue: v, stats: stats, api: api, since: now, begins: now.Truncate(dayInterval)}
	d.last = d.read()
	d.places = d.open()
	return d
}

// Run keeps the history until stopping is closed.
func (d *Day) Run(stopping <-chan struct{}) {
	ticks := time.NewTicker(placesEvery)
	defer ticks.Stop()
	for {
		select {
		case <-stopping:
			return
		case <-ticks.C:
			d.observe(d.venue.Config.Wall().Time())
		}
	}
}

// read returns the totals now.
func (d *Day) read() (t totals) {
	d.venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		s := v.Sums()
		t.contracts, t.fees, t.deposited, t.paid = w.Contracts(), s.Fees, s.Deposits, s.Withdrawals
		for x := range v.OpenWithdrawals(0) {
			t.paid -= x.Amount
		}
	})
	d.stats.Ops(func(lane, _ string, o *gate.OpStats) {
		if lane == "admin" { // what this page asks
			return
		}
		failed := o.Failed.Load()
		t.requests += o.Succeeded.Load() + failed
		t.rejected += failed
	})
	d.stats.Errors(func(code string, n uint64) {
		if schemas.ErrorInfoOf(code).HTTP >= 500 {
			t.faults += n
		}
	})
	return t
}

func (d *Day) open() int {
	if d.api == nil {
		return 0
	}
	return d.api.Conns()
}

// observe counts the places, and ends the interval in progress if now is past it. A process that was
// stopped for longer has one interval for all of that time, which begins when the first would have.
func (d *Day) observe(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places = max(d.places, d.open())
	begins := now.Truncate(dayInterval)
	if !begins.After(d.begins) {
		return
	}
	t := d.read()
	d.done = append(d.done, d.interval(t))
	d.last, d.begins, d.places = t, begins, d.open()
	first := schemas.U64(begins.Add(-dayLength).UnixNano())
	d.done = slices.DeleteFunc(d.done, func(x schemas.DayInterval) bool { return x.StartTs < first })
}

// interval returns the interval in progress, up to the totals t.
func (d *Day) interval(t totals) schemas.DayInterval {
	contracts := t.contracts
	if contracts >= d.last.contracts { // else the node has replaced its state, and counts from 0 again
		contracts -= d.last.contracts
	}
	return schemas.DayInterval{
		StartTs: schemas.U64(d.begins.UnixNano()), Contracts: schemas.U64(contracts),
		Fees: schemas.U64(t.fees - d.last.fees), Deposited: schemas.U64(t.deposited - d.last.deposited), PaidOut: schemas.U64(t.paid - d.last.paid),
		Requests: t.requests - d.last.requests, Rejected: t.rejected - d.last.rejected, Faults: t.faults - d.last.faults, Connections: d.places,
	}
}

// History returns the last day up to now. The newest interval is in progress.
func (d *Day) History(now time.Time) (out schemas.AdminDay) {
	d.observe(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	out = schemas.AdminDay{SinceTs: schemas.U64(d.since.UnixNano()), IntervalSeconds: int(dayInterval / time.Second)}
	if d.api != nil {
		out.Places = d.api.Places()
	}
	out.Intervals = append(append([]schemas.DayInterval{}, d.done...), d.interval(d.read()))
	return out
}

// lastDay returns the history of the last day of this node.
func (l *lane) lastDay(context.Context, *gate.Call, *schemas.None) (schemas.AdminDay, error) {
	return l.Day.History(l.Venue.Config.Wall().Time()), nil
}
