package mcp

import (
	"context"
	"sync"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/tools"
)

// dispatcher follows the engine for the whole lane. It wakes the watches of an account, a
// round or a market, and keeps the newest transitions of rounds, of which a round's row
// shows only the last.
//
// A watch subscribes before it reads the state, and reads end at dispatcher.seq, so no
// event is lost between a read and a wait.
type dispatcher struct {
	engine *engine.Engine
	stop   context.CancelFunc
	done   chan struct{} // closed when the dispatcher has stopped

	mu            sync.Mutex
	seq           uint64        // the last command applied
	advanced      chan struct{} // closed and forgotten when seq grows; nil while nobody waits for that
	completeAfter uint64        // all transitions after this seq are in recent
	recent        []transition
	users         map[core.UserID]watchSet
	rounds        watchSet
	markets       map[core.MarketID]watchSet
}

// transition is the state of a round after a command.
type transition struct {
	seq   uint64
	round core.Round
}

const maxTransitions = 4096

type watchSet map[*watch]struct{}

// watch is one waiting reader. Its marks record the changes since the last takeChanges.
type watch struct {
	user    core.UserID     // 0: no account
	rounds  bool            // every transition
	markets []core.MarketID // their books and rounds
	wake    chan struct{}

	accountChanged bool // the marks, guarded by dispatcher.mu
	marketsChanged map[core.MarketID]bool
	roundsChanged  map[core.MarketID]bool
}

func newDispatcher(e *engine.Engine) *dispatcher {
	f := e.Follow() // before reading the seq, so that no event is missed
	d := newStoppedDispatcher(e)
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	go d.follow(ctx, f)
	return d
}

// newStoppedDispatcher returns a dispatcher at the engine's seq that does not follow the engine.
func newStoppedDispatcher(e *engine.Engine) *dispatcher {
	seq := e.Seq()
	return &dispatcher{
		engine: e, done: make(chan struct{}), seq: seq, completeAfter: seq,
		users: map[core.UserID]watchSet{}, rounds: watchSet{}, markets: map[core.MarketID]watchSet{},
	}
}

// close ends following, and returns when it has ended.
func (d *dispatcher) close() {
	d.stop()
	<-d.done
}

func (d *dispatcher) follow(ctx context.Context, f *engine.Follower) {
	defer close(d.done)
	for {
		b, err := f.Next(ctx)
		if err != nil {
			return
		}
		d.applyBatch(b)
	}
}

func (d *dispatcher) applyBatch(b *engine.Batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range b.Applied {
		a := &b.Applied[i]
		if a.Stamp.Seq <= d.seq {
			continue
		}
		d.seq = a.Stamp.Seq
		for _, e := range a.Events {
			d.applyEvent(e)
		}
	}
	if d.advanced != nil {
		close(d.advanced)
		d.advanced = nil
	}
}

// catchUp waits until the dispatcher has seen the command with a seq that the engine has applied. It
// returns early when ctx or the dispatcher ends.
func (d *dispatcher) catchUp(ctx context.Context, seq uint64) {
	for {
		d.mu.Lock()
		if d.seq >= seq {
			d.mu.Unlock()
			return
		}
		if d.advanced == nil {
			d.advanced = make(chan struct{})
		}
		advanced := d.advanced
		d.mu.Unlock()
		select {
		case <-advanced:
		case <-d.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (d *dispatcher) applyEvent(e core.Event) {
	switch e := e.(type) {
	case *core.RoundChanged:
		d.recordTransition(e.Round)
		d.markets[e.Round.Market].wakeAll(func(w *watch) { w.roundsChanged[e.Round.Market], w.marketsChanged[e.Round.Market] = true, true })
		d.rounds.wakeAll(func(*watch) {})
	case *core.LevelChanged:
		d.markets[e.Market].wakeAll(func(w *watch) { w.marketsChanged[e.Market] = true })
	case *core.Filled:
		d.markets[e.Market].wakeAll(func(w *watch) { w.marketsChanged[e.Market] = true })
	}
	if len(d.users) > 0 {
		tools.AffectedUsers(e, func(u core.UserID) { d.users[u].wakeAll(func(w *watch) { w.accountChanged = true }) })
	}
}

func (d *dispatcher) recordTransition(r core.Round) {
	if len(d.recent) == maxTransitions {
		half := maxTransitions / 2
		d.completeAfter = d.recent[half-1].seq
		d.recent = append(d.recent[:0:0], d.recent[half:]...)
	}
	d.recent = append(d.recent, transition{d.seq, r})
}

// wakeAll calls note for each watch and wakes it.
func (ws watchSet) wakeAll(note func(*watch)) {
	for w := range ws {
		note(w)
		select {
		case w.wake <- struct{}{}:
		default: // a wake-up is pending
		}
	}
}

// subscribe starts a watch.
func (d *dispatcher) subscribe(w *watch) {
	w.wake, w.marketsChanged, w.roundsChanged = make(chan struct{}, 1), map[core.MarketID]bool{}, map[core.MarketID]bool{}
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.user != 0 {
		addWatch(d.users, w.user, w)
	}
	if w.rounds {
		d.rounds[w] = struct{}{}
	}
	for _, m := range w.markets {
		addWatch(d.markets, m, w)
	}
}

func (d *dispatcher) unsubscribe(w *watch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	removeWatch(d.users, w.user, w)
	delete(d.rounds, w)
	for _, m := range w.markets {
		removeWatch(d.markets, m, w)
	}
}

func addWatch[K comparable](of map[K]watchSet, k K, w *watch) {
	if of[k] == nil {
		of[k] = watchSet{}
	}
	of[k][w] = struct{}{}
}

func removeWatch[K comparable](of map[K]watchSet, k K, w *watch) {
	delete(of[k], w)
	if len(of[k]) == 0 {
		delete(of, k)
	}
}

// takeChanges returns and clears the marks of a watch.
func (d *dispatcher) takeChanges(w *watch) (accountChanged bool, marketsChanged, roundsChanged map[core.MarketID]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	accountChanged, marketsChanged, roundsChanged = w.accountChanged, w.marketsChanged, w.roundsChanged
	w.accountChanged, w.marketsChanged, w.roundsChanged = false, map[core.MarketID]bool{}, map[core.MarketID]bool{}
	return accountChanged, marketsChanged, roundsChanged
}

// transitions returns the transitions after a seq, oldest first, and the seq up to which
// they are complete. For rounds whose transitions are no longer kept it returns the
// current state.
func (d *dispatcher) transitions(after uint64) (list []transition, upTo uint64) {
	d.mu.Lock()
	upTo = d.seq
	from := d.completeAfter
	for _, t := range d.recent {
		if t.seq > max(after, from) { // up to from the rounds below have the last transition
			list = append(list, t)
		}
	}
	d.mu.Unlock()
	if after >= from {
		return list, upTo
	}
	var older []transition
	d.engine.Read(func(_ *venue.Venue, w *view.View) {
		for r := range w.Rounds(0) {
			if r.Seq > after && r.Seq <= from {
				older = append(older, transition{r.Seq, r.Round})
			}
		}
	})
	return append(older, list...), upTo
}
