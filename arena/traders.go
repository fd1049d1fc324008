package arena

import (
	"math/rand/v2"

	"duplex/core"
	"duplex/core/venue"
)

// marketMaker is the market maker of the arena. It bids for both outcomes of the series' round every three
// seconds.
type marketMaker struct {
	user   core.UserID
	series core.Series
	last   int64 // seconds before the close, at which it cancels
	model  model
	nextID uint64
}

const (
	makerEvery   = 3 // seconds
	makerQty     = core.Qty(100)
	makerNetMax  = core.Qty(1000)
	makerLastSec = 3

	// On a tape of minutes the last price before the close holds for the whole time whose mean decides the round, so
	// the market ends before that price is known.
	minutesLastSec = 63
)

// lastSec returns how many seconds before the close the market ends on a tape, or without one.
func lastSec(t *tape) int64 {
	if t != nil && t.minutes {
		return minutesLastSec
	}
	return makerLastSec
}

// orders returns the commands of a second.
func (h *marketMaker) orders(now int64, v *venue.Venue) (cmds []core.Command) {
	if t, ok, _, _ := v.Index(h.series.Feed); ok {
		h.model.observe(t.Second, t.Price)
	}
	var r liveRound
	if !findLive(v, h.series.Category, h.user, &r) || now >= r.CloseTs || h.model.price == 0 {
		return nil
	}
	left := (r.CloseTs - now) / core.NsPerSec
	if left%makerEvery != 0 && left != h.last {
		return nil
	}
	cmds = append(cmds, &core.CancelAll{User: h.user, Market: r.Market})
	if left <= h.last {
		return cmds
	}
	if pairs := min(r.yes, r.no); pairs >= makerQty {
		cmds = append(cmds, &core.Redeem{User: h.user, Market: r.Market, Qty: pairs})
	}
	fair, move := h.model.value(&r.Round, now)
	edge := min(max(move, 150), 900)
	net := min(max(r.yes-r.no, -makerNetMax), makerNetMax)
	tilt := 2 * edge * core.Tick(net) / core.Tick(makerNetMax)
	for depth := core.Tick(0); depth < 2; depth++ {
		away := edge * (1 + 2*depth)
		for _, q := range []struct {
			outcome core.Outcome
			price   core.Tick
			full    bool
		}{{core.Yes, fair - tilt - away, net >= makerNetMax}, {core.No, 10_000 - fair + tilt - away, net <= -makerNetMax}} {
			if tick := legal(q.price); tick > 0 && !q.full {
				h.nextID++
				cmds = append(cmds, &core.PlaceOrder{User: h.user, ClientID: h.nextID, Market: r.Market, Side: core.Buy, Outcome: q.outcome, Tick: tick, Qty: makerQty, Flags: core.PostOnly})
			}
		}
	}
	return cmds
}

// noise are traders without information: in each second each of noiseTrials draws decides whether an
// order arrives, so that the number of arrivals has a known rate and is almost Poisson distributed.
type noise struct {
	user   core.UserID
	series core.Series
	r      *rand.Rand
	last   int64  // seconds before the close from which no order arrives; 0: until the close
	chance uint32 // of a draw, of 2^32
	nextID uint64
	second int64   // whose arrivals are drawn
	queue  []int64 // times of the arrivals, ns, rising

	arrived func(ts int64) // for tests; nil is not called
}

const noiseTrials = 20

func newNoise(r *rand.Rand, s core.Series, u core.UserID, milli int64) *noise {
	return &noise{user: u, series: s, r: r, chance: uint32(milli * (1 << 32) / 1000 / noiseTrials)}
}

// draw draws the arrivals of the second that begins at a time in ns.
func (n *noise) draw(begin int64) {
	for i := range int64(noiseTrials) {
		if n.r.Uint32() < n.chance {
			const slot = core.NsPerSec / noiseTrials
			n.queue = append(n.queue, begin+i*slot+1+n.r.Int64N(slot-1))
		}
	}
}

// next returns the time of the next arrival.
func (n *noise) next(now int64) int64 {
	for len(n.queue) == 0 {
		n.second = max(n.second+core.NsPerSec, now-now%core.NsPerSec)
		n.draw(n.second)
		if n.second-now > 10*core.NsPerSec {
			return n.second // nothing for long: look again then
		}
	}
	return n.queue[0]
}

// orders returns the order of an arrival that is due.
func (n *noise) orders(now int64, v *venue.Venue) (cmds []core.Command) {
	for len(n.queue) > 0 && n.queue[0] <= now {
		if n.arrived != nil {
			n.arrived(n.queue[0])
		}
		n.queue = n.queue[1:]
		o, qty, sells := core.Outcome(n.r.IntN(2)), core.Qty(1+n.r.IntN(30)), n.r.IntN(2) == 0
		var r liveRound
		if !findLive(v, n.series.Category, n.user, &r) || now >= r.CloseTs-n.last*core.NsPerSec {
			continue
		}
		n.nextID++
		c := &core.PlaceOrder{User: n.user, ClientID: n.nextID, Market: r.Market, Outcome: o, Qty: qty, TIF: core.IOC}
		if free := []core.Qty{core.Yes: r.yesFree, core.No: r.noFree}[o]; sells && free > 0 {
			c.Side, c.Qty = core.Sell, min(qty, free)
			bid := r.askOf(o.Other()) // a buyer of o is a bid
			if bid == 0 {
				continue
			}
			c.Tick = bid.Opposite()
		} else if c.Tick = r.askOf(o); c.Tick == 0 {
			continue
		}
		cmds = append(cmds, c)
	}
	return cmds
}
