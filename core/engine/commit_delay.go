package engine

import (
	"context"
	"time"
)

// Callers whose group completes at the same moment send their next commands at about the
// same time, but the first of them well before the last. If a group were sealed as soon as
// the first caller returns, the others would wait for a second sync. So the sequencer waits
// briefly, until about as many callers have joined as in recent groups: a commit delay, as
// in databases. With few callers it does not wait.
const (
	commitDelayMax        = 400 * time.Microsecond // about the time of a sync
	commitDelayMinCallers = 6                      // there is no delay for fewer
)

// recentCallers has the numbers of callers of the last two groups. It takes two, because
// callers that miss one group join the next.
type recentCallers [2]int

func (l *recentCallers) record(callers int) {
	if callers > 0 {
		l[0], l[1] = l[1], callers
	}
}

// expected is the number of callers to wait for: three quarters of the mean, or 0 for no
// delay.
func (l *recentCallers) expected() int {
	if n := 3 * (l[0] + l[1]) / 8; n >= commitDelayMinCallers {
		return n
	}
	return 0
}

// commitDelay waits until the expected callers have joined the open group, at most
// commitDelayMax. It resets timer, which the caller must not be waiting for.
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

// expectCallers has callersArrived signaled when n callers have joined the open group. It
// returns false if there is nothing to wait for: n callers are there already, none is, or a full
// group waits.
func (q *queue) expectCallers(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.full) > 0 || q.open.callers == 0 || q.open.callers >= n {
		return false
	}
	select {
	case <-q.callersArrived: // a stale signal of a wait that timed out
	default:
	}
	q.expectedCallers = n
	return true
}
