package arena

import (
	"duplex/core"
	"duplex/core/venue"
	"duplex/server"
)

// action is what a seat of a training environment does in a step.
type action uint8

const (
	hold action = iota
	buyYes
	buyNo
	sellYes
	sellNo
	actions // how many there are
)

// environment is a training environment: the venue of one seed with its market and its seats, in memory. It
// has no engine, no journal and no lanes. Its commands and their stamps are those of a run in which seats over
// the ordinary lanes act in the same way, so both have the same commands_hash.
type environment struct {
	market
	set    *environmentSettings
	venue  *venue.Venue
	events *core.Events
	hash   commandsHash
	now    int64 // venue time, ns
	until  int64 // when the next step begins, ns
	final  int   // rounds of the series
	steps  int
	ended  string // terminated or truncated; "": neither
	seats  []trainee
}

// environmentSettings are the settings of environments, which they share.
type environmentSettings struct {
	c        *Config
	opening  []core.Command // creates the accounts and opens the session
	users    []core.UserID  // of the seats
	step     int64          // ns
	qty      core.Qty
	maxSteps int // 0: no limit
}

// trainee is a seat of a training environment.
type trainee struct {
	user   core.UserID
	key    core.KeyNumber
	nextID uint64
	live   liveRound // when the seat looked; of market 0: none
	seen   sight
}

// sight is what a seat sees after a step.
type sight struct {
	index, strike core.Price // at 1e8 scale; 0: none
	secs          int64      // to the close of the live round; 0: none
	bid, ask      core.Tick  // of YES; 0: none
	yes, no       core.Qty   // held of the live round
	equity        core.Pips
	rejected      core.Reject // of the order of the step
}

// firstLook is the venue time from the begin to the first observation: the first round is open by then.
const firstLook = 2 * core.NsPerSec

// newEnvironmentSettings prepares environments with the seats of a complete config.
func newEnvironmentSettings(c *Config, step int64, qty core.Qty, maxSteps int) (*environmentSettings, error) {
	set := &environmentSettings{c: c, step: step, qty: qty, maxSteps: maxSteps}
	options := venueOptions(&server.Virtual{})
	options.MasterKey = make([]byte, 32) // no command depends on it
	var err error
	if set.opening, err = server.OpeningCommands(options); err != nil {
		return nil, err
	}
	numbers := make([]int, len(c.Seats))
	for i := range numbers {
		numbers[i] = i + 1
	}
	set.opening = append(set.opening, accountCommands(c, numbers)...)
	for _, cmd := range set.opening {
		if k, ok := cmd.(*core.CreateKey); ok {
			set.users = append(set.users, k.User)
		}
	}
	set.opening = append(set.opening, &core.SetSession{Feed: c.series.Feed, Open: true})
	return set, nil
}

// newEnvironment opens the venue of a seed, and lets time pass until the first observation.
func newEnvironment(set *environmentSettings, seed uint64) (*environment, error) {
	e := &environment{
		market: newMarket(set.c, seed, set.c.windowOf(int(seed%maxSeeds))), set: set, venue: venue.New(), events: core.NewEvents(16),
		hash: newCommandsHash(), now: set.c.start, until: set.c.start + firstLook,
	}
	for _, cmd := range set.opening {
		r, err := e.apply(cmd)
		if err == nil && r != core.OK {
			err = r
		}
		if err != nil {
			return nil, badConfig("the venue rejects %T: %w", cmd, err)
		}
	}
	for _, u := range set.users {
		for k := range e.venue.KeysOf(u) {
			e.seats = append(e.seats, trainee{user: u, key: k.Number, nextID: 1})
		}
	}
	if err := e.pass(); err != nil {
		return nil, err
	}
	e.look()
	return e, nil
}

// play takes a step: each seat acts in its turn, time passes, and each seat looks. An environment that has
// ended stays as it is.
func (e *environment) play(does []action) error {
	if e.ended != "" {
		return nil
	}
	for i := range e.seats {
		if err := e.act(&e.seats[i], does[i]); err != nil {
			return err
		}
	}
	e.until += e.set.step
	if err := e.pass(); err != nil {
		return err
	}
	e.look()
	e.steps++
	switch {
	case e.final >= e.set.c.Rounds:
		e.ended = "terminated"
	case e.steps == e.set.maxSteps:
		e.ended = "truncated"
	}
	return nil
}

// pass lets time pass until the next step begins, or until the last round is final, where a run ends too.
func (e *environment) pass() error {
	for {
		if err := e.sequence(e.now, e, false); err != nil {
			return err
		}
		if e.now >= e.until || e.final >= e.set.c.Rounds {
			return nil
		}
		e.now = max(e.now, min(e.market.due(e.now, e), e.until))
	}
}

// act sends the order of an action, at the best price that the seat has seen.
func (e *environment) act(s *trainee, a action) error {
	s.seen.rejected = core.OK
	r := &s.live
	if a == hold || r.Market == 0 {
		return nil
	}
	cmd := &core.PlaceOrder{User: s.user, Key: s.key, ClientID: s.nextID, Market: r.Market, Generation: r.Generation, Qty: e.set.qty, TIF: core.IOC}
	held := r.yes
	if a == buyNo || a == sellNo {
		cmd.Outcome, held = core.No, r.no
	}
	if a == buyYes || a == buyNo {
		cmd.Tick = r.askOf(cmd.Outcome)
	} else {
		cmd.Side, cmd.Qty = core.Sell, min(cmd.Qty, held)
		if other := r.askOf(cmd.Outcome.Other()); other != 0 { // a buyer of the outcome
			cmd.Tick = other.Opposite()
		}
	}
	if cmd.Tick == 0 || cmd.Qty == 0 {
		return nil
	}
	s.nextID++
	var err error
	s.seen.rejected, err = e.apply(cmd)
	return err
}

// look updates what the seats see.
func (e *environment) look() {
	tick, _, _, _ := e.venue.Index(e.series.Feed)
	for i := range e.seats {
		s := &e.seats[i]
		s.live = liveRound{}
		findLive(e.venue, e.series.Category, s.user, &s.live)
		r := &s.live
		s.seen = sight{
			index: tick.Price, strike: r.Strike, secs: max(0, (r.CloseTs-e.venue.Now().Ts)/core.NsPerSec), bid: r.bid, ask: r.ask, yes: r.yes, no: r.no,
			equity: e.venue.Equity(s.user), rejected: s.seen.rejected,
		}
	}
}

// submit implements sequencer.
func (e *environment) submit(cmds ...core.Command) error {
	for _, cmd := range cmds {
		if _, err := e.apply(cmd); err != nil {
			return err
		}
	}
	return nil
}

// apply executes a command now, with the stamp that an engine would give it.
func (e *environment) apply(cmd core.Command) (core.Reject, error) {
	last := e.venue.Now()
	at := core.Stamp{Seq: last.Seq + 1, Ts: max(e.now, last.Ts+1)}
	if err := e.hash.add(at, cmd); err != nil {
		return 0, err
	}
	e.events.Reset()
	r := e.venue.Apply(at, cmd, e.events)
	for _, x := range e.events.List {
		if c, ok := x.(*core.RoundChanged); ok && c.Round.Category == e.series.Category && c.Round.Status.Final() {
			e.final++
		}
	}
	return r, nil
}

// clockDue implements sequencer.
func (e *environment) clockDue() int64 {
	if at := e.venue.Due(); at > e.venue.Now().Ts+1 {
		return at
	}
	return 0
}

// read implements sequencer.
func (e *environment) read(f func(*venue.Venue)) { f(e.venue) }
