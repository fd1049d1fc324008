package arena

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errEnded means that the run of a seed has ended.
var errEnded = errors.New("the run has ended")

// turns is the clock of a run in step pace. Time stands still during the turn of a seat, and only that
// seat's requests are admitted. The turn ends when the seat waits: when it has at least one open
// request, and all of them wait for venue time or for an event.
type turns struct {
	now   atomic.Int64 // venue time, ns
	stall time.Duration
	pace  int64     // venue seconds in a second of the machine; 0: step pace
	begun time.Time // of a paced run
	start int64     // venue time at begun

	mu      sync.Mutex
	changed *sync.Cond
	seats   map[string]*seatWaits // by key id
	current *seatWaits            // whose requests are admitted; nil: no seat's
	ended   bool                  // no request is admitted: the run has ended, or the venue restarts
	stopped bool                  // the run has ended or is stopped: ended for good
	quit    chan struct{}         // closed by end
}

// seatWaits is the state of one seat.
type seatWaits struct {
	open     int // requests that are not answered
	blocked  []*blocked
	dirty    bool // something has happened that a blocked request may wait for
	gone     bool // the process has ended, or there is none
	stalled  bool
	stalls   int
	admitted int           // of them, those that had their turn
	calls    int           // admitted in this turn
	allowed  int           // calls of a turn, after which the seat has lost it
	thought  time.Duration // before the calls of this turn
	active   time.Time     // when a request came or ended
	idle     time.Time     // since when no request is in progress; zero: one is
}

// blocked is a request that waits for venue time.
type blocked struct {
	until   int64
	awake   bool
	dropped bool // its connection was cut
}

func newTurns(start, pace int64, stall time.Duration, keys []string) *turns {
	t := &turns{stall: stall, pace: pace, start: start, begun: time.Now(), seats: map[string]*seatWaits{}, quit: make(chan struct{})}
	t.changed = sync.NewCond(&t.mu)
	t.now.Store(start)
	for _, k := range keys {
		t.seats[k] = &seatWaits{allowed: callsMax, active: time.Now(), idle: time.Now()}
	}
	go func() { // a stall has no event of its own
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				t.broadcast()
			case <-t.quit:
				return
			}
		}
	}()
	return t
}

// Now returns venue time in ns.
func (t *turns) Now() int64 {
	if t.pace == 0 {
		return t.now.Load()
	}
	return max(t.now.Load(), t.start+int64(time.Since(t.begun))*t.pace)
}

// advance moves venue time on.
func (t *turns) advance(to int64) {
	if to > t.now.Load() {
		t.now.Store(to)
	}
}

// waits reports whether every open request of the seat is blocked, and there is one.
func (s *seatWaits) waits() bool { return s.open > 0 && s.open == len(s.blocked) }

// enter blocks a request of a seat until the seat's turn. It returns the time that the seat took
// before the request.
func (t *turns) enter(ctx context.Context, s *seatWaits) (thought time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.open++
	s.active, s.stalled = time.Now(), false
	if !s.idle.IsZero() {
		thought, s.idle = time.Since(s.idle), time.Time{}
	}
	t.changed.Broadcast()
	if t.pace > 0 {
		s.admitted++
		return thought, nil
	}
	stop := context.AfterFunc(ctx, t.broadcast)
	defer stop()
	for !(t.current == s && s.calls < s.allowed) && !s.gone && !t.ended && ctx.Err() == nil {
		t.changed.Wait()
	}
	err = ctx.Err()
	if t.ended {
		err = errEnded
	}
	if err != nil {
		s.leave()
		return thought, err
	}
	s.admitted++
	s.calls++
	s.thought += thought
	return thought, nil
}

// The calls of a turn: the greatest number without a wait, and that of a seat that has passed it
// before.
const (
	callsMax       = 2_000
	callsAfterward = 20
)

func (t *turns) broadcast() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed.Broadcast()
}

// leave ends a request that enter admitted.
func (t *turns) leave(s *seatWaits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.admitted--
	s.leave()
	t.changed.Broadcast()
}

func (s *seatWaits) leave() {
	s.open--
	s.active = time.Now()
	if s.open == len(s.blocked) {
		s.idle = s.active
	}
}

