package export

import "time"

// Kind is what a column holds.
type Kind uint8

const (
	Int   Kind = iota // a signed integer of 64 bits
	Uint              // an unsigned integer of 64 bits
	Money             // pips; in the files a column in dollars follows
	Time              // ns since the Unix epoch, 0 if there is none; in CSV a column in RFC 3339 follows
	Text              // an empty one is null in the files
	Bool
)

// Column is a column of a table. Every column may be null.
type Column struct {
	Name string
	Kind Kind
}

// usdSuffix ends the name of the column in dollars that follows a column of pips.
const usdSuffix = "_usd"

// isoSuffix ends the name of the column in RFC 3339 that follows a column of ns.
const isoSuffix = "_iso"

// Table describes the rows of one table.
type Table struct {
	Name    string
	Columns []Column
}

// Row is a row of a table: one value for each column. A value is nil, an int64, a uint64 (Uint), a
// string (Text) or a bool (Bool).
type Row []any

// dollars formats pips as dollars with four decimals.
func dollars(pips int64) string {
	sign, n := "", uint64(pips)
	if pips < 0 {
		sign, n = "-", -n
	}
	b := []byte(sign)
	b = appendUint(b, n/10_000)
	b = append(b, '.')
	rest := n % 10_000
	return string(append(b, byte('0'+rest/1000), byte('0'+rest/100%10), byte('0'+rest/10%10), byte('0'+rest%10)))
}

// iso formats a time in ns since the Unix epoch as RFC 3339 in UTC, with every digit of the ns. 0 is "".
func iso(ns int64) string {
	if ns == 0 {
		return ""
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
