package venue

import (
	"slices"
	"testing"

	"duplex/core"
)

// grantVenue returns a venue with an owner (1), another one (2) and an agent of 1 (3), and a function that
// applies a command at a time, in seconds after the start.
func grantVenue(t *testing.T, r core.Revision) (v *Venue, do func(at int64, cmd core.Command) core.Reject) {
	t.Helper()
	v = New()
	var seq uint64
	do = func(at int64, cmd core.Command) core.Reject {
		seq++
		return v.Apply(core.Stamp{Seq: seq, Ts: origin + at*core.NsPerSec + int64(seq)}, cmd, &core.Events{})
	}
	for _, c := range append(rulesOf(r), &core.CreateUser{}, &core.CreateUser{}, &core.CreateAgent{Owner: 1, Name: "scout"}) {
		if rej := do(0, c); rej != core.OK {
			t.Fatal(rej)
		}
	}
	return v, do
}

// grantStamp is the stamp of the first command one second after the start.
const grantStamp = origin + core.NsPerSec + 6

// grantKey returns the command that grants "k" of the agent for a number of seconds after the start.
func grantKey(secs int64, change func(*core.CreateKey)) *core.CreateKey {
	c := &core.CreateKey{User: 3, Key: "k", Scopes: core.ScopeRead | core.ScopeTrade, Grant: core.Grant{Client: "https://host.example/c", Expires: origin + secs*core.NsPerSec}}
	if change != nil {
		change(c)
	}
	return c
}

// TestGrantIsRefused tests which keys of a grant are refused, and that this changes nothing.
func TestGrantIsRefused(t *testing.T) {
	for name, x := range map[string]struct {
		revision core.Revision
		change   func(*core.CreateKey)
		want     core.Reject
	}{
		"as it should be":      {core.RevisionNewest, nil, core.OK},
		"an earlier revision":  {core.RevisionReplaceSeen, nil, core.UnknownKey},
		"an owner":             {core.RevisionNewest, func(c *core.CreateKey) { c.User = 1 }, core.UnknownAgent},
		"it withdraws":         {core.RevisionNewest, func(c *core.CreateKey) { c.Scopes = core.ScopeWithdraw }, core.MissingScope},
		"it has ended":         {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Expires = origin }, core.BadExpiry},
		"it has no end":        {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Expires = 0 }, core.BadExpiry},
		"too long":             {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Expires += core.GrantMaxNs }, core.BadExpiry},
		"it has tokens":        {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Generation = 1 }, core.BadExpiry},
		"it has issued tokens": {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Issued[1] = 1 }, core.BadExpiry},
		"it ends now":          {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Expires = grantStamp }, core.BadExpiry},
		"it ends at once":      {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Expires = grantStamp + 1 }, core.OK},
		"as long as it may":    {core.RevisionNewest, func(c *core.CreateKey) { c.Grant.Expires = grantStamp + core.GrantMaxNs }, core.OK},
	} {
		t.Run(name, func(t *testing.T) {
			v, do := grantVenue(t, x.revision)
			if got := do(1, grantKey(1000, x.change)); got != x.want {
				t.Errorf("%v, want %v", got, x.want)
			}
			user, _ := v.User(3)
			if keys := ids(v.Keys()); (len(keys) == 1) != (x.want == core.OK) || (user.Agent.Client != "") != (x.want == core.OK) {
				t.Errorf("keys %v, client %q", keys, user.Agent.Client)
			}
		})
	}
}

