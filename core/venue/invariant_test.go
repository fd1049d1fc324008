package venue

import (
	"strings"
	"testing"

	"duplex/core"
)

// wantViolation checks that f panics with an InvariantViolation of this detail.
func wantViolation(t *testing.T, why string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if b, ok := recover().(core.InvariantViolation); !ok || b.Detail != why {
			t.Errorf("panic %q, want %q", b.Detail, why)
		}
	}()
	f()
}

type unknownCommand struct{ core.Command }

// TestInvariantViolationPanics checks that a venue with an inconsistent state panics at the first
// command that shows it.
func TestInvariantViolationPanics(t *testing.T) {
	_, do := opened(t)
	wantViolation(t, "unknown command type", func() { do(unknownCommand{}) })
	v, do := opened(t)
	v.ledger.CollectFees(1)
	wantViolation(t, "money was created or lost", func() { do(&core.Clock{}) })
	v, do = opened(t)
	do(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 5000, Qty: 1})
	v.ledger.AddPairs(1, 1)
	wantViolation(t, "a market's YES, NO and pair counts differ", func() {
		do(&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Outcome: core.No, Tick: 5000, Qty: 1})
	})
	v, do = opened(t)
	do(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 5000, Qty: 1})
	r := v.pool.Alloc(1 << 40)
	v.pool.At(r).SetAttributes(1, core.Sell, core.Yes, 0)
	v.markets[1].book.Add(r, 5001)
	v.Audit()
	v.markets[1].book.Remove(r)
	v.markets[1].book.Add(r, 5000)
	wantViolation(t, "a book is crossed", v.Audit)
	v.ledger.CollectFees(1)
	v.markets[1].book.Remove(r)
	defer func() {
		if _, ok := recover().(core.InvariantViolation); !ok {
			t.Error("the audit accepts a pip that nobody paid")
		}
	}()
	v.Audit()
}

// TestRestoreRefuses checks that Restore rejects bytes that are no state, and inconsistent states.
func TestRestoreRefuses(t *testing.T) {
	v, do := opened(t)
	do(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 5000, Qty: 1})
	good := func() (s state) {
		if err := s.unmarshal(bytesOf(t, v)); err != nil {
			t.Fatal(err)
		}
		if len(s.Markets) != Slots || len(s.Accounts) != 4 {
			t.Fatalf("%d markets and %d accounts", len(s.Markets), len(s.Accounts))
		}
		return s
	}
	for why, spoil := range map[string]func(*state){
		"":                       func(*state) {},
		"invariant broken: sums": func(s *state) { s.Ledger.Sums.Fees++ },
		"is inconsistent: invariant broken: account 1": func(s *state) { s.Ledger.Accounts[0][0] = -1 },
		"is inconsistent: runtime":                     func(s *state) { s.Orders[0].Market = 20 },
		"client order ids of account 1":                func(s *state) { s.Accounts[0].IDs = []byte{1, 2, 3} },
		"client_request_ids of account 1":              func(s *state) { s.Requests = []requestState{{User: 1, IDs: []byte{1}}} },
	} {
		s := good()
		spoil(&s)
		b, err := encoding.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Restore(b)
		if (err == nil) != (why == "") || (again == nil) != (why != "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("Restore of a spoiled state: %[2]v, want %[1]q, or no error if that is empty", why, err)
		}
	}
	if v, err := Restore([]byte{0xff}); v != nil || err == nil || !strings.HasPrefix(err.Error(), "state of the venue: ") {
		t.Errorf("no state at all: %v", err)
	}
}
