package venue

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"duplex/core"
)

// keyVenue returns a venue with three accounts under a revision of the rules.
func keyVenue(t testing.TB, r core.Revision) (*Venue, func(core.Command) (core.Reject, []core.Event)) {
	v, at := New(), core.Stamp{}
	do := func(c core.Command) (core.Reject, []core.Event) {
		at.Seq++
		at.Ts++
		ev := &core.Events{}
		return v.Apply(at, c, ev), ev.List
	}
	for _, c := range rulesOf(r) {
		do(c)
	}
	for range 3 {
		do(&core.CreateUser{})
	}
	return v, do
}

// rulesOf returns the commands that put the default rules in force under a revision.
func rulesOf(r core.Revision) []core.Command {
	rules := core.DefaultRules()
	if r <= core.RevisionStrict {
		rules.Revision = r
		return []core.Command{&core.SetRules{Rules: rules}}
	}
	return []core.Command{&core.ActivateRules{Revision: r}, &core.SetRules{Rules: rules}}
}

func ids(keys func(func(core.Key) bool)) (out []string) {
	for k := range keys {
		out = append(out, fmt.Sprintf("%s:%d:%s:%t", k.ID, k.User, k.Sealed, k.Revoked))
	}
	return out
}

// TestRevokedKeyIsRemoved checks that a revoked key leaves the state. Under the first revision it stays
// until rules of a later revision come into force. A restored venue has the same keys.
func TestRevokedKeyIsRemoved(t *testing.T) {
	for _, r := range []core.Revision{core.RevisionFirst, core.RevisionStrict, core.RevisionAgents} {
		v, do := keyVenue(t, r)
		for i, u := range []core.UserID{1, 2, 1, 2, 1} {
			do(&core.CreateKey{User: u, Key: fmt.Sprint("k", i), Sealed: []byte("old")})
		}
		do(&core.RevokeKey{User: 1, Key: "k2"})
		do(&core.RevokeKey{User: 2, Key: "k0"})
		do(&core.ResealKey{Key: "k4", Sealed: []byte("new")})
		if rej, _ := do(&core.ResealKey{Key: "k2", Sealed: []byte("new")}); (rej == core.OK) != (r == core.RevisionFirst) {
			t.Errorf("revision %d: a revoked key is resealed: %v", r, rej)
		}
		rej, events := do(&core.RevokeKey{User: 2})
		if rej != core.OK || len(events) != 2 || events[0].(*core.KeyChanged).Key.ID != "k1" || !events[1].(*core.KeyChanged).Key.Revoked {
			t.Errorf("revision %d: all keys of 2: %v, %v", r, rej, events)
		}
		if rej, events := do(&core.RevokeKey{User: 2}); rej != core.OK || len(events) != 0 {
			t.Errorf("revision %d: again: %v, %v", r, rej, events)
		}
		if rej, _ := do(&core.CreateKey{User: 3, Key: "k0"}); rej != core.UnknownKey {
			t.Errorf("revision %d: a second key with the same id: %v", r, rej)
		}
		if rej, _ := do(&core.CreateKey{User: 3, Key: "k2"}); (rej == core.OK) != (r >= core.RevisionStrict) {
			t.Errorf("revision %d: the id of a revoked key: %v", r, rej)
		}
		do(&core.RevokeKey{User: 3, Key: "k2"})
		all := []string{"k0:1:old:false", "k4:1:new:false"}
		if r == core.RevisionFirst {
			all = []string{"k0:1:old:false", "k1:2:old:true", "k2:1:new:true", "k3:2:old:true", "k4:1:new:false"}
		}
		b, err := v.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Restore(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*Venue{v, again} {
			if got := ids(x.Keys()); !slices.Equal(got, all) {
				t.Errorf("revision %d: keys %v", r, got)
			}
			if got := ids(x.KeysOf(1)); !slices.Equal(got, []string{"k0:1:old:false", "k4:1:new:false"}) {
				t.Errorf("revision %d: keys of 1: %v", r, got)
			}
			if got := ids(x.KeysOf(2)); got != nil {
				t.Errorf("revision %d: keys of 2: %v", r, got)
			}
		}
		for _, c := range rulesOf(core.RevisionNewest) {
			at := core.Stamp{Seq: again.Now().Seq + 1, Ts: again.Now().Ts + 1}
			again.Apply(at, c, &core.Events{})
		}
		if got := ids(again.Keys()); !slices.Equal(got, []string{"k0:1:old:false", "k4:1:new:false"}) || len(again.keys.numbers) != 2 {
			t.Errorf("revision %d: keys under the newest rules: %v, %d ids", r, got, len(again.keys.numbers))
		}
	}
}

// BenchmarkKeys creates and revokes a key. The time must not depend on the number of other accounts'
// keys or of revoked ones.
func BenchmarkKeys(b *testing.B) {
	for _, others := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			_, do := keyVenue(b, core.RevisionNewest)
			for i := range others {
				do(&core.CreateKey{User: 1, Key: fmt.Sprint("other", i)})
			}
			n := 0
			for b.Loop() {
				n++
				id := fmt.Sprint("k", n)
				do(&core.CreateKey{User: 2, Key: id})
				do(&core.RevokeKey{User: 2, Key: id})
			}
		})
	}
}

// TestKeyMemory checks what a live key costs in the venue's memory, as docs/rules/limits.md#bounds
// states it:
//
//	go test ./core/venue -run KeyMemory -v
func TestKeyMemory(t *testing.T) {
	const n, stated = 10_000, 400
	v, do := keyVenue(t, core.RevisionStrict)
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
