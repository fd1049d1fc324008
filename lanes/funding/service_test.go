package funding

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
)

// TestAddressIsPlainText checks that an address which would show as something else is an error of the
// service.
func TestAddressIsPlainText(t *testing.T) {
	var answer atomic.Pointer[string]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, *answer.Load())
	}))
	defer service.Close()
	s := &Service{Options: Options{URL: service.URL, Secret: []byte("secret"), Client: service.Client(), Now: time.Now}}
	for body, ok := range map[string]bool{
		`{"address":"DE00 1234","asset":"USD"}`:                        true,
		`{"address":"DE00\u202e4321","asset":"USD"}`:                   false,
		`{"address":"DE00 1234","asset":"US\u2028D"}`:                  false,
		`{"address":"DE00\u001b[2J","asset":"USD"}`:                    false,
		`{"address":"","asset":"USD"}`:                                 false,
		`{"address":"` + strings.Repeat("x", 129) + `","asset":"USD"}`: false,
	} {
		answer.Store(&body)
		if _, _, err := s.Address(t.Context(), 1); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestFundingQueue checks that events beyond the queue are read from the state later, each once and in
// order, and that a file that is no cursor stops the start.
func TestFundingQueue(t *testing.T) {
	deposits := maxQueued + 200
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Now: func() int64 { return time.Now().UnixNano() }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	ask := func(cmd core.Command) {
		if r, err := e.Submit(t.Context(), cmd); err != nil || r.Reject != core.OK {
			t.Fatal(r, err)
		}
	}
	ask(&core.ActivateRules{Revision: core.RevisionNewest})
	const users = 20 // each has fewer deposits than memory keeps
	for u := range users {
		ask(&core.CreateUser{Name: "user", TokenHash: [32]byte{byte(u)}})
	}

	var mu sync.Mutex
	open, got, done := make(chan struct{}), []string{}, make(chan struct{})
	released := func() chan struct{} { mu.Lock(); defer mu.Unlock(); return open }
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-released()
		var x Event
		if err := json.NewDecoder(r.Body).Decode(&x); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, x.Deposit.DepositID); len(got) == deposits {
			close(done)
		}
	}))
	defer service.Close()
	o := Options{URL: service.URL, Secret: []byte("secret"), Cursor: filepath.Join(t.TempDir(), "cursor"), Engine: e, Log: slog.New(slog.DiscardHandler), timeout: time.Hour} // it waits for all deposits, however slow the disk
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range deposits {
		ask(&core.Deposit{User: core.UserID(1 + i%users), DepositID: fmt.Sprint(i), Amount: 1})
	}
	if n := s.Stats().Waiting; n > maxQueued {
		t.Errorf("%d events in memory", n)
	}
	close(open)
	<-done
	s.Close()

	// A start without a cursor reads all of them from the state, and has no more of them in memory.
	check := func() {
		t.Helper()
		for i, id := range got {
			if id != fmt.Sprint(i) {
				t.Fatalf("event %d is of deposit %s", i, id)
			}
		}
	}
	check()
	if err := os.Remove(o.Cursor); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	open, got, done = make(chan struct{}), nil, make(chan struct{})
	mu.Unlock()
	if s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Waiting; n != maxQueued {
		t.Errorf("%d events in memory", n)
	}
	ask(&core.Deposit{User: 1, DepositID: fmt.Sprint(deposits), Amount: 1}) // while the others wait
	mu.Lock()
	deposits++
	close(open)
	mu.Unlock()
	<-done
	s.Close()
	check()
	if err := os.WriteFile(o.Cursor, []byte("no cursor"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), o.Cursor) {
		t.Errorf("a file that is no cursor: %v", err)
	}
}

// TestLeaderDelivers checks that of two nodes the one that leads delivers, and that one which takes over tells of
// a withdrawal that was decided only the decision, under the id under which it was told before.
func TestLeaderDelivers(t *testing.T) {
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Now: func() int64 { return time.Now().UnixNano() }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	type delivery struct{ node, id, what string }
	got := make(chan delivery, 10)
	var leader atomic.Pointer[string]
	lead := func(name string) { leader.Store(&name) }
	open := func(name string) {
		service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var x Event
			if err := json.NewDecoder(r.Body).Decode(&x); err != nil {
				t.Error(err)
			}
			got <- delivery{name, r.Header.Get("webhook-id"), x.Type}
		}))
		t.Cleanup(service.Close)
		s, err := Open(Options{
			URL: service.URL, Secret: []byte("secret"), Cursor: filepath.Join(t.TempDir(), "cursor"), Engine: e, Log: slog.New(slog.DiscardHandler),
			Leads: func() bool { return *leader.Load() == name }, timeout: time.Hour, // a repeated delivery would be an event too many
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
	}
	lead("a")
	open("a")
	open("b")
	ids := map[string]string{}
	next := func(node string, what ...string) {
		t.Helper()
		for _, w := range what {
			if x := <-got; x.node != node || x.what != w || ids[w] != "" && ids[w] != x.id {
				t.Fatalf("%+v, want %s of node %s under %q", x, w, node, ids[w])
			} else {
				ids[w] = x.id
			}
		}
	}
	ask := func(cmd core.Command) engine.Receipt {
		t.Helper()
		r, err := e.Submit(t.Context(), cmd)
		if err != nil || r.Reject != core.OK {
			t.Fatal(r, err)
		}
		return r
	}
	ask(&core.ActivateRules{Revision: core.RevisionNewest})
	ask(&core.CreateUser{Name: "user"})
	ask(&core.Deposit{User: 1, DepositID: "d", Amount: 10})
	requested := ask(&core.RequestWithdrawal{User: 1, ClientID: "w", Amount: 4, Destination: "bank"})
	next("a", TypeDeposit, TypeRequested)
	ask(&core.DecideWithdrawal{Withdrawal: requested.Events[0].(*core.WithdrawalChanged).Withdrawal.ID, Complete: true})
	next("a", TypeCompleted)
	lead("b")
	next("b", TypeDeposit, TypeCompleted)
	lead("a")
	ask(&core.RequestWithdrawal{User: 1, ClientID: "x", Amount: 5, Destination: "bank"})
	delete(ids, TypeRequested)
	next("a", TypeRequested)
}
