package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// createKey creates a key of user 1.
func createKey(t *testing.T, e *Engine, id string) *core.Key {
	t.Helper()
	if _, err := e.Submit(context.Background(), &core.CreateKey{User: 1, Key: id, Scopes: core.ScopeTrade, Sealed: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	return e.Key(id)
}

// TestNothingBehindARevocation checks that a command whose signature was verified before its
// key was revoked is not sequenced after the revocation: not in the same group, not in the
// next, and not later.
func TestNothingBehindARevocation(t *testing.T) {
	for name, all := range map[string]bool{"one key": false, "all keys of the account": true} {
		t.Run(name, func(t *testing.T) {
			e, h := heldEngine(t, 64)
			defer mustClose(t, e)
			a, b := createKey(t, e, "a"), createKey(t, e, "b")
			h.mu.Lock()
			h.took = make(chan struct{}, 8)
			ctx := context.Background()
			type answer struct {
				id  uint64
				err error
			}
			answers := make(chan answer, 16)
			waiting := 0
			submit := func(key *core.Key, id uint64) {
				waiting++
				go func() {
					_, err := e.SubmitBy(ctx, key, buy(1, id, core.Yes, 4000, 1))
					answers <- answer{id, err}
				}()
			}
			queued := func(n int) {
				for e.QueueDepth() < n {
					time.Sleep(time.Millisecond) // until they wait in the queue, which nothing signals
				}
			}
			submit(a, 1)
			<-h.took // the log has this group, before the revocation
			revoke := &core.RevokeKey{User: 1, Key: "a"}
			if all {
				revoke.Key = ""
			}
			revoked := make(chan error)
			go func() {
				_, err := e.Submit(ctx, revoke)
				revoked <- err
			}()
			submit(a, 2)
			submit(b, 3)
			submit(nil, 4)
			queued(4)
			h.mu.Unlock()
			<-h.took // the log has the revocation's group
			submit(a, 5)
			if err := <-revoked; err != nil {
				t.Fatal(err)
			}
			submit(a, 6)
			want := map[uint64]bool{1: true, 2: false, 3: !all, 4: true, 5: false, 6: false}
			for range waiting {
				got := <-answers
				if want[got.id] != (got.err == nil) || got.err != nil && !errors.Is(got.err, ErrRevoked) {
					t.Errorf("order %d: %v", got.id, got.err)
				}
			}
			e.Read(func(v *venue.Venue, _ *view.View) {
				for id, ok := range want {
					if v.UsedID(1, id) != ok {
						t.Errorf("order %d sequenced: %t", id, !ok)
					}
				}
			})
			later := createKey(t, e, "c")
			if _, err := e.SubmitBy(ctx, later, buy(1, 7, core.Yes, 4000, 1)); err != nil {
				t.Errorf("a key created after the revocation: %v", err)
			}
		})
	}
}

// TestRevocationThatFailed checks a log that fails on the group of a revocation. A command of
// the key behind it gets ErrShed, because it is not in the log. It must not get ErrRevoked:
// the revocation may be missing after the next start.
func TestRevocationThatFailed(t *testing.T) {
	e, h := heldEngine(t, 64)
	a := createKey(t, e, "a")
	h.mu.Lock()
	h.took = make(chan struct{})
	ctx := context.Background()
	answers := make(chan error)
	go func() {
		_, err := e.Submit(ctx, &core.Deposit{User: 1, DepositID: "before", Amount: 1})
		answers <- err
	}()
	<-h.took // the next commands share a group
	go func() {
		_, err := e.Submit(ctx, &core.RevokeKey{User: 1, Key: "a"})
		answers <- err
	}()
	for e.QueueDepth() < 1 {
		time.Sleep(time.Millisecond) // until it waits in the queue, which nothing signals
	}
	behind := make(chan error)
	go func() {
		_, err := e.SubmitBy(ctx, a, buy(1, 1, core.Yes, 4000, 1))
		behind <- err
	}()
	for e.QueueDepth() < 2 {
		time.Sleep(time.Millisecond)
	}
	h.mu.Unlock()
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.fail = errors.New("disk is gone")
	h.mu.Unlock()
	<-h.took
	if err := <-behind; !errors.Is(err, ErrShed) {
		t.Errorf("the command after the revocation: %v", err)
	}
	if err := <-answers; !errors.Is(err, ErrUnknown) {
		t.Errorf("the revocation: %v", err)
	}
	<-e.Stopped()
}

// TestTimeRunsOutBehindARevocation checks that a command whose context ends while the log has
// the revocation of its key gets ErrShed, because it is not in the log.
func TestTimeRunsOutBehindARevocation(t *testing.T) {
	e, h := heldEngine(t, 64)
	defer mustClose(t, e)
	a := createKey(t, e, "a")
	h.mu.Lock()
	h.took = make(chan struct{})
	ctx := context.Background()
	var before, all sync.WaitGroup
	before.Go(func() { do(t, e, &core.Deposit{User: 1, DepositID: "before", Amount: 1}) })
	<-h.took // the next commands share a group
	all.Go(func() { do(t, e, &core.RevokeKey{User: 1, Key: "a"}) })
	for e.QueueDepth() < 1 {
		time.Sleep(time.Millisecond) // until it waits in the queue, which nothing signals
	}
	short, cancel := context.WithCancel(ctx)
	behind := make(chan error)
	go func() {
		_, err := e.SubmitBy(short, a, buy(1, 1, core.Yes, 4000, 1))
		behind <- err
	}()
	for e.QueueDepth() < 2 {
		time.Sleep(time.Millisecond)
	}
	h.mu.Unlock()
	before.Wait()
	h.mu.Lock()
	<-h.took // the log has the revocation's group
	cancel()
	if err := <-behind; !errors.Is(err, ErrShed) {
		t.Errorf("the command after the revocation: %v", err)
	}
	h.took = nil
	h.mu.Unlock()
	all.Wait()
}

// TestRevocationOfAForeignKey checks that revoking a key of another user does nothing to it.
func TestRevocationOfAForeignKey(t *testing.T) {
	e, _ := heldEngine(t, 64)
	defer mustClose(t, e)
	a := createKey(t, e, "a")
	if _, err := e.Submit(context.Background(), &core.RevokeKey{User: 2, Key: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SubmitBy(context.Background(), a, buy(1, 1, core.Yes, 4000, 1)); err != nil {
		t.Error(err)
	}
}
