package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// retryEvery is the time after which work that failed is tried again.
const retryEvery = time.Second

// service receives the venue's events and does what follows from them.
type service struct {
	ledger *ledger
	bank   bank
	venue  *venue
	secret []byte
	log    *slog.Logger
	wake   chan struct{} // there is work; holds one
}

func newService(l *ledger, b bank, v *venue, secret []byte, log *slog.Logger) *service {
	return &service{l, b, v, secret, log, make(chan struct{}, 1)}
}

func (s *service) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /events", s.fromVenue(s.takeEvent))
	m.HandleFunc("POST /address", s.fromVenue(s.address))
	m.HandleFunc("POST /destination", s.fromVenue(s.destination))
	m.HandleFunc("POST /incoming", s.incoming)
	m.HandleFunc("GET /reconcile", s.reconcile)
	return m
}

// fromVenue accepts a request only with the venue's signature.
func (s *service) fromVenue(do func(ctx context.Context, id string, body []byte) (status int, out any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			respond(w, http.StatusBadRequest, err.Error())
			return
		}
		id, err := verify(s.secret, r.Header, body, time.Now())
		if err != nil {
			respond(w, http.StatusUnauthorized, err.Error())
			return
		}
		status, out, err := do(r.Context(), id, body)
		if err != nil {
			s.log.Error("a request of the venue failed", "path", r.URL.Path, "id", id, "err", err)
			status, out = http.StatusInternalServerError, "see the log"
		}
		respond(w, status, out)
	}
}

func respond(w http.ResponseWriter, status int, out any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // the caller may have gone
}

// takeEvent answers 200 once the event is durable.
func (s *service) takeEvent(ctx context.Context, id string, body []byte) (int, any, error) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return 0, nil, err
	}
	why, err := s.ledger.apply(ctx, id, &e, body)
	if err != nil {
		return 0, nil, err
	}
	if why != "" {
		s.log.Error("an event contradicts the ledger, and is held for a person to decide", "id", id, "why", why, "event", string(body))
	}
	s.hurry()
	return http.StatusOK, struct{}{}, nil
}

// address tells an account what to write on a transfer.
func (s *service) address(_ context.Context, _ string, body []byte) (int, any, error) {
	var in struct {
		UserID int64 `json:"user_id"`
	}
	err := json.Unmarshal(body, &in)
	return http.StatusOK, map[string]string{"address": fmt.Sprintf("account %d", in.UserID), "asset": "USD"}, err
}

// destination checks where a withdrawal would go.
func (s *service) destination(_ context.Context, _ string, body []byte) (int, any, error) {
	var in struct{ Destination string }
	if err := json.Unmarshal(body, &in); err != nil {
		return 0, nil, err
	}
	if len(in.Destination) < 4 {
		return http.StatusUnprocessableEntity, "no account number", nil
	}
	return http.StatusOK, struct{}{}, nil
}

