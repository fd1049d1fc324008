package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// newTestService returns a service with a ledger of its own, whose venue is a handler.
func newTestService(t *testing.T, h http.HandlerFunc) *service {
	t.Helper()
	l, err := openLedger(filepath.Join(t.TempDir(), "funding.db"))
	if err != nil {
		t.Fatal(err)
	}
	v := httptest.NewServer(h)
	t.Cleanup(func() {
		v.Close()
		if err := l.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return newService(l, folderBank{t.TempDir()}, newVenue(v.URL, "token"), nil, slog.New(slog.DiscardHandler))
}

// tell delivers an event, as takeEvent does.
func (s *service) tell(t *testing.T, id, body string) {
	t.Helper()
	if status, out, err := s.takeEvent(t.Context(), id, []byte(body)); status != 200 || err != nil {
		t.Fatalf("%s: %d %v %v", id, status, out, err)
	}
}

func (s *service) incomingState(t *testing.T, reference string) (state string) {
	t.Helper()
	if err := s.ledger.db.QueryRow(`select state from incoming where reference = ?`, reference).Scan(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestOnlyTheDepositIsRefused checks that a deposit is given up only if the venue refuses the deposit
// itself. A token that is not valid, a role, a limit or a venue that starts is tried again.
func TestOnlyTheDepositIsRefused(t *testing.T) {
	var status int
	var code string
	s := newTestService(t, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, status, map[string]any{"error": map[string]string{"code": code}})
	})
	if err := s.ledger.announce(t.Context(), deposit{"wire-1", 1, 5}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		status int
		code   string
	}{
		{401, "unauthorized"}, {403, "missing_scope"}, {404, "not_found"}, {421, "read_only_node"}, {429, "rate_limited"}, {502, ""}, {503, "draining"}, {503, "shed"},
	} {
		status, code = x.status, x.code
		if err := s.work(t.Context()); err == nil || !strings.Contains(err.Error(), x.code) {
			t.Errorf("%d %s is not reported: %v", status, code, err)
		}
		if got := s.incomingState(t, "wire-1"); got != "announced" {
			t.Fatalf("%d %s: the deposit is %s", status, code, got)
		}
	}
	status = 201
	if err := s.work(t.Context()); err != nil || s.incomingState(t, "wire-1") != "credited" {
		t.Error(err, s.incomingState(t, "wire-1"))
	}
	for i, x := range []struct {
		status int
		code   string
	}{{404, "unknown_user"}, {409, "duplicate_deposit_id"}, {400, "bad_amount"}, {400, "schema_violation"}} {
		status, code = x.status, x.code
		reference := string(rune('a' + i))
		if err := s.ledger.announce(t.Context(), deposit{reference, 1, 5}); err != nil {
			t.Fatal(err)
		}
		if err := s.work(t.Context()); err != nil || s.incomingState(t, reference) != "refused" {
			t.Error(code, err, s.incomingState(t, reference))
		}
	}
}

// TestEventsAfterARestore checks what a venue tells that was restored from an older copy. A deposit that
// is booked again is the same deposit. What contradicts the ledger is held for a person, and does not
// stop the events after it.
func TestEventsAfterARestore(t *testing.T) {
	s := newTestService(t, func(w http.ResponseWriter, r *http.Request) {
		respond(w, 200, map[string]string{"deposits": "100", "withdrawals": "0"}) // also the sums
	})
	withdrawal := func(kind string, amount int, destination string) string {
		b, err := json.Marshal(map[string]any{"type": "withdrawal." + kind, "seq": "8", "withdrawal": map[string]any{"user_id": 1, "withdrawal_id": "8", "amount": strconv.Itoa(amount), "destination": destination}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	deposited := func(amount int) string {
		return `{"type":"deposit.credited","seq":"5","deposit":{"user_id":1,"deposit_id":"wire-1","amount":"` + strconv.Itoa(amount) + `"}}`
	}
	held := func() (ids []string) {
		t.Helper()
		r, err := s.compare(t.Context())
		if err != nil || len(r.Held) > 0 && r.Agrees {
			t.Fatal(r, err)
		}
		for _, h := range r.Held {
			ids = append(ids, h.ID)
		}
		return ids
	}
	want := func(ids ...string) {
		t.Helper()
		if got := held(); strings.Join(got, " ") != strings.Join(ids, " ") {
			t.Errorf("held are %v, want %v", got, ids)
		}
	}
	paid := func() int64 {
		t.Helper()
		for range 6 { // each time one state further
			if err := s.work(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := s.bank.paid()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}

	s.tell(t, "5-1", deposited(100))
	s.tell(t, "8-1", withdrawal("requested", 40, "iban-1"))
	s.tell(t, "9-1", withdrawal("approved", 40, "iban-1"))
	if got := paid(); got != 40 {
		t.Fatalf("%d are paid", got)
	}
	want()
	s.tell(t, "5-2", deposited(100)) // booked again
	s.tell(t, "8-1", withdrawal("requested", 40, "iban-1"))
	want()
	s.tell(t, "6-2", deposited(99))
	want("6-2")
	s.tell(t, "8-2", withdrawal("requested", 40, "iban-1")) // another request that looks the same
	s.tell(t, "9-2", withdrawal("approved", 40, "iban-1"))
	s.tell(t, "9-2", withdrawal("approved", 40, "iban-1")) // told again: held once
	s.tell(t, "10-2", withdrawal("approved", 70, "iban-2"))
	want("6-2", "8-2", "9-2", "10-2")
	if got := paid(); got != 40 {
		t.Errorf("%d are paid", got)
	}
	sums, err := s.ledger.sums(t.Context())
	if err != nil || sums.Deposits != 100 || sums.Withdrawals != 40 || sums.ByState["completed"] != 40 {
		t.Errorf("%+v %v", sums, err)
	}
}

// TestHeldWithdrawalRests checks that nothing is done about a withdrawal, whatever its state, while an event
// about its id is held.
func TestHeldWithdrawalRests(t *testing.T) {
	s := newTestService(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the service asks for %s", r.URL.Path)
		respond(w, 200, struct{}{})
	})
	apply := func(id, kind string, user, amount int64) {
		t.Helper()
		var e event
		body := `{"type":"withdrawal.` + kind + `","seq":"8","withdrawal":{"user_id":` + strconv.Itoa(int(user)) + `,"withdrawal_id":"8","amount":"` + strconv.Itoa(int(amount)) + `","destination":"iban-1"}}`
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ledger.apply(context.Background(), id, &e, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	apply("8-1", "requested", 1, 40)
	apply("8-2", "requested", 2, 4000)
	if err := s.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	apply("9-2", "approved", 2, 4000)
	if err := s.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sum, err := s.bank.paid(); err != nil || sum != 0 {
		t.Errorf("%d are paid, %v", sum, err)
	}
}
