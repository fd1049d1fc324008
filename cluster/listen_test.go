package cluster

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhenFree checks that an address which a closed socket still holds for a moment is waited for, that one in use
// is given up after freeWait, and that another error ends the wait.
func TestWhenFree(t *testing.T) {
	inUse, other := fmt.Errorf("listen: %w", syscall.EADDRINUSE), errors.New("no such address")
	for _, test := range []struct {
		name string
		free time.Duration // in use until then
		then error
		want error
		took time.Duration
	}{
		{"free", 0, nil, nil, 0},
		{"held for a moment", 3 * freeEvery, nil, nil, 3 * freeEvery},
		{"in use", time.Hour, nil, inUse, freeWait + freeEvery},
		{"another error", freeEvery, other, other, freeEvery},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := whenFree(func() error {
					if time.Since(begun) < test.free {
						return inUse
					}
					return test.then
				})
				if !errors.Is(err, test.want) || time.Since(begun) != test.took {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(begun), test.want, test.took)
				}
			})
		})
	}
}