// TestRenewGrant tests what each token does at each time, in the venue and in one that was restored from its
// state (docs/rules/oauth.md#tokens).
func TestRenewGrant(t *testing.T) {
	type step struct {
		at         int64 // s
		generation uint32
		want       core.Reject
	}
	renewed := func(at int64, generation uint32) step { return step{at, generation, core.OK} }
	for name, x := range map[string]struct {
		steps []step
		left  int64 // the generation after the steps; -1: the grant has ended
	}{
		"the code":                     {[]step{renewed(1, 0)}, 1},
		"the code in time":             {[]step{renewed(59, 0)}, 1},
		"the code late":                {[]step{{60, 0, core.UnknownKey}}, -1},
		"the code twice":               {[]step{renewed(1, 0), {2, 0, core.InvalidTransition}}, -1},
		"a token in turn":              {[]step{renewed(1, 0), renewed(50, 1), renewed(3000, 2)}, 3},
		"the former again":             {[]step{renewed(1, 0), renewed(50, 1), renewed(79, 1)}, 2},
		"the former and then in turn":  {[]step{renewed(1, 0), renewed(50, 1), renewed(79, 1), renewed(90, 2)}, 3},
		"the former late":              {[]step{renewed(1, 0), renewed(50, 1), {81, 1, core.InvalidTransition}}, -1},
		"an older one":                 {[]step{renewed(1, 0), renewed(50, 1), renewed(51, 2), {52, 1, core.InvalidTransition}}, -1},
		"the code after a renewal":     {[]step{renewed(1, 0), renewed(2, 1), {3, 0, core.InvalidTransition}}, -1},
		"one that was never issued":    {[]step{renewed(1, 0), {2, 2, core.UnknownKey}}, 1},
		"a refresh token for the code": {[]step{{2, 1, core.UnknownKey}}, 0},
		"until it ends":                {[]step{renewed(1, 0), renewed(9999, 1)}, 2},
		"when it has ended":            {[]step{renewed(1, 0), {10_000, 1, core.UnknownKey}}, -1},
		"after an end by the clock":    {[]step{renewed(1, 0), {10_001, 0, core.UnknownKey}, {10_002, 1, core.UnknownKey}}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			v, do := grantVenue(t, core.RevisionNewest)
			if r := do(0, grantKey(10_000, nil)); r != core.OK {
				t.Fatal(r)
			}
			for i, s := range x.steps {
				if i%2 == 1 {
					*v = *restored(t, v)
				}
				if got := do(s.at, &core.RenewGrant{User: 3, Key: "k", Generation: s.generation}); got != s.want {
					t.Fatalf("step %d: %v, want %v", i, got, s.want)
				}
				if s.want == core.UnknownKey {
					do(s.at, &core.Clock{})
				}
			}
			left := int64(-1)
			for k := range v.Keys() {
				left = int64(k.Grant.Generation)
			}
			if left != x.left || (left < 0) != (len(v.keys.numbers) == 0) {
				t.Errorf("generation %d, want %d", left, x.left)
			}
		})
	}
}

// TestRenewedGrant tests what a renewal shows and keeps: two times of issue, and an event with the key.
func TestRenewedGrant(t *testing.T) {
	v, _ := grantVenue(t, core.RevisionNewest)
	seq := uint64(100)
	do := func(ts int64, cmd core.Command) []core.Event {
		seq++
		var ev core.Events
		if r := v.Apply(core.Stamp{Seq: seq, Ts: origin + ts}, cmd, &ev); r != core.OK {
			t.Fatal(r)
		}
		return ev.List
	}
	do(1000, grantKey(10_000, nil))
	for generation, ts := range []int64{2000, 3000, 4000} {
		events := do(ts, &core.RenewGrant{User: 3, Key: "k", Generation: uint32(generation)})
		want := core.Grant{Client: "https://host.example/c", Expires: origin + 10_000*core.NsPerSec, Generation: uint32(generation) + 1, Issued: [2]int64{origin + ts, 0}}
		if generation > 0 {
			want.Issued[1] = origin + ts - 1000
		}
		if len(events) != 1 || *events[0].(*core.KeyChanged).Key.Grant != want {
			t.Errorf("generation %d: %+v, want %+v", generation, events[0].(*core.KeyChanged).Key.Grant, want)
		}
	}
	if events := do(5000, &core.RenewGrant{User: 3, Key: "k", Generation: 2}); len(events) != 0 {
		t.Errorf("a repeat emits %v", events)
	}
	end := int64(10_000 * core.NsPerSec)
	for _, x := range []struct {
		ts   int64
		want core.Reject
	}{{end - 1, core.OK}, {end, core.UnknownKey}} {
		seq++
		if r := v.Apply(core.Stamp{Seq: seq, Ts: origin + x.ts}, &core.RenewGrant{User: 3, Key: "k", Generation: 3}, &core.Events{}); r != x.want {
			t.Errorf("at %d ns from the end: %v, want %v", x.ts-end, r, x.want)
		}
	}
}

