package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
)

// TestCommitDelay checks that callers that return within the commit delay share a group, and
// that a group does not wait after groups with few callers.
func TestCommitDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, h := heldEngine(t, 4096)
		gate := make(chan struct{})
		h.took = gate
		var callers sync.WaitGroup
		call := func(n int) {
			for range n {
				callers.Go(func() {
					if _, err := e.Submit(context.Background(), &core.CreateUser{Name: "u"}); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		pass := func(want int) { // the next group has been proposed
			t.Helper()
			was := e.stats.Commands.Load()
			<-gate
			synctest.Wait()
			if n := int(e.stats.Commands.Load() - was); n != want {
				t.Errorf("a group of %d, want %d", n, want)
			}
		}
		atGate := func() bool { return e.QueueDepth() == 0 }

		call(1) // no delay
		call(16)
		pass(1)
		pass(16)
		callers.Wait()
		call(5) // (1+16)·3/8
		if atGate() {
			t.Error("the group was sealed before the sixth caller")
		}
		call(1)
		call(16)
		pass(6)
		pass(16)
		callers.Wait()

		begun := time.Now() // (6+16)·3/8 = 8 are expected
		call(2)
		time.Sleep(commitDelayMax - 1)
		synctest.Wait()
		if atGate() {
			t.Error("sealed too early")
		}
		time.Sleep(time.Nanosecond)
		pass(2)
		callers.Wait()
		if took := time.Since(begun); took != commitDelayMax {
			t.Errorf("two of eight waited %v", took)
		}
		begun = time.Now()
		call(1) // (16+2)·3/8 = 6 are expected
		time.Sleep(commitDelayMax)
		pass(1)
		call(1) // none is expected
		pass(1)
		callers.Wait()
		if took := time.Since(begun); took != commitDelayMax {
			t.Errorf("two lone callers took %v", took)
		}
		h.took = nil
		mustClose(t, e)
	})
}
