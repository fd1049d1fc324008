package engine

import (
	"context"
	"errors"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// createKey creates a key of user 1, under rules that number keys.
func createKey(t *testing.T, e *Engine, id string) *core.Key {
	t.Helper()
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	if _, err := e.Submit(context.Background(), &core.CreateKey{User: 1, Key: id, Scopes: core.ScopeTrade, Sealed: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	return e.Key(id)
}

// signed returns the order as signed with a key, or with none if key is nil.
func signed(key *core.Key, c *core.PlaceOrder) *core.PlaceOrder {
	if key != nil {
		c.Key = key.Number
	}
	return c
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
					_, err := e.Submit(ctx, signed(key, buy(1, id, core.Yes, 4000, 1)))
					answers <- answer{id, err}
				}()
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
			queued(e, 4)
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
			if _, err := e.Submit(ctx, signed(later, buy(1, 7, core.Yes, 4000, 1))); err != nil {
				t.Errorf("a key created after the revocation: %v", err)
			}
		})
	}
}

// TestRevocationOfAForeignKey checks that revoking a key of another user does nothing to it.
func TestRevocationOfAForeignKey(t *testing.T) {
	e, _ := heldEngine(t, 64)
	defer mustClose(t, e)
	a := createKey(t, e, "a")
	if _, err := e.Submit(context.Background(), &core.RevokeKey{User: 2, Key: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(context.Background(), signed(a, buy(1, 1, core.Yes, 4000, 1))); err != nil {
		t.Error(err)
	}
}
