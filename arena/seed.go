package arena

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/timeouts"
	"duplex/schemas"
	"duplex/server"
	"duplex/tools"
)

// seedRun is the run of one seed: a venue, its market and its seats.
type seedRun struct {
	c *Config
	draw
	dir   string // of the bundle
	work  string // the data folder while the venue runs
	seats []*seat
	log   *slog.Logger
	o     *Options

	venue    *server.Venue
	api      *connections
	options  server.Options
	turns    *turns
	follower *engine.Follower

	window *window // of the tape; nil without one
	market
	rounds int // final ones of the series
	shown  int // of them, those that progress knows
}

// seat is a seat in one run.
type seat struct {
	*Seat
	number  int
	digest  *string // of its process
	key     string
	secret  []byte
	user    core.UserID
	waits   *seatWaits
	builtin *builtin
	process *process
	faults  *seatFaults
	log     *trajectory
	exit    *int   // exit status of a process that ended before the run did
	asked   bool   // to end
	misled  uint64 // the number of the newest round in which it got the instruction of a certification

	unauthorized chan struct{} // a token for the newest request that failed authentication
	failures     atomic.Int64  // of authentication

	mu     sync.Mutex
	remote map[string]struct{} // addresses of its connections
}

// newSeedRun prepares the run of a seed whose bundle is dir. seats are those of the config, or one of
// them.
func newSeedRun(c *Config, d draw, dir string, seats []int, o *Options) (s *seedRun, err error) {
	s = &seedRun{c: c, draw: d, window: c.windowOf(d.place), dir: dir, o: o, log: o.Log}
	if s.work, err = os.MkdirTemp(o.Temp, "dx-arena-"); err != nil {
		return nil, err
	}
	defer func(work string) {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(work))
		}
	}(s.work)
	if err = os.MkdirAll(filepath.Join(dir, trajectoriesDir), 0o700); err != nil {
		return nil, err
	}
	secrets := map[string][]byte{}
	var keys []string
	for _, i := range seats {
		x := &seat{Seat: &c.Seats[i], number: i + 1, key: seatKey(i + 1), secret: make([]byte, schemas.SecretLen), remote: map[string]struct{}{}, unauthorized: make(chan struct{}, 1)}
		_, _ = rand.Read(x.secret)
		secrets[x.key] = x.secret
		keys = append(keys, x.key)
		x.faults = newSeatFaults(d.seed, x.Name, x.Seat.faults, c.start, o.closing)
		if x.log, err = newTrajectory(filepath.Join(dir, trajectoriesDir, x.Name+".jsonl"), hex.EncodeToString(x.secret)); err != nil {
			return nil, err
		}
		s.seats = append(s.seats, x)
	}
	s.turns = newTurns(c.start, c.pace, c.stall, keys)
	master, token := make([]byte, 32), make([]byte, 24)
	_, _ = rand.Read(master)
	_, _ = rand.Read(token)
	s.options = venueOptions(&server.Virtual{Now: s.turns.Now, Time: s.turns, Secrets: secrets, Unlimited: c.pace == 0, Intercept: s.intercept, OnUnauthorized: s.unauthorized})
	s.options.Data, s.options.MasterKey, s.options.OperatorToken = s.work, master, "dxo_"+hex.EncodeToString(token)
	s.options.API, s.options.Portal, s.options.Admin, s.options.Log, s.options.Version = o.API, o.Portal, o.Admin, s.log, o.Version
	for _, x := range s.seats {
		x.waits = s.turns.seats[x.key]
		if o.Hand { // it has a turn from its first call on
			s.turns.expect(x.waits)
		}
	}
	return s, nil
}

// venueOptions returns the options on which the commands of a venue depend: those of every venue of an arena.
func venueOptions(v *server.Virtual) server.Options {
	return server.Options{Environment: "arena", Oracle: "sim", DisputeWindow: time.Second, Virtual: v}
}

// open opens the venue, and continues where it was if it was open before.
func (s *seedRun) open(ctx context.Context) (err error) {
	if s.api, err = listen(s.options.API); err != nil {
		return err
	}
	s.options.APIListener = s.api
	if s.venue, err = server.Open(ctx, s.options); err != nil {
		return err
	}
	s.follower = s.venue.Engine().Follow()
	return nil
}

// setUp creates the accounts and opens the session.
func (s *seedRun) setUp() error {
	numbers := make([]int, len(s.seats))
	for i, x := range s.seats {
		numbers[i] = x.number
	}
	for _, cmd := range accountCommands(s.c, numbers) {
		r, err := s.venue.Engine().Submit(context.Background(), cmd)
		if err != nil {
			return err
		}
		switch c := cmd.(type) {
		case *core.CreateAgent:
			if r.Reject != core.OK {
				return badConfig("seat %q: the venue rejects its account: %w", c.Name, r.Reject)
			}
		case *core.CreateKey:
			x := s.seats[slices.IndexFunc(s.seats, func(x *seat) bool { return x.key == c.Key })]
			x.user = c.User
			if x.Kind != "" {
				if err := s.newBuiltin(x); err != nil {
					return err
				}
			}
		}
	}
	s.market = newMarket(s.c, s.seed, s.window)
	return s.submit(&core.SetSession{Feed: s.c.series.Feed, Open: true})
}