// incoming is how the bank announces money that arrived: {reference, user_id, amount}. It listens on
// loopback alone; give it an authentication of your bank's before you change that.
func (s *service) incoming(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Reference string `json:"reference"`
		UserID    int64  `json:"user_id"`
		Amount    int64  `json:"amount,string"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&in)
	if err != nil || in.Reference == "" || in.UserID <= 0 || in.Amount <= 0 {
		respond(w, http.StatusBadRequest, "reference, user_id and amount (pips, as text) are required")
		return
	}
	switch err := s.ledger.announce(r.Context(), deposit{in.Reference, in.UserID, in.Amount}); {
	case errors.Is(err, errReference):
		respond(w, http.StatusConflict, err.Error())
	case err != nil:
		s.log.Error("a deposit is not written down", "reference", in.Reference, "err", err)
		respond(w, http.StatusInternalServerError, "see the log")
	default:
		s.hurry()
		respond(w, http.StatusOK, struct{}{})
	}
}

// report compares the ledger with the venue and the bank. All sums are in pips.
type report struct {
	Ledger           sums   `json:"ledger"`
	VenueDeposits    int64  `json:"venue_deposits"`
	VenueWithdrawals int64  `json:"venue_withdrawals"`
	Paid             int64  `json:"paid"`
	Agrees           bool   `json:"agrees"`
	Open             int    `json:"open"` // deposits and withdrawals in which something is left to do
	Held             []held `json:"held"` // events that wait for a person
}

func (s *service) reconcile(w http.ResponseWriter, r *http.Request) {
	out, err := s.compare(r.Context())
	if err != nil {
		respond(w, http.StatusBadGateway, err.Error())
		return
	}
	respond(w, http.StatusOK, out)
}

func (s *service) compare(ctx context.Context) (out report, err error) {
	if out.VenueDeposits, out.VenueWithdrawals, err = s.venue.totals(ctx); err != nil {
		return out, err
	}
	if out.Paid, err = s.bank.paid(); err != nil {
		return out, err
	}
	// What is open is read before the sums, so that without anything open they are the final ones.
	deposits, err := s.ledger.announced(ctx)
	if err != nil {
		return out, err
	}
	withdrawals, err := s.ledger.open(ctx)
	if err != nil {
		return out, err
	}
	out.Open = len(deposits) + len(withdrawals)
	if out.Ledger, err = s.ledger.sums(ctx); err != nil {
		return out, err
	}
	if out.Held, err = s.ledger.held(ctx); err != nil {
		return out, err
	}
	// A payment that is under way may not have reached the bank, or be back there.
	by := out.Ledger.ByState
	arrived, underWay := by["completed"], by["paying"]+by["paid"]+by["sent"]
	out.Agrees = len(out.Held) == 0 && out.VenueDeposits == out.Ledger.Deposits && out.VenueWithdrawals == out.Ledger.Withdrawals && out.Paid >= arrived && out.Paid <= arrived+underWay
	return out, nil
}

// hurry tells run that there is work.
func (s *service) hurry() {
	select {
	case s.wake <- struct{}{}:
	default: // it is told already
	}
}

// run does the work until ctx ends.
func (s *service) run(ctx context.Context) {
	t := time.NewTicker(retryEvery)
	defer t.Stop()
	var said string // what the log has already
	for ctx.Err() == nil {
		err := s.work(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			s.log.Error("work is left, and is tried again", "err", err)
		}
		select {
		case <-s.wake:
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// work takes every open deposit and withdrawal as far as it goes. One that fails does not stop the
// others.
func (s *service) work(ctx context.Context) error {
	deposits, err := s.ledger.announced(ctx)
	if err != nil {
		return err
	}
	withdrawals, err := s.ledger.open(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range deposits {
		waits, err := s.venue.deposit(ctx, d.User, d.Reference, d.Amount)
		if code := refused(err); code != "" {
			s.log.Error("the venue refuses a deposit: send the money back", "reference", d.Reference, "user_id", d.User, "code", code)
			err = s.ledger.setIncoming(ctx, d.Reference, "refused")
		} else if err == nil && !waits {
			err = s.ledger.setIncoming(ctx, d.Reference, "credited")
		}
		errs = append(errs, err)
	}
	for _, w := range withdrawals {
		errs = append(errs, s.advance(ctx, w))
	}
	return errors.Join(errs...)
}

// advance takes a withdrawal one state further.
func (s *service) advance(ctx context.Context, w withdrawal) error {
	next := func(to string, err error) error {
		if err == nil {
			s.hurry()
			err = s.ledger.setWithdrawal(ctx, w.ID, w.State, to)
		}
		return err
	}
	switch w.State {
	case "requested": // the event that follows moves it on
		_, err := s.venue.step(ctx, w.ID, "approve")
		return err
	case "approved":
		return next("paying", nil)
	case "paying":
		return next("paid", s.bank.pay(w.ID, w.Amount, w.Destination))
	case "paid":
		return next("sent", s.venue.send(ctx, w.ID, reference(w.ID)))
	case "sent":
		step, to := "complete", "completed"
		switch err := s.bank.arrived(w.ID); {
		case errors.Is(err, errClosed): // the money goes back to the account
			step, to = "fail", "failed"
		case err != nil:
			return err
		}
		waits, err := s.venue.step(ctx, w.ID, step)
		if waits {
			return nil
		}
		return next(to, err)
	}
	return fmt.Errorf("withdrawal %d has the state %s", w.ID, w.State)
}

// reference names the payment of a withdrawal to the venue.
func reference(id int64) string { return fmt.Sprintf("payment-%d", id) }
