package lanetest

import (
	"context"
	"sync/atomic"
	"testing"

	"duplex/core/engine"
	"duplex/core/journal"
)

// HeldLog is a log whose next Propose waits once Hold is set: it sends on Took, then
// receives from Let.
type HeldLog struct {
	engine.Log
	Hold      atomic.Bool
	Took, Let chan struct{}
}

func (l *HeldLog) Propose(ctx context.Context, g journal.Group) error {
	if l.Hold.CompareAndSwap(true, false) {
		l.Took <- struct{}{}
		<-l.Let
	}
	return l.Log.Propose(ctx, g)
}

// NewHeld returns a venue on a HeldLog.
func NewHeld(t testing.TB) (*Server, *HeldLog) {
	l := &HeldLog{Took: make(chan struct{}), Let: make(chan struct{})}
	return New(t, func(o *engine.Options) {
		o.OpenLog = func(j journal.Options) (_ engine.Log, err error) {
			l.Log, err = journal.Open(o.Dir, j)
			return l, err
		}
	}), l
}
