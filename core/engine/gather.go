package engine

import (
	"context"
	"time"
)

// Callers who were answered together come back together, the first of them long before
// the last. A group sealed for the first alone has all others wait for a sync of its
// own. So the sequencer waits until about as many are here as came lately, and not for
// long (databases call it a commit delay). Where few come at a time it waits for nobody.
const (
	gatherMost = 400 * time.Microsecond // a sync takes about as long
	gatherFrom = 6                      // callers: fewer are not waited for
)

// lately are the callers of the last two groups: those who are late for one are in the
// other.
type lately [2]int

func (l *lately) note(callers int) {
	if callers > 0 {
		l[0], l[1] = l[1], callers
	}
}

// due is how many callers to wait for, three quarters of the mean; 0: none.
func (l *lately) due() int {
	if n := 3 * (l[0] + l[1]) / 8; n >= gatherFrom {
		return n
	}
	return 0
}

// gather waits for callers who are due. It needs a timer that nobody waits for.
func (e *Engine) gather(ctx context.Context, timer *time.Timer) {
	if !e.queue.expect(e.lately.due()) {
		return
	}
	timer.Reset(gatherMost)
	select {
	case <-e.queue.enough:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// expect asks to be told by enough when n callers are here; false if they are, or if
// there is nobody to keep waiting.
func (q *queue) expect(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open.callers == 0 || q.open.callers >= n {
		return false
	}
	select {
	case <-q.enough: // of an expectation whose time ran out
	default:
	}
	q.due = n
	return true
}
