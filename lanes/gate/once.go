package gate

import (
	"sync"
	"time"

	"duplex/schemas"
	"duplex/tools"
)

// once remembers the answers of operations that must not happen twice. An exact
// repeat of a request inside the replay window waits for the first and is given its
// answer (contract core, Order of checks). It is kept in memory: over a restart the
// window is closed by the time anything is served again, or within seconds of it.
type once struct {
	mu    sync.Mutex
	seen  map[string]*first
	queue []*first // by time
}

type first struct {
	repeat string
	until  int64
	done   chan struct{}
	out    any
	err    error
}

// enter gives the first call's record, and whether this is it.
func (o *once) enter(repeat string, now int64) (f *first, mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && o.queue[0].until < now {
		delete(o.seen, o.queue[0].repeat)
		o.queue[0] = nil
		o.queue = o.queue[1:]
	}
	if f, ok := o.seen[repeat]; ok {
		return f, false
	}
	f = &first{repeat: repeat, until: now + int64(onceKept/time.Nanosecond), done: make(chan struct{})}
	o.seen[repeat] = f
	o.queue = append(o.queue, f)
	return f, true
}

func onlyOnce[Out any](o *once, repeat string, now int64, do func() (Out, error)) (Out, error) {
	f, mine := o.enter(repeat, now)
	if !mine {
		<-f.done // the first has a time budget of its own
		out, _ := f.out.(Out)
		return out, f.err
	}
	defer close(f.done)
	f.err = tools.Refuse("internal") // to repeats, should it panic
	out, err := do()
	f.out, f.err = out, err
	if err != nil && schemas.MeaningOf(tools.ErrorOf(err).Code).Retry == schemas.Safe {
		o.forget(repeat) // nothing was done: who sends the same again means it
	}
	return out, err
}

func (o *once) forget(repeat string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, repeat)
}
