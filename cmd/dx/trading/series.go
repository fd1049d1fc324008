package trading

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/round"
	"duplex/feeds/session"
	"duplex/schemas"
	"duplex/tools"
)

// SeriesFlag is the value of --series: the name of a series, such as btc-15m. A series
// trades in one market slot after another, so its name outlasts a market_id.
type SeriesFlag string

// UnmarshalText implements encoding.TextUnmarshaler. It rejects unknown names.
func (f *SeriesFlag) UnmarshalText(text []byte) error {
	name := strings.ToLower(string(text))
	all := core.AllSeries()
	if !slices.ContainsFunc(all[:], func(s core.Series) bool { return tools.SeriesName(s) == name }) {
		names := make([]string, len(all))
		for i, s := range all {
			names[i] = tools.SeriesName(s)
		}
		return fmt.Errorf("unknown series %q; the series are %s", text, strings.Join(names, ", "))
	}
	*f = SeriesFlag(name)
	return nil
}

// Category returns the category of the series.
func (f SeriesFlag) Category() uint16 { return f.series().Category }

// series returns the series that f names. f must have been set by UnmarshalText.
func (f SeriesFlag) series() core.Series {
	all := core.AllSeries()
	return all[slices.IndexFunc(all[:], func(s core.Series) bool { return tools.SeriesName(s) == string(f) })]
}

// SeriesName returns the name of the series with a category, or #n if there is none.
func SeriesName(category uint16) string {
	for _, s := range core.AllSeries() {
		if s.Category == category {
			return tools.SeriesName(s)
		}
	}
	return fmt.Sprintf("#%d", category)
}

// newestRound returns the newest round of a series; false if it has had none.
func newestRound(ctx context.Context, c *client.Client, s core.Series) (r schemas.Round, ok bool, err error) {
	l, err := c.Rounds(ctx, schemas.ListRounds{Category: schemas.Ptr(schemas.Int(s.Category)), Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(1))}})
	if err != nil || len(l.Rounds) == 0 {
		return r, false, err
	}
	return l.Rounds[0], true, nil
}

// liveRound returns the round in which the series trades now. Its market and generation
// together name that round alone: an order that carries both cannot reach another one.
// Without such a round the error is a *noLiveMarket.
func (f SeriesFlag) liveRound(ctx context.Context, c *client.Client) (schemas.Round, error) {
	return f.roundIn(ctx, c, "trading")
}

// openRound is liveRound, and also returns a frozen round: it has a book, and its orders
// can be canceled.
func (f SeriesFlag) openRound(ctx context.Context, c *client.Client) (schemas.Round, error) {
	return f.roundIn(ctx, c, "trading", "frozen")
}

func (f SeriesFlag) roundIn(ctx context.Context, c *client.Client, statuses ...string) (schemas.Round, error) {
	r, ok, err := newestRound(ctx, c, f.series())
	if err != nil {
		return r, cli.Explain(err)
	}
	if ok && slices.Contains(statuses, r.Status) {
		return r, nil
	}
	o, err := readOpenings(ctx, c)
	if err != nil {
		return r, cli.Explain(err)
	}
	return schemas.Round{}, &noLiveMarket{series: f, next: o.next(f.series(), r.OpenTs.Int64())}
}

// noLiveMarket reports that a series has no round to trade in now, and when it will.
type noLiveMarket struct {
	series SeriesFlag
	next   opening
}

func (e *noLiveMarket) Error() string {
	return fmt.Sprintf("%s has no live market now: %s", e.series, e.next.sentence())
}

// openings holds what decides when a series opens its next round: the venue's clock, the
// session times of gold and WTI, and the prices (docs/rules/rounds.md#opening).
type openings struct {
	now      time.Time
	sessions []schemas.Window // openings and closings to come, in order
	prices   [core.Feeds]schemas.OraclePrice
}

// venueTime reads the clock of stamps and rounds, in ns (docs/rules/rest.md#get_time). A venue of version
// 0.1.0 has one clock.
func venueTime(ctx context.Context, c *client.Client) (schemas.U64, error) {
	t, err := c.Time(ctx)
	return cmp.Or(t.VenueTime, t.ServerTime), err
}

func readOpenings(ctx context.Context, c *client.Client) (o openings, err error) {
	now, err := venueTime(ctx, c)
	if err != nil {
		return o, err
	}
	o.now = time.Unix(0, now.Int64())
	l, err := c.Schedule(ctx)
	if err != nil {
		return o, err
	}
	for _, w := range l.Schedule {
		if slices.Contains(sessionKinds, w.Kind) {
			o.sessions = append(o.sessions, w)
		}
	}
	for feed := range o.prices {
		if o.prices[feed], err = c.OraclePrice(ctx, feed); err != nil {
			return o, err
		}
	}
	return o, nil
}

