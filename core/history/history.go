// Package history has the terms of the reads of older rows: filters, the errors of a read, and what a
// mirror counts. Package mirror implements the reads over a database. The operations and the operator's
// lane know these terms only, so that a program without a mirror links no database.
package history

import (
	"errors"
	"fmt"

	"duplex/core"
)

// ErrUnavailable means that the mirror cannot answer now: it has not started, its database does not
// answer within 500 ms, or it has stopped.
var ErrUnavailable = errors.New("the mirror does not answer")

// Numbered is a row and its number in the history to which it belongs. The number is that which the
// view gives it.
type Numbered[T any] struct {
	N   uint64
	Row T
}

// Span is a range of stamps, in ns: From is the first of it, To the first behind it. 0 is no bound.
type Span struct{ From, To int64 }

// Has reports whether a stamp is in the span.
func (s Span) Has(ts int64) bool { return ts >= s.From && (s.To == 0 || ts < s.To) }

// FillFilter selects fills; zero selects all.
type FillFilter struct {
	Span   Span
	Market *core.MarketID
	Order  *core.OrderID
	Round  *uint64 // number
	Side   string  // its name
	Group  uint32  // of its order
}

// OrderFilter selects orders, by the time at which they were made; zero selects all.
type OrderFilter struct {
	Span     Span
	Market   *core.MarketID
	Order    *core.OrderID
	ClientID *uint64
	Statuses []string
	Side     string // its name
	Group    uint32
}

// TradeFilter selects trades; zero selects all.
type TradeFilter struct{ Span Span }

// SettlementFilter selects settlements; zero selects all.
type SettlementFilter struct {
	Span  Span
	Round *uint64 // number
}

// LedgerFilter selects ledger rows; zero selects all.
type LedgerFilter struct {
	Span   Span
	Market *core.MarketID
	Kinds  []string
	Round  *uint64 // number
	Order  *core.OrderID

	BelowSeq uint64 // rows with a seq below; 0 is no bound
}

// ForecastFilter selects forecasts; zero selects all.
type ForecastFilter struct {
	Span   Span
	Market *core.MarketID
	Round  *uint64 // number
}

// RoundFilter selects rounds; zero selects all.
type RoundFilter struct {
	Market   *core.MarketID
	Category *uint16
	Number   *uint64
}

// AccountRoundFilter selects rounds of an account; zero selects all.
type AccountRoundFilter struct {
	Category *uint16
	Number   *uint64
}

// ActionFilter selects actions; zero selects all.
type ActionFilter struct {
	Who, Action string
	User        *core.UserID
}

// Cut is the error of a read that reached its time limit because its filter selects few of the scanned
// rows. The rows returned with it are those down to Below, which is a position like that of the rows,
// and a read from there continues it.
type Cut struct {
	Below uint64
	Seq   uint64 // of the row at Below, for the ledger alone
}

func (c *Cut) Error() string { return fmt.Sprint("the rows below ", c.Below, " were not looked at") }

// Stats is what a mirror has done since its start.
type Stats struct {
	Rows          map[string]uint64 // written, by table
	Commits       uint64
	CommitSeconds float64 // of all commits
	PausedSeconds float64 // waited, so that the venue had the processor
	Errors        uint64  // failed attempts to open the database or to write
	HeldBytes     int64   // of the journal that the last trim kept only because the mirror needs them
	WALBytes      int64   // size of the WAL of SQLite; 0 for PostgreSQL
	Reads         []Reads
}

// Reads counts the reads of a route with one outcome: ok, partial, unavailable or error.
type Reads struct {
	Route, Outcome string
	Count          uint64
}
