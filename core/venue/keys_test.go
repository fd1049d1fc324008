package venue

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"duplex/core"
)

// keyVenue returns a venue with three accounts.
func keyVenue() (*Venue, func(core.Command) (core.Reject, []core.Event)) {
	v, at := New(), core.Stamp{}
	do := func(c core.Command) (core.Reject, []core.Event) {
		at.Seq++
		at.Ts++
		ev := &core.Events{}
		return v.Apply(at, c, ev), ev.List
	}
	for _, c := range rulesOf(core.RevisionNewest) {
		do(c)
	}
	for range 3 {
		do(&core.CreateUser{})
	}
	return v, do
}

// rulesOf returns the commands that put the default rules in force under a revision.
func rulesOf(r core.Revision) []core.Command {
	return []core.Command{&core.ActivateRules{Revision: r}, &core.SetRules{Rules: core.DefaultRules()}}
}

func ids(keys func(func(core.Key) bool)) (out []string) {
	for k := range keys {
		out = append(out, fmt.Sprintf("%s:%d:%s:%t", k.ID, k.User, k.Sealed, k.Revoked))
	}
	return out
}

// TestRevokedKeyIsRemoved checks that a revoked key leaves the state. A restored venue has the same keys.
func TestRevokedKeyIsRemoved(t *testing.T) {
	v, do := keyVenue()
	for i, u := range []core.UserID{1, 2, 1, 2, 1} {
		do(&core.CreateKey{User: u, Key: fmt.Sprint("k", i), Sealed: []byte("old")})
	}
	do(&core.RevokeKey{User: 1, Key: "k2"})
	do(&core.RevokeKey{User: 2, Key: "k0"})
	do(&core.ResealKey{Key: "k4", Sealed: []byte("new")})
	if rej, _ := do(&core.ResealKey{Key: "k2", Sealed: []byte("new")}); rej != core.UnknownKey {
		t.Errorf("a revoked key is resealed: %v", rej)
	}
	rej, events := do(&core.RevokeKey{User: 2})
	if rej != core.OK || len(events) != 2 || events[0].(*core.KeyChanged).Key.ID != "k1" || !events[1].(*core.KeyChanged).Key.Revoked {
		t.Errorf("all keys of 2: %v, %v", rej, events)
	}
	if rej, events := do(&core.RevokeKey{User: 2}); rej != core.OK || len(events) != 0 {
		t.Errorf("again: %v, %v", rej, events)
	}
	if rej, _ := do(&core.CreateKey{User: 3, Key: "k0"}); rej != core.UnknownKey {
		t.Errorf("a second key with the same id: %v", rej)
	}
	if rej, _ := do(&core.CreateKey{User: 3, Key: "k2"}); rej != core.OK {
		t.Errorf("the id of a revoked key: %v", rej)
	}
	do(&core.RevokeKey{User: 3, Key: "k2"})
	again := restored(t, v)
	left := []string{"k0:1:old:false", "k4:1:new:false"}
	for _, x := range []*Venue{v, again} {
		if got := ids(x.Keys()); !slices.Equal(got, left) || len(x.keys.numbers) != 2 {
			t.Errorf("keys %v, %d ids", got, len(x.keys.numbers))
		}
		if got := ids(x.KeysOf(1)); !slices.Equal(got, left) {
			t.Errorf("keys of 1: %v", got)
		}
		if got := ids(x.KeysOf(2)); got != nil {
			t.Errorf("keys of 2: %v", got)
		}
	}
}

// TestKeyMemory checks what a live key costs in the venue's memory, as docs/rules/limits.md#bounds
// states it:
//
//	go test ./core/venue -run KeyMemory -v
func TestKeyMemory(t *testing.T) {
	const n, stated = 10_000, 400
	v, do := keyVenue()
	before := heapInUse()
	for i := range n {
		do(&core.CreateKey{User: core.UserID(1 + i%3), Key: fmt.Sprintf("dxk%024x", i), Sealed: make([]byte, 60), Label: "a bot of mine"})
	}
	used := (int64(heapInUse()) - int64(before)) / n
	t.Logf("%d bytes a key", used)
	if used > stated {
		t.Errorf("%d bytes a key, %d are stated", used, stated)
	}
	runtime.KeepAlive(v)
}
