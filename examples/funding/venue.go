package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// event is an event of the venue (docs/rules/funding.md#events).
type event struct {
	Type    string `json:"type"`
	Seq     int64  `json:"seq,string"`
	Deposit *struct {
		UserID    int64  `json:"user_id"`
		DepositID string `json:"deposit_id"`
		Amount    int64  `json:"amount,string"`
	} `json:"deposit"`
	Withdrawal *struct {
		UserID       int64  `json:"user_id"`
		WithdrawalID int64  `json:"withdrawal_id,string"`
		Amount       int64  `json:"amount,string"`
		Destination  string `json:"destination"`
		Reference    string `json:"reference"`
	} `json:"withdrawal"`
}

// venue is the operator's listener of a venue.
type venue struct {
	base, token string
	client      http.Client
}

func newVenue(base, token string) *venue {
	return &venue{strings.TrimSuffix(base, "/"), token, http.Client{Timeout: 10 * time.Second}}
}

// venueError is an answer of the venue that is an error. Unless it is about the deposit itself, a later
// attempt can succeed: the token may be replaced, the role changed, the venue started.
type venueError struct {
	what   string // method and path
	status int
	code   string
}

func (e *venueError) Error() string {
	return fmt.Sprintf("%s answers %d %s", e.what, e.status, e.code)
}

// refusals are the codes with which the venue refuses a deposit for good.
var refusals = []string{"unknown_user", "duplicate_deposit_id", "bad_amount", "schema_violation"}

// refused returns the code with which the venue refuses a deposit for good, "" if err is anything else.
func refused(err error) string {
	if e, ok := errors.AsType[*venueError](err); ok && e.status < 500 && slices.Contains(refusals, e.code) {
		return e.code
	}
	return ""
}

// call sends a request and decodes the answer into out, unless it is nil. waits reports that a second
// operator has to approve.
func (v *venue) call(ctx context.Context, method, path string, in, out any) (waits bool, err error) {
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return false, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, v.base+path, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := v.client.Do(r)
	if err != nil {
		return false, err
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err = cmp.Or(err, res.Body.Close()); err != nil {
		return false, err
	}
	if res.StatusCode >= 300 {
		var e struct{ Error struct{ Code string } }
		if json.Unmarshal(answer, &e) != nil { // a proxy's own answer
			e.Error.Code = string(answer[:min(len(answer), 200)])
		}
		return false, &venueError{method + " " + path, res.StatusCode, e.Error.Code}
	}
	if out != nil {
		err = json.Unmarshal(answer, out)
	}
	return res.StatusCode == http.StatusAccepted, err
}

// deposit books a deposit, once.
func (v *venue) deposit(ctx context.Context, user int64, id string, amount int64) (waits bool, err error) {
	return v.call(ctx, "POST", fmt.Sprintf("/admin/users/%d/deposits", user), map[string]string{"deposit_id": id, "amount": fmt.Sprint(amount)}, nil)
}

// step takes a withdrawal one step on: approve, complete or fail. A second time changes nothing.
func (v *venue) step(ctx context.Context, id int64, step string) (waits bool, err error) {
	return v.call(ctx, "POST", fmt.Sprintf("/admin/withdrawals/%d/%s", id, step), struct{}{}, nil)
}

// send tells which payment a withdrawal has. A second time changes nothing.
func (v *venue) send(ctx context.Context, id int64, reference string) error {
	_, err := v.call(ctx, "POST", fmt.Sprintf("/admin/withdrawals/%d/send", id), map[string]string{"reference": reference}, nil)
	return err
}

// totals returns the venue's sums, in pips: of deposits, and of withdrawals whose amount is not back.
func (v *venue) totals(ctx context.Context) (deposits, withdrawals int64, err error) {
	var s struct {
		Deposits    int64 `json:"deposits,string"`
		Withdrawals int64 `json:"withdrawals,string"`
	}
	_, err = v.call(ctx, "GET", "/admin/state", nil, &s)
	return s.Deposits, s.Withdrawals, err
}
