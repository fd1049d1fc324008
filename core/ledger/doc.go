// Package ledger keeps money and contracts: cash and reservations of every
// account, positions, open pairs, and the venue's fees (contract core, Money).
//
// Every movement goes through a method that keeps both the account and the sums
// over all accounts. Check compares the sums after each command, which costs a
// few additions; Audit adds everything up again from the accounts.
//
// A method that would take more than there is panics with core.Broken: whether an
// account can afford something is decided before, by core/venue.
package ledger
