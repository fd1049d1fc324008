package tools

import (
	"sync"
	"testing"

	"duplex/core"
)

// TestFundedAccounts tests that an account that was added stays, however many are added at once, and that no
// other one is there.
func TestFundedAccounts(t *testing.T) {
	var f fundedAccounts
	if f.has(0) || f.has(1<<32-1) {
		t.Error("an empty set has an account")
	}
	var all sync.WaitGroup
	for from := range core.UserID(4) {
		all.Go(func() {
			for u := from; u < 5000; u += 4 {
				if u%3 == 0 {
					f.add(u)
				}
				if u%3 == 0 != f.has(u) {
					t.Errorf("account %d: %v", u, f.has(u))
				}
			}
		})
	}
	all.Wait()
	for u := range core.UserID(20_000) {
		if f.has(u) != (u < 5000 && u%3 == 0) {
			t.Fatalf("account %d: %v", u, f.has(u))
		}
	}
}

func BenchmarkFunded(b *testing.B) {
	var v Venue
	v.funded.add(1000)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if v.unfunded(1000) {
				b.Error("the account is not there")
			}
		}
	})
}
