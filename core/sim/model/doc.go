// Package model is a second implementation of the rulebook (docs/rules), written to be
// obviously right rather than fast: maps, sorted lists and big integers, with every sum
// recomputed when it is needed. Tests compare the venue with it. It shares the types of
// package core and none of the code for matching, money, mandates or rounds.
//
//	Apply                one command with its stamp: result, fills, ended orders
//	Balance, Market …    the state after it, as readers of the venue see it
//
// Invariants:
//
//  1. Reservations are never stored: they are computed from the resting orders.
//  2. An amount (*big.Int) never changes once it is computed.
//  3. InvariantHolds is true after every command; the sum of an account's deposits, transfers,
//     profits and rebates is its equity, and the sum of its ledger its cash and reservations.
//
// The model knows nothing of the log, of groups or of crashes. It is for one goroutine.
package model