// Await implements tools.VirtualTime.
func (t *turns) Await(ctx context.Context, key string, until int64, changed <-chan struct{}) (bool, error) {
	if t.pace > 0 {
		return t.awaitPaced(ctx, until, changed)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.seats[key]
	switch {
	case t.now.Load() >= until:
		return true, nil
	case s == nil || s.gone || t.ended:
		return false, errEnded
	}
	p := &blocked{until: until}
	s.blocked = append(s.blocked, p)
	s.active = time.Now()
	t.changed.Broadcast()
	stop := context.AfterFunc(ctx, t.broadcast)
	defer stop()
	for !p.awake && !p.dropped && !s.gone && !t.ended && ctx.Err() == nil {
		t.changed.Wait()
	}
	if !p.awake {
		s.blocked = slices.DeleteFunc(s.blocked, func(x *blocked) bool { return x == p })
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case t.ended || s.gone || p.dropped:
		return false, errEnded
	}
	return t.now.Load() >= until, nil
}

func (t *turns) awaitPaced(ctx context.Context, until int64, changed <-chan struct{}) (bool, error) {
	left := time.Duration((until - t.Now() + t.pace - 1) / t.pace)
	if left <= 0 {
		return true, nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return t.Now() >= until, nil
}

// expect marks a seat that nobody waits for until its first call.
func (t *turns) expect(s *seatWaits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.stalled = true
}

// someone waits until a seat has called.
func (t *turns) someone(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	stop := context.AfterFunc(ctx, t.broadcast)
	defer stop()
	for ctx.Err() == nil {
		for _, s := range t.seats {
			if !s.gone && !s.stalled {
				return nil
			}
		}
		t.changed.Wait()
	}
	return ctx.Err()
}

// take gives a seat its turn, and returns when the seat waits, has stalled or is gone. A seat that
// waits already, for nothing that has come, has no turn. It returns the time of the machine that the
// seat took between its calls, which does not include the time of the calls.
func (t *turns) take(s *seatWaits) (thought time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now.Load()
	due := func(p *blocked) bool { return s.dirty || p.until <= now }
	if s.gone || s.stalled || s.waits() && !slices.ContainsFunc(s.blocked, due) {
		return 0
	}
	t.current = s
	s.calls, s.thought = 0, 0
	s.active = time.Now()
	s.blocked = slices.DeleteFunc(s.blocked, func(p *blocked) bool {
		p.awake = due(p)
		return p.awake
	})
	s.dirty = false
	t.changed.Broadcast()
	for !s.waits() && !s.gone && !t.ended {
		if s.calls >= s.allowed && s.admitted == len(s.blocked) { // it floods the venue: what it sends now waits for its next turn
			s.stalls++
			s.allowed = callsAfterward
			break
		}
		if time.Since(s.active) >= t.stall {
			s.stalled = true
			s.stalls++
			s.thought += time.Since(s.active)
			break
		}
		t.changed.Wait()
	}
	t.current = nil
	return s.thought
}

// release ends the waits of a seat whose connections were cut, and waits until its requests have ended.
// The venue notices a cut connection some time later, or never: a call of an older revision of MCP goes
// on without it. Meanwhile the seat would look as if it waits, and venue time would pass. It reports
// false if a request is open after limit.
func (t *turns) release(s *seatWaits, limit time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range s.blocked {
		p.dropped = true
	}
	t.changed.Broadcast()
	end := time.Now().Add(limit)
	timer := time.AfterFunc(limit, t.broadcast)
	defer timer.Stop()
	for s.admitted > 0 && !s.gone && !t.ended {
		if time.Now().After(end) {
			return false
		}
		t.changed.Wait()
	}
	return true
}

// wakes returns the earliest time that a blocked request waits for; never if there is none.
func (t *turns) wakes() (at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at = never
	for _, s := range t.seats {
		for _, p := range s.blocked {
			at = min(at, p.until)
		}
	}
	return at
}

// leaveSeat marks that a seat will not call any more.
func (t *turns) leaveSeat(s *seatWaits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.gone = true
	t.changed.Broadcast()
}

// touch marks that something has happened that a seat may wait for.
func (t *turns) touch(s *seatWaits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.dirty = true
}

// end ends all waits. No request is admitted any more. It must be called once.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.stopped = true, true
	t.changed.Broadcast()
	close(t.quit)
}

// stop ends all turns and waits for good, because the run is stopped.
func (t *turns) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.stopped = true, true
	t.changed.Broadcast()
}

// isOver reports whether the run has ended or is stopped, or the process of a seat has ended.
func (t *turns) isOver(s *seatWaits) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped || s.gone
}

// isDue reports whether a seat that waits would have a turn now.
func (t *turns) isDue(s *seatWaits) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now.Load()
	return !s.gone && !s.stalled && slices.ContainsFunc(s.blocked, func(p *blocked) bool { return s.dirty || p.until <= now })
}

// cut ends all waits, because the venue closes, and admits no requests until uncut.
func (t *turns) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Broadcast()
}

// uncut admits requests again, unless the run is stopped.
func (t *turns) uncut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.stopped
}

// forgiveStalls lets a seat lose its turn after limit already, and does not count it, until the function that
// it returns is called.
func (t *turns) forgiveStalls(limit time.Duration) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stall = min(t.stall, limit)
	counted := map[*seatWaits]int{}
	for _, s := range t.seats {
		counted[s] = s.stalls
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for s, n := range counted {
			s.stalls = n
		}
	}
}