// sessionKinds are the entries of the schedule that open or close a session.
var sessionKinds = []string{sessionOpen, "session_close", "holiday", string(session.CalendarEnd)}

const sessionOpen = "session_open"

// opening says when a series opens its next round.
type opening struct {
	feed   core.Feed
	at     time.Time     // zero if the schedule does not say
	in     time.Duration // from now; 0 if the round may open at once
	closed bool          // the session is closed until then
	stale  bool          // the feed has no fresh price, and no round opens without one
}

// next returns when a series may open a round, if its last one opened at lastOpen, in
// ns; 0 if it has had none. Gold and WTI share one schedule, whose entries name no feed:
// on the few days when they close at different times, WTI may open later than it says.
func (o *openings) next(s core.Series, lastOpen int64) opening {
	last := int64(-1)
	if lastOpen > 0 {
		last, _ = round.Period(s, lastOpen)
	}
	out := opening{feed: s.Feed, stale: o.stale(s.Feed)}
	at := o.now.UnixNano()
	for range 2 * (len(o.sessions) + 2) {
		if ok, later := round.MayOpen(s, at, last); !ok {
			at = later
			continue
		}
		if s.Feed.HasSessions() {
			open, opens := o.session(s, at)
			if !open && opens == 0 {
				return out
			}
			if !open {
				at, out.closed = opens, true
				continue
			}
		}
		out.at, out.in = time.Unix(0, at), time.Unix(0, at).Sub(o.now)
		return out
	}
	return out
}

// session reports whether a session is open at ts and stays open until the end of the round that
// would open at ts. If not, opens is the time at which the next session begins, 0 if unknown. A
// venue without a schedule is always in session.
func (o *openings) session(s core.Series, ts int64) (open bool, opens int64) {
	_, end := round.Period(s, ts)
	open = len(o.sessions) == 0 || o.sessions[0].Kind != sessionOpen // now
	for _, w := range o.sessions {
		at, opening := w.StartTs.Int64(), w.Kind == sessionOpen
		switch {
		case at <= ts:
			open = opening
		case open && at >= end:
			return true, 0
		case !open && opening:
			return false, at
		case at < end:
			open = false
		}
	}
	return open, 0
}

// freshFor is the maximum age of an index price with which a round opens, counted from the end of
// the second that the price is for.
const freshFor = 5 * time.Second

func (o *openings) stale(feed core.Feed) bool {
	p := o.prices[feed]
	return p.Price == 0 || o.now.Sub(time.Unix(0, p.Ts.Int64())) > freshFor+time.Second
}

// sentence returns the opening as a sentence.
func (n opening) sentence() string {
	switch {
	case n.at.IsZero():
		return fmt.Sprintf("the session of %s is closed, and the schedule does not say when it opens", n.feed)
	case n.stale && n.in <= 0:
		return fmt.Sprintf("no round opens without a price, and there is no fresh price of %s", n.feed)
	case n.in <= 0:
		return "its next round opens any moment"
	}
	text := fmt.Sprintf("its next round opens at %s UTC, in %s", n.clock(), seconds(n.in))
	if n.closed {
		text = fmt.Sprintf("the session of %s is closed; %s", n.feed, text)
	}
	if n.stale {
		text += fmt.Sprintf(", if there is a fresh price of %s by then", n.feed)
	}
	return text
}

// status returns the opening in a few words, for a column.
func (n opening) status() string {
	switch {
	case n.at.IsZero():
		return "session closed"
	case n.stale && n.in <= 0:
		return "waiting for a price"
	case n.in <= 0:
		return "opening"
	case n.closed:
		return "closed until " + n.clock() + " UTC"
	default:
		return "opens in " + seconds(n.in)
	}
}

// clock returns the time of day in UTC, with the day of the week if it is more than a day
// away.
func (n opening) clock() string {
	if n.in > 24*time.Hour {
		return n.at.UTC().Format("Mon 15:04:05")
	}
	return n.at.UTC().Format(time.TimeOnly)
}

// seconds formats a duration, rounded up to whole seconds; a negative one is 0s.
func seconds(d time.Duration) string {
	return (max(0, d) + time.Second - 1).Truncate(time.Second).String()
}
