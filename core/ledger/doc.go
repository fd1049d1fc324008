// Package ledger keeps money and contracts: the cash and reservations of every account,
// positions, open pairs, and the venue's fees (docs/rules/money.md).
//
//	Begin              start a command
//	Deposit, Reserve,  move money and contracts; each method updates the account
//	Buy, Sell, ...     and the sums over all accounts
//	Touched            the accounts and holdings that the command changed
//	Check              compare the sums (docs/rules/money.md#the-invariant)
//	Audit              add everything up again from the accounts
//
// Invariants:
//
//  1. Cash, reservations, collateral of open pairs and fees equal deposits less
//     withdrawals.
//  2. Each market has as many YES as NO contracts, one of each a pair.
//  3. No amount of an account is negative.
//
// The ledger never decides whether an account can afford something; core/venue checks
// that first. A method that would take more than there is panics with
// core.InvariantViolation. A Ledger is for one goroutine.
package ledger
