package model

import (
	"math/big"

	"duplex/core"
)

// Row is one change of an account's cash and reservations together (docs/rules/money.md#ledger).
// Kind is the wire name. Market, Number (of the round) and Category are 0 if the change belongs to no
// round, Order and FillN if it is no fill or fee of one.
type Row struct {
	Kind     string
	Amount   core.Pips
	Market   core.MarketID
	Number   uint64
	Category uint16
	Order    core.OrderID
	FillN    uint64
	Ref      string
}

// book is the ledger of one account.
type book struct {
	sums    map[string]*big.Int // by kind
	rows    uint64
	results map[uint64]*big.Int // by number of the round: what was realized in it
}

// enter adds a row. An amount of 0 is no row.
func (v *Venue) enter(u core.UserID, kind string, amount *big.Int, r Row) {
	if amount.Sign() != 0 {
		r.Kind, r.Amount = kind, core.Pips(amount.Int64())
		v.out.Ledger[u] = append(v.out.Ledger[u], r)
	}
}

// inRound returns a row of the present round of a market.
func (v *Venue) inRound(m core.MarketID) Row {
	return Row{Market: m, Number: v.markets[m].Number, Category: v.markets[m].Category}
}

// closeBooks adds the rows and the results of the command to the ledgers.
func (v *Venue) closeBooks() {
	for u, rows := range v.out.Ledger {
		b := &v.users[u].book
		b.rows += uint64(len(rows))
		for _, r := range rows {
			b.sums[r.Kind] = plus(b.sum(r.Kind), integer(int64(r.Amount)))
		}
	}
	for _, x := range v.out.realized {
		b := &v.users[x.user].book
		b.results[x.number] = plus(b.result(x.number), x.profit)
	}
}

func (b *book) sum(kind string) *big.Int {
	if x := b.sums[kind]; x != nil {
		return x
	}
	return integer(0)
}

func (b *book) result(number uint64) *big.Int {
	if x := b.results[number]; x != nil {
		return x
	}
	return integer(0)
}

// bookAddsUp reports whether an account's ledger ends with its cash and reservations.
func (v *Venue) bookAddsUp(u core.UserID) bool {
	b := &v.users[u].book
	sum := integer(0)
	for _, n := range b.sums {
		sum = plus(sum, n)
	}
	cash, reserved := v.Balance(u)
	return sum.Cmp(plus(integer(int64(cash)), integer(int64(reserved)))) == 0
}

// LedgerRows returns the number of rows of an account's ledger.
func (v *Venue) LedgerRows(u core.UserID) uint64 { return v.users[u].book.rows }

// LedgerSum returns the sum of an account's rows of one kind.
func (v *Venue) LedgerSum(u core.UserID, kind string) core.Pips {
	return core.Pips(v.users[u].book.sum(kind).Int64())
}

// Result returns what an account realized in a round: the sum over its sales, redemptions and the
// payout of their proceeds less the cost of the contracts that they took. Once the round is final, no
// contract is left, so that it is the whole profit (docs/rules/money.md#results-by-round).
func (v *Venue) Result(u core.UserID, number uint64) core.Pips {
	return core.Pips(v.users[u].book.result(number).Int64())
}