// TestGrantTimers tests that the timers of grants that ended early do not stay.
func TestGrantTimers(t *testing.T) {
	v, do := grantVenue(t, core.RevisionNewest)
	do(0, grantKey(10_000, func(c *core.CreateKey) { c.Key = "first" })) // it is due before them, and so keeps them in the queue
	for i := range 3000 {
		if r := do(1, grantKey(10_000, nil)); r != core.OK {
			t.Fatal(r)
		}
		do(1, &core.RevokeKey{User: 3, Key: "k"})
		if v.grantDue(); len(v.grantTimers.heap) > 1100 {
			t.Fatalf("%d timers after %d grants", len(v.grantTimers.heap), i)
		}
	}
}

// TestGrantOfAnother tests that a renewal names the account of the key, and a key with a grant.
func TestGrantOfAnother(t *testing.T) {
	v, do := grantVenue(t, core.RevisionNewest)
	for _, c := range []core.Command{grantKey(1000, nil), &core.CreateKey{User: 3, Key: "signs", Scopes: core.ScopeRead}} {
		if r := do(0, c); r != core.OK {
			t.Fatal(r)
		}
	}
	before := ids(v.Keys())
	for _, c := range []*core.RenewGrant{{User: 1, Key: "k"}, {User: 99, Key: "k"}, {User: 3, Key: "signs"}, {User: 3, Key: "none"}} {
		if r := do(1, c); r != core.UnknownKey {
			t.Errorf("%+v: %v", c, r)
		}
	}
	if after := ids(v.Keys()); !slices.Equal(after, before) {
		t.Errorf("keys %v, were %v", after, before)
	}
}

// TestGrantDue tests that a Clock is due when a grant ends: an unused code after a minute, else the grant.
func TestGrantDue(t *testing.T) {
	for _, exchanged := range []bool{false, true} {
		v, do := grantVenue(t, core.RevisionNewest)
		do(0, grantKey(500, nil))
		var want int64
		for k := range v.Keys() {
			want = k.Created + core.GrantCodeNs
		}
		if exchanged {
			do(1, &core.RenewGrant{User: 3, Key: "k"})
			want = origin + 500*core.NsPerSec
		}
		at := restored(t, v).grantDue()
		if got := v.grantDue(); got != want || at != want {
			t.Errorf("exchanged %t: due at %d, restored %d, want %d", exchanged, got, at, want)
		}
		do(61, &core.Clock{})
		if got := len(ids(v.Keys())); (got == 1) != exchanged {
			t.Errorf("exchanged %t: %d keys after a minute", exchanged, got)
		}
		do(500, &core.Clock{})
		if got := ids(v.Keys()); got != nil || v.grantDue() != never {
			t.Errorf("exchanged %t: keys %v after the end", exchanged, got)
		}
	}
}

// TestAccessEnds tests until when access tokens are valid (docs/rules/oauth.md#tokens).
func TestAccessEnds(t *testing.T) {
	const s = core.NsPerSec
	for name, x := range map[string]struct {
		grant      core.Grant
		generation uint32
		want       int64
	}{
		"no token yet":                     {core.Grant{Expires: 9000 * s}, 0, 0},
		"not issued":                       {core.Grant{Expires: 9000 * s}, 1, 0},
		"the present":                      {core.Grant{Expires: 9000 * s, Generation: 1, Issued: [2]int64{100 * s}}, 1, 3700 * s},
		"no longer than the grant":         {core.Grant{Expires: 200 * s, Generation: 1, Issued: [2]int64{100 * s}}, 1, 200 * s},
		"the former":                       {core.Grant{Expires: 9000 * s, Generation: 2, Issued: [2]int64{500 * s, 100 * s}}, 1, 530 * s},
		"the former ends no later thereby": {core.Grant{Expires: 9000 * s, Generation: 2, Issued: [2]int64{3690 * s, 100 * s}}, 1, 3700 * s},
		"an older":                         {core.Grant{Expires: 9000 * s, Generation: 3, Issued: [2]int64{500 * s, 100 * s}}, 1, 0},
		"the code is no token":             {core.Grant{Expires: 9000 * s, Generation: 1, Issued: [2]int64{100 * s}}, 0, 0},
	} {
		if got := x.grant.AccessEnds(x.generation); got != x.want {
			t.Errorf("%s: %d s, want %d s", name, got/s, x.want/s)
		}
	}
}
