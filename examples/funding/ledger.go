package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver of database/sql
)

// schema is the service's own ledger. Amounts are in pips, of which 10,000 are a dollar.
const schema = `
create table if not exists events (id text primary key, type text not null, seq integer not null) strict;
create table if not exists incoming (reference text primary key, user_id integer not null, amount integer not null,
	state text not null check (state in ('announced', 'credited', 'refused'))) strict;
create table if not exists told_deposits (deposit_id text primary key, user_id integer not null, amount integer not null) strict;
create table if not exists withdrawals (withdrawal_id integer primary key, user_id integer not null, amount integer not null, destination text not null,
	state text not null check (state in ('requested', 'approved', 'paying', 'paid', 'sent', 'completed', 'failed', 'rejected', 'by_hand'))) strict;
create table if not exists held (id text primary key, withdrawal_id integer, why text not null, event text not null) strict;
`

// ledger is what the service knows, in an SQLite database whose commits are durable.
type ledger struct{ db *sql.DB }

func openLedger(path string) (*ledger, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &ledger{db}, nil
}

// withdrawal is a withdrawal as the ledger has it.
type withdrawal struct {
	ID, User, Amount   int64
	Destination, State string
}

// deposit is money that arrived at the bank.
type deposit struct {
	Reference    string
	User, Amount int64
}

// announce writes down money that arrived. The same reference again changes nothing; with other
// fields it is an error.
func (l *ledger) announce(ctx context.Context, d deposit) error {
	if _, err := l.db.ExecContext(ctx, `insert into incoming values (?, ?, ?, 'announced') on conflict do nothing`, d.Reference, d.User, d.Amount); err != nil {
		return err
	}
	var was deposit
	err := l.db.QueryRowContext(ctx, `select reference, user_id, amount from incoming where reference = ?`, d.Reference).Scan(&was.Reference, &was.User, &was.Amount)
	if err == nil && was != d {
		err = errReference
	}
	return err
}

var errReference = errors.New("the reference belongs to another deposit")

// apply writes down an event of the venue, once. why is not empty if the event contradicts what is written
// down: then it is held for a person. That happens after the venue was restored from an older copy, which
// uses the same seqs, and so the same withdrawal ids, a second time.
func (l *ledger) apply(ctx context.Context, id string, e *event, body []byte) (why string, err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	r, err := tx.ExecContext(ctx, `insert into events values (?, ?, ?) on conflict do nothing`, id, e.Type, e.Seq)
	if err != nil {
		return "", err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 { // it is known
		return "", errors.Join(err, tx.Commit())
	}
	var about sql.NullInt64
	if e.Deposit != nil {
		why, err = applyDeposit(ctx, tx, e)
	}
	if w := e.Withdrawal; err == nil && w != nil {
		about = sql.NullInt64{Int64: w.WithdrawalID, Valid: true}
		why, err = applyWithdrawal(ctx, tx, e)
	}
	if err == nil && why != "" {
		_, err = tx.ExecContext(ctx, `insert into held values (?, ?, ?, ?)`, id, about, why, string(body))
	}
	if err != nil {
		return "", err
	}
	return why, tx.Commit()
}

// applyDeposit writes down a deposit. One that is booked again after a restore is the same deposit.
func applyDeposit(ctx context.Context, tx *sql.Tx, e *event) (why string, err error) {
	d := e.Deposit
	if _, err := tx.ExecContext(ctx, `insert into told_deposits values (?, ?, ?) on conflict do nothing`, d.DepositID, d.UserID, d.Amount); err != nil {
		return "", err
	}
	var user, amount int64
	err = tx.QueryRowContext(ctx, `select user_id, amount from told_deposits where deposit_id = ?`, d.DepositID).Scan(&user, &amount)
	if user != d.UserID || amount != d.Amount {
		why = fmt.Sprintf("deposit %s was told before with %d pips for account %d", d.DepositID, amount, user)
	}
	return why, err
}

// applyWithdrawal writes down a withdrawal or moves it on. An event about an id that is known is held unless
// it can be the next step of the same request. One that a person took on is left to that person.
func applyWithdrawal(ctx context.Context, tx *sql.Tx, e *event) (why string, err error) {
	w := e.Withdrawal
	state, known := strings.CutPrefix(e.Type, "withdrawal.")
	before, ok := follows[state]
	if !known || !ok {
		return "", fmt.Errorf("an event of the unknown type %s", e.Type)
	}
	mine := w.Reference == reference(w.WithdrawalID) // this service has paid it
	if !mine && (state == "sent" || state == "completed" || state == "failed") {
		state, before = "by_hand", []string{"requested", "approved", "by_hand"}
	}
	var was withdrawal
	var heldBefore bool
	err = tx.QueryRowContext(ctx, `select user_id, amount, destination, state, exists (select 1 from held where held.withdrawal_id = withdrawals.withdrawal_id) from withdrawals where withdrawal_id = ?`, w.WithdrawalID).
		Scan(&was.User, &was.Amount, &was.Destination, &was.State, &heldBefore)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, `insert into withdrawals values (?, ?, ?, ?, ?)`, w.WithdrawalID, w.UserID, w.Amount, w.Destination, state)
	case err != nil:
	case was.User != w.UserID || was.Amount != w.Amount || was.Destination != w.Destination:
		why = fmt.Sprintf("withdrawal %d is one of %d pips of account %d to %s, and %s", w.WithdrawalID, was.Amount, was.User, was.Destination, was.State)
	case heldBefore:
		why = fmt.Sprintf("an event of withdrawal %d is held", w.WithdrawalID)
	case state == "requested":
		why = fmt.Sprintf("withdrawal %d was requested before, and is %s", w.WithdrawalID, was.State)
	case mine && slices.Contains(before, was.State) && was.State != "paying" && was.State != "paid":
		// The answer to the request has told it.
	case !slices.Contains(before, was.State):
		why = fmt.Sprintf("withdrawal %d is %s already", w.WithdrawalID, was.State)
	default:
		_, err = tx.ExecContext(ctx, `update withdrawals set state = ? where withdrawal_id = ?`, state, w.WithdrawalID)
	}
	return why, err
}

