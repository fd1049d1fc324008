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
	commitDelayMax        = 400 * time.Microsecond // a sync takes about as long
	commitDelayMinCallers = 6                      // callers: fewer are not waited for
)

// recentCallers are the callers of the last two groups: those who are late for one are in the
// other.
type recentCallers [2]int

func (l *recentCallers) record(callers int) {
	if callers > 0 {
		l[0], l[1] = l[1], callers
	}
}

// expected is how many callers to wait for, three quarters of the mean; 0: none.
func (l *recentCallers) expected() int {
	if n := 3 * (l[0] + l[1]) / 8; n >= commitDelayMinCallers {
		return n
	}
	return 0
}

// commitDelay waits for callers who are due. It needs a timer that nobody waits for.
func (e *Engine) commitDelay(ctx context.Context, timer *time.Timer) {
	if !e.queue.expectCallers(e.recentCallers.expected()) {
		return
	}
	timer.Reset(commitDelayMax)
	select {
	case <-e.queue.callersArrived:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// expectCallers asks to be told by enough when n callers are here; false if they are, or if
// there is nobody to keep waiting.
func (q *queue) expectCallers(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open.callers == 0 || q.open.callers >= n {
		return false
	}
	select {
	case <-q.callersArrived: // of an expectation whose time ran out
	default:
	}
	q.expectedCallers = n
	return true
}