// newBuiltin makes the agent of a baseline.
func (s *seedRun) newBuiltin(x *seat) error {
	key := s.venue.Engine().Key(x.key)
	if key == nil {
		return fmt.Errorf("key %s is missing", x.key)
	}
	was := x.builtin
	x.builtin = &builtin{
		act: baselines[x.Kind], venue: s.venue.Gate().Venue, caller: tools.Caller{User: x.user, Key: key}, log: x.log,
		series: s.c.series, r: stream(s.seed, "seat\n"+x.Name),
	}
	if was != nil { // after a restart of the venue
		x.builtin.r, x.builtin.nextID, x.builtin.model, x.builtin.wake = was.r, was.nextID, was.model, was.wake
	}
	return nil
}

// run runs the seed until its rounds are final, or ctx ends.
func (s *seedRun) run(ctx context.Context, progress func(rounds int)) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err = s.open(ctx); err != nil {
		return err
	}
	if err = s.setUp(); err != nil {
		return err
	}
	if s.o.Ready != nil {
		s.o.Ready(s)
	}
	if err = s.startProcesses(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, s.turns.stop) // a turn ends, however long its seat thinks
	defer stop()
	for s.rounds < s.c.Rounds {
		if err = ctx.Err(); err != nil {
			return err
		}
		if err = s.venue.Engine().Err(); err != nil {
			return err
		}
		if err = s.sequenceDue(); err != nil {
			return err
		}
		if s.o.Hand && s.c.pace == 0 {
			if err = s.turns.someone(ctx); err != nil {
				return err
			}
		}
		acted := s.giveTurns()
		if s.observe(progress) || acted && s.due() <= s.now() {
			continue // a seat may react to another at the same time
		}
		if err = s.wait(ctx, s.due()); err != nil {
			return err
		}
	}
	if s.o.closing {
		return s.letSeatsEnd(ctx)
	}
	return nil
}

// giveTurns lets each seat act, in the order of their numbers. It reports whether one may have.
func (s *seedRun) giveTurns() (acted bool) {
	if s.c.pace > 0 {
		for _, x := range s.seats {
			if x.builtin != nil {
				x.builtin.run(s.now())
			}
		}
		return false
	}
	for _, x := range s.seats {
		before := s.venue.Engine().Seq()
		if x.builtin != nil {
			x.builtin.run(s.now())
		} else {
			thought := s.turns.take(x.waits)
			if s.c.Think > 0 {
				s.turns.advance(s.now() + int64(s.c.Think*float64(thought)))
			}
		}
		if s.venue.Engine().Seq() != before {
			acted = true
			s.mark()
		}
	}
	return acted
}

// mark reads what has happened, and marks the seats that may wait for it.
func (s *seedRun) mark() (final int) {
	for {
		select {
		case <-s.follower.Ready():
		default:
			return final
		}
		b, err := s.follower.Next(context.Background())
		if err != nil {
			return final
		}
		for i := range b.Applied {
			s.countPlacement(&b.Applied[i])
			for _, e := range b.Applied[i].Events {
				if r, ok := e.(*core.RoundChanged); ok {
					for _, x := range s.seats {
						s.turns.touch(x.waits)
					}
					if r.Round.Category == s.c.series.Category && r.Round.Status.Final() {
						s.rounds++
					}
				}
				tools.AffectedUsers(e, func(u core.UserID) {
					for _, x := range s.seats {
						if x.user == u {
							s.turns.touch(x.waits)
						}
					}
				})
			}
		}
	}
}

// countPlacement begins the faults that wait for an accepted placement of a seat.
func (s *seedRun) countPlacement(a *engine.Applied) {
	o := core.PlacementOf(a.Command)
	if o == nil || a.Reject != core.OK {
		return
	}
	for _, x := range s.seats {
		if x.user == o.User {
			x.faults.placed(s.now())
		}
	}
}

// observe reads what has happened. It reports whether a seat that waits may have something to react to
// now.
func (s *seedRun) observe(progress func(int)) bool {
	s.mark()
	if s.rounds > s.shown && progress != nil {
		progress(s.rounds)
	}
	s.shown = s.rounds
	return s.c.pace <= 0 && slices.ContainsFunc(s.seats, func(x *seat) bool { return x.builtin == nil && s.turns.isDue(x.waits) })
}

// close ends the seats and the venue.
func (s *seedRun) close() error {
	for _, x := range s.seats {
		if x.process == nil {
			continue
		}
		if status, ended := x.process.exited(); ended && !x.asked {
			x.exit = &status
		}
	}
	s.turns.end()
	for _, x := range s.seats {
		if x.process != nil {
			x.process.stop()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeouts.Of(5*time.Second))
	defer cancel()
	var err error
	if s.venue != nil {
		err = s.venue.Close(ctx)
	}
	for _, x := range s.seats {
		err = errors.Join(err, x.log.close())
	}
	return err
}

// keepJournal copies the journal into the bundle, without the room that was set aside in its files.
func (s *seedRun) keepJournal() error {
	to := filepath.Join(s.dir, "journal")
	if _, err := journal.Copy(context.Background(), filepath.Join(s.work, "journal"), to, journal.CopyOptions{}); err != nil {
		return err
	}
	return os.RemoveAll(s.work)
}
