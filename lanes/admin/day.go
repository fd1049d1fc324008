package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/atomicfile"
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

// Day keeps what this node did in the last 24 hours, in intervals that begin at a multiple of five minutes. A file
// keeps it over restarts, written at the end of each interval and of the node: a snapshot does not hold it, because
// the state of the venue must not depend on the clock of a machine. It is safe for concurrent use.
type Day struct {
	venue *tools.Venue
	stats *gate.Stats
	api   *gate.Listener // may be nil
	path  string         // of the file; "": there is none
	log   *slog.Logger

	mu     sync.Mutex
	since  schemas.U64           // ns
	last   totals                // at the end of the newest interval in done
	done   []schemas.DayInterval // oldest first
	begins time.Time             // of the interval in progress
	before schemas.DayInterval   // what the node before a restart did in the interval in progress
	places int                   // most in the interval in progress
}

// totals are sums since the start of the node, but for money: those are since the venue began.
type totals struct {
	contracts                  uint64
	fees, deposited, paid      core.Pips
	requests, rejected, faults uint64
}

// dayFile is the content of the file of a Day.
type dayFile struct {
	SinceTs   schemas.U64           `json:"since_ts"`
	Intervals []schemas.DayInterval `json:"intervals"` // the last was in progress
	// Sums since the venue began, so that no money is missing after a kill.
	Fees      core.Pips `json:"fees"`
	Deposited core.Pips `json:"deposited"`
	PaidOut   core.Pips `json:"paid_out"`
}

// NewDay begins a history now, or continues that of the file at path, if there is one. A file that cannot be read is
// logged and replaced. api may be nil, path empty.
func NewDay(v *tools.Venue, stats *gate.Stats, api *gate.Listener, path string, log *slog.Logger) *Day {
	return newDay(v, stats, api, path, log, v.Config.Wall().Time())
}

func newDay(v *tools.Venue, stats *gate.Stats, api *gate.Listener, path string, log *slog.Logger, now time.Time) *Day {
	d := &Day{venue: v, stats: stats, api: api, path: path, log: log, since: schemas.U64(now.UnixNano()), begins: now.Truncate(dayInterval)}
	d.last = d.read()
	d.places = d.open()
	if path == "" {
		return d
	}
	var f dayFile
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		log.Warn("the last day cannot be read and begins anew", "file", path, "err", err)
	default:
		d.resume(&f)
	}
	return d
}

// resume continues the history of a file.
func (d *Day) resume(f *dayFile) {
	d.since = min(d.since, f.SinceTs)
	d.done = f.Intervals
	if n := len(d.done) - 1; n >= 0 && d.done[n].StartTs == schemas.U64(d.begins.UnixNano()) {
		d.before, d.done = d.done[n], d.done[:n]
	}
	d.forget()
	// The data may be those of a backup, older than the file.
	d.last.fees, d.last.deposited, d.last.paid = min(d.last.fees, f.Fees), min(d.last.deposited, f.Deposited), min(d.last.paid, f.PaidOut)
}

// forget drops the intervals that began over a day before the one in progress.
func (d *Day) forget() {
	first := schemas.U64(d.begins.Add(-dayLength).UnixNano())
	d.done = slices.DeleteFunc(d.done, func(x schemas.DayInterval) bool { return x.StartTs < first })
}

// Run keeps the history until stopping is closed.
func (d *Day) Run(stopping <-chan struct{}) {
	ticks := time.NewTicker(placesEvery)
	defer ticks.Stop()
	for {
		select {
		case <-stopping:
			d.save()
			return
		case <-ticks.C:
			if d.observe(d.venue.Config.Wall().Time()) {
				d.save()
			}
		}
	}
}

// save writes the file.
func (d *Day) save() {
	if d.path == "" {
		return
	}
	d.mu.Lock()
	t := d.read()
	f := dayFile{d.since, append(slices.Clone(d.done), d.interval(t)), t.fees, t.deposited, t.paid}
	d.mu.Unlock()
	text, err := json.Marshal(&f)
	if err == nil {
		err = atomicfile.Write(d.path, text)
	}
	if err != nil {
		d.log.Warn("the last day is not kept over a restart", "file", d.path, "err", err)
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

// observe counts the places, and reports whether it ended the interval in progress, because now is past it. A process
// that was stopped for longer has one interval for all of that time, which begins when the first would have.
func (d *Day) observe(now time.Time) (ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places = max(d.places, d.open())
	begins := now.Truncate(dayInterval)
	if !begins.After(d.begins) {
		return false
	}
	t := d.read()
	d.done = append(d.done, d.interval(t))
	d.last, d.begins, d.before, d.places = t, begins, schemas.DayInterval{}, d.open()
	d.forget()
	return true
}

// interval returns the interval in progress, up to the totals t.
func (d *Day) interval(t totals) schemas.DayInterval {
	contracts := t.contracts
	if contracts >= d.last.contracts { // else the node has replaced its state, and counts from 0 again
		contracts -= d.last.contracts
	}
	b := &d.before
	return schemas.DayInterval{
		StartTs: schemas.U64(d.begins.UnixNano()), Contracts: b.Contracts + schemas.U64(contracts),
		Fees: b.Fees + schemas.U64(t.fees-d.last.fees), Deposited: b.Deposited + schemas.U64(t.deposited-d.last.deposited), PaidOut: b.PaidOut + schemas.U64(t.paid-d.last.paid),
		Requests: b.Requests + t.requests - d.last.requests, Rejected: b.Rejected + t.rejected - d.last.rejected, Faults: b.Faults + t.faults - d.last.faults,
		Connections: max(b.Connections, d.places),
	}
}

// History returns the last day up to now. The newest interval is in progress.
func (d *Day) History(now time.Time) (out schemas.AdminDay) {
	d.observe(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	out = schemas.AdminDay{SinceTs: d.since, IntervalSeconds: int(dayInterval / time.Second)}
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
