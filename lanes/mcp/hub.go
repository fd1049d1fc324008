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

// hub is the lane's one follower of the engine. It wakes who waits for an account, a
// round or a market, and keeps the newest transitions of rounds: a round's row shows
// only its last.
//
// A watch is entered before its reader looks at the state, and what is looked at
// ends at hub.seq, so that nothing happens between looking and waiting unseen.
type hub struct {
	engine *engine.Engine
	stop   context.CancelFunc
	ended  chan struct{} // closed when nobody shall wait any longer

	mu      sync.Mutex
	seq     uint64 // the last command looked at
	from    uint64 // transitions after this seq are all kept
	kept    []transition
	users   map[core.UserID]watches
	rounds  watches
	markets map[core.MarketID]watches
}

// transition is a round as a command left it.
type transition struct {
	seq   uint64
	round core.Round
}

const transitionsKept = 4096

type watches map[*watch]struct{}

// watch is one reader who waits. The marks say what happened since it last looked.
type watch struct {
	user    core.UserID     // 0: no account
	rounds  bool            // every transition
	markets []core.MarketID // their books and rounds
	wake    chan struct{}

	account bool // marks, under hub.mu
	moved   map[core.MarketID]bool
	turned  map[core.MarketID]bool
}

func newHub(e *engine.Engine) *hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &hub{
		engine: e, stop: cancel, ended: make(chan struct{}),
		users: map[core.UserID]watches{}, rounds: watches{}, markets: map[core.MarketID]watches{},
	}
	f := e.Follow() // first, so that nothing is missed
	e.Read(func(v *venue.Venue, _ *view.View) { h.seq = v.Now().Seq })
	h.from = h.seq
	go h.follow(ctx, f)
	return h
}

func (h *hub) close() {
	h.stop()
}

func (h *hub) follow(ctx context.Context, f *engine.Follower) {
	defer close(h.ended)
	for {
		b, err := f.Next(ctx)
		if err != nil {
			return
		}
		h.take(b)
	}
}

func (h *hub) take(b *engine.Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range b.Applied {
		a := &b.Applied[i]
		if a.Stamp.Seq <= h.seq {
			continue
		}
		h.seq = a.Stamp.Seq
		for _, e := range a.Events {
			h.event(e)
		}
	}
}

func (h *hub) event(e core.Event) {
	switch e := e.(type) {
	case *core.RoundChanged:
		h.keep(e.Round)
		h.markets[e.Round.Market].mark(func(w *watch) { w.turned[e.Round.Market], w.moved[e.Round.Market] = true, true })
		h.rounds.mark(func(*watch) {})
	case *core.LevelChanged:
		h.markets[e.Market].mark(func(w *watch) { w.moved[e.Market] = true })
	case *core.Filled:
		h.markets[e.Market].mark(func(w *watch) { w.moved[e.Market] = true })
	}
	if len(h.users) > 0 {
		tools.Touched(e, func(u core.UserID) { h.users[u].mark(func(w *watch) { w.account = true }) })
	}
}

func (h *hub) keep(r core.Round) {
	if len(h.kept) == transitionsKept {
		half := transitionsKept / 2
		h.from = h.kept[half-1].seq
		h.kept = append(h.kept[:0:0], h.kept[half:]...)
	}
	h.kept = append(h.kept, transition{h.seq, r})
}

// mark notes something in each watch and wakes it.
func (ws watches) mark(note func(*watch)) {
	for w := range ws {
		note(w)
		select {
		case w.wake <- struct{}{}:
		default: // it was woken and has not looked yet
		}
	}
}

// enter begins a watch.
func (h *hub) enter(w *watch) {
	w.wake, w.moved, w.turned = make(chan struct{}, 1), map[core.MarketID]bool{}, map[core.MarketID]bool{}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.user != 0 {
		put(h.users, w.user, w)
	}
	if w.rounds {
		h.rounds[w] = struct{}{}
	}
	for _, m := range w.markets {
		put(h.markets, m, w)
	}
}

func (h *hub) leave(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	take(h.users, w.user, w)
	delete(h.rounds, w)
	for _, m := range w.markets {
		take(h.markets, m, w)
	}
}

func put[K comparable](of map[K]watches, k K, w *watch) {
	if of[k] == nil {
		of[k] = watches{}
	}
	of[k][w] = struct{}{}
}

func take[K comparable](of map[K]watches, k K, w *watch) {
	delete(of[k], w)
	if len(of[k]) == 0 {
		delete(of, k)
	}
}

// news gives and clears the marks of a watch.
func (h *hub) news(w *watch) (account bool, moved, turned map[core.MarketID]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	account, moved, turned = w.account, w.moved, w.turned
	w.account, w.moved, w.turned = false, map[core.MarketID]bool{}, map[core.MarketID]bool{}
	return account, moved, turned
}

// transitions gives those after a seq, oldest first, and the seq up to which they
// are told. What is older than what is kept shows as the state it led to.
func (h *hub) transitions(after uint64) (list []transition, upTo uint64) {
	h.mu.Lock()
	upTo = h.seq
	from := h.from
	for _, t := range h.kept {
		if t.seq > after {
			list = append(list, t)
		}
	}
	h.mu.Unlock()
	if after >= from {
		return list, upTo
	}
	var old []transition
	h.engine.Read(func(_ *venue.Venue, w *view.View) {
		for r := range w.Rounds(0) {
			if r.Seq > after && r.Seq <= from {
				old = append(old, transition{r.Seq, r.Round})
			}
		}
	})
	return append(old, list...), upTo
}