// follows has, for each state that an event tells, the states before it. The answers of the venue tell the
// service's own steps too, and may come later than the events.
var follows = map[string][]string{
	"requested": nil,
	"approved":  {"requested"},
	"sent":      {"paying", "paid", "sent", "completed", "failed"},
	"completed": {"paid", "sent", "completed"},
	"failed":    {"paid", "sent", "failed"},
	"rejected":  {"requested", "approved"},
}

// held is an event that contradicts the ledger. A person deletes its row, once it is decided.
type held struct {
	ID    string `json:"id"`
	Why   string `json:"why"`
	Event string `json:"event"`
}

// held returns the events that are held, oldest first.
func (l *ledger) held(ctx context.Context) ([]held, error) {
	return rowsOf(ctx, l.db, `select id, why, event from held order by rowid`, func(h *held) []any { return []any{&h.ID, &h.Why, &h.Event} })
}

// announced returns the money that is not in the venue yet.
func (l *ledger) announced(ctx context.Context) ([]deposit, error) {
	return rowsOf(ctx, l.db, `select reference, user_id, amount from incoming where state = 'announced' order by rowid`, func(d *deposit) []any { return []any{&d.Reference, &d.User, &d.Amount} })
}

// open returns the withdrawals in which something is left to do, oldest first, without those of which an
// event is held.
func (l *ledger) open(ctx context.Context) ([]withdrawal, error) {
	return rowsOf(ctx, l.db, `select withdrawal_id, user_id, amount, destination, state from withdrawals where state in ('requested', 'approved', 'paying', 'paid', 'sent') and not exists (select 1 from held where held.withdrawal_id = withdrawals.withdrawal_id) order by withdrawal_id`,
		func(w *withdrawal) []any { return []any{&w.ID, &w.User, &w.Amount, &w.Destination, &w.State} })
}

// rowsOf returns the rows of a query. columns are the places of a row's values.
func rowsOf[T any](ctx context.Context, db *sql.DB, query string, columns func(*T) []any) (out []T, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out = []T{} // not null in JSON
	for rows.Next() {
		var x T
		if err := rows.Scan(columns(&x)...); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

func (l *ledger) setIncoming(ctx context.Context, reference, state string) error {
	_, err := l.db.ExecContext(ctx, `update incoming set state = ? where reference = ?`, state, reference)
	return err
}

// setWithdrawal moves a withdrawal from one state to the next, unless an event has done it before.
func (l *ledger) setWithdrawal(ctx context.Context, id int64, from, to string) error {
	r, err := l.db.ExecContext(ctx, `update withdrawals set state = ? where withdrawal_id = ? and state in (?, ?)`, to, id, from, to)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("withdrawal %d is no longer %s", id, from))
	}
	return nil
}

// sums are the totals of the ledger, in pips.
type sums struct {
	Deposits    int64            `json:"deposits"`    // that the venue told
	Withdrawals int64            `json:"withdrawals"` // that the venue told, without those whose amount is back
	ByState     map[string]int64 `json:"by_state"`    // of the withdrawals
}

func (l *ledger) sums(ctx context.Context) (s sums, err error) {
	if err := l.db.QueryRowContext(ctx, `select coalesce(sum(amount), 0) from told_deposits`).Scan(&s.Deposits); err != nil {
		return s, err
	}
	rows, err := l.db.QueryContext(ctx, `select state, sum(amount) from withdrawals group by state`)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	s.ByState = map[string]int64{}
	for rows.Next() {
		var state string
		var amount int64
		if err := rows.Scan(&state, &amount); err != nil {
			return s, err
		}
		if s.ByState[state] = amount; state != "rejected" && state != "failed" {
			s.Withdrawals += amount
		}
	}
	return s, rows.Err()
}
